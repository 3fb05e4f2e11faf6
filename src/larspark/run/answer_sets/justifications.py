"""Truth maintenance: ground rules as justifications, and labels that form an answer set.

A node is IN when a rule supports it, without circles, and OUT when every rule for it is refuted by
some literal. When rules come and go only nodes are reconsidered whose label rests on a change: an
IN node rests on the literals of its supporting rule, an OUT node on the literals that refute its
rules. Everything else keeps its label, and choices are kept where that is possible.
"""

from collections.abc import Callable, Iterable

from larspark.base.atoms import Element, Signature
from larspark.run.answer_sets.encoding import Core, element_of
from larspark.run.answer_sets.given_relations import Row
from larspark.run.answer_sets.label_search import (
    IN,
    NEGATIVE,
    POSITIVE,
    GiveUpError,
    Justification,
    Node,
    Search,
)


class Network:
    """Labels for the atoms of a changing set of rules; see `GroundRules`.

    `circular` says whether an atom can depend on itself through positive literals.
    """

    def __init__(self, circular: Callable[[int], bool]) -> None:
        self._circular = circular
        self._nodes: dict[int, Node] = {}
        self._rules: dict[int, Justification] = {}
        self._next = 0
        # Nodes whose label may be wrong.
        self._doubtful: dict[Node, None] = {}
        self._changed: dict[int, None] = {}

    def add(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        *,
        lasting: bool = True,
    ) -> int:
        """A new rule; it must have exactly one head."""
        (head,) = heads
        rule = Justification(
            self._node(head),
            tuple(self._node(number) for number in dict.fromkeys(positive)),
            tuple(self._node(number) for number in dict.fromkeys(negative)),
        )
        for node in rule.positive:
            node.readers[rule] = POSITIVE
        for node in rule.negative:
            node.readers[rule] = node.readers.get(rule, 0) | NEGATIVE
        self._next += 1
        self._rules[self._next] = rule
        self._begin(rule)
        return self._next

    def suspend(self, rule: int) -> None:
        self._end(self._rules[rule])

    def resume(self, rule: int) -> None:
        self._begin(self._rules[rule])

    def drop(self, rule: int) -> None:
        gone = self._rules.pop(rule)
        if gone.active:
            self._end(gone)
        for node in (*gone.positive, *gone.negative):
            node.readers.pop(gone, None)

    def forget(self, atom: int) -> None:
        node = self._nodes.pop(atom, None)
        if node is not None:
            self._doubtful.pop(node, None)
            self._changed[atom] = None

    def prefer(self, atom: int) -> None:
        """Of several labels, IN is the better one for this atom."""
        self._node(atom).was = True

    def holds(self, atom: int) -> bool:
        """Is the atom IN?"""
        node = self._nodes.get(atom)
        return node is not None and node.label is IN

    def changes(self) -> Iterable[int]:
        """The atoms that may have got or lost the label IN since the last call."""
        changed, self._changed = self._changed, {}
        return changed

    def relabel(self) -> None:
        """Find labels for all atoms that changes put in doubt."""
        if not self._doubtful:
            return
        affected = self._affected(self._doubtful)
        if not Search(affected).run():
            # Labels that were not in doubt may have to change too.
            settled = len(self._nodes) - len(affected)
            affected = dict.fromkeys(self._nodes.values())
            if not settled or not Search(affected).run():
                raise GiveUpError
        self._changed.update((node.number, None) for node in affected)
        self._doubtful = {}

    def _node(self, number: int) -> Node:
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = Node(number, self._circular(number))
            self._doubtful[node] = None
        return node

    def _begin(self, rule: Justification) -> None:
        rule.active = True
        rule.head.rules[rule] = None
        if rule.head.label is not IN and not rule.is_refuted(self._doubtful):
            self._doubtful[rule.head] = None

    def _end(self, rule: Justification) -> None:
        rule.active = False
        del rule.head.rules[rule]
        if rule.head.support is rule:
            self._doubtful[rule.head] = None

    def _affected(self, doubtful: Iterable[Node]) -> dict[Node, None]:
        """The nodes whose labels rest on nodes in doubt."""
        affected = dict.fromkeys(doubtful)
        pending = list(affected)
        while pending:
            node = pending.pop()
            for rule in node.readers:
                head = rule.head
                if not rule.active or head in affected:
                    continue
                if head.support is rule if head.label is IN else not rule.is_refuted(affected):
                    affected[head] = None
                    pending.append(head)
        return affected


# No time point: stands for the evaluation time.
_NOW = -(2**64)


class Labelled:
    """Keeps the elements of some predicates that are IN; costs what changes."""

    def __init__(self, core: Core, wanted: frozenset[Signature]) -> None:
        self._wanted = {
            relation: (signature, pinned)
            for signature, (relation, pinned) in core.predicates.items()
            if signature in wanted
        }
        self._holding: dict[int, Element] = {}

    def update(
        self,
        changed: Iterable[int],
        holds: Callable[[int], bool],
        atom: Callable[[int], tuple[int, Row]],
    ) -> None:
        """Some atoms may have got or lost the label IN; `atom` says what they are."""
        for number in changed:
            if not holds(number):
                self._holding.pop(number, None)
                continue
            relation, row = atom(number)
            if relation in self._wanted:
                signature, pinned = self._wanted[relation]
                self._holding[number] = element_of(signature, row, pinned, _NOW)

    def elements(self, t: int) -> Iterable[Element]:
        """The elements at the evaluation time t, and those that have a time of their own."""
        return (Element(t, e.atom) if e.t == _NOW else e for e in self._holding.values())

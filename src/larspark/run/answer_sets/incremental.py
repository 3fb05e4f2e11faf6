"""Incremental grounding: labels for atoms with one answer, a solver for those with several.

Ground rules whose heads are the same in all answer streams go to a truth maintenance network, which
needs no search for them. All other rules go to the solver, without the literals that the network
decides: a rule is switched on while those hold. So the solver sees the choices and nothing else.
"""

from collections.abc import Callable, Iterable
from typing import cast

from larspark.base.atoms import Atom, Element, atom_text
from larspark.run.answer_sets.encoding import Core, comparable, element_of, recursive, undetermined
from larspark.run.answer_sets.given_relations import GivenRelations, Row
from larspark.run.answer_sets.grounder import Grounder
from larspark.run.answer_sets.justifications import Labelled, Network
from larspark.run.answer_sets.live_solver import LiveProgram, LiveSolvable
from larspark.run.answer_sets.solver import Solvable
from larspark.run.answer_sets.stream_views import Arrival, View
from larspark.run.answer_sets.task import Task


class HybridRule:
    """A rule for the solver; `wanted` is what the grounder says, `obstacles` what the labels do."""

    __slots__ = (
        "conditions",
        "heads",
        "lasting",
        "live",
        "negative",
        "obstacles",
        "positive",
        "wanted",
    )

    def __init__(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        conditions: dict[int, bool],
        lasting: bool,
    ) -> None:
        self.heads = heads
        self.positive = positive
        self.negative = negative
        # The atoms that labels decide, with the truth that the rule needs.
        self.conditions = conditions
        self.lasting = lasting
        self.obstacles = 0
        self.wanted = True
        # Its number in the solver, once it was on.
        self.live: int | None = None


class HybridRules:
    """Ground rules, divided between network and solver; see `GroundRules`."""

    def __init__(
        self, network: Network, live: LiveProgram, is_settled: Callable[[int], bool]
    ) -> None:
        self._network = network
        self._live = live
        self._is_settled = is_settled
        self._labelled: dict[int, int] = {}
        self._rules: dict[int, HybridRule] = {}
        self._watchers: dict[int, dict[HybridRule, None]] = {}
        self._holding: set[int] = set()
        self._touched: dict[HybridRule, None] = {}
        self._next = 0

    def add(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        *,
        lasting: bool,
    ) -> int:
        self._next += 1
        if len(heads) == 1 and self._is_settled(heads[0]):
            self._labelled[self._next] = self._network.add(heads, positive, negative)
            return self._next
        conditions = {atom: True for atom in positive if self._is_settled(atom)}
        denied = [atom for atom in negative if self._is_settled(atom)]
        rule = HybridRule(
            heads,
            tuple(atom for atom in positive if atom not in conditions),
            tuple(atom for atom in negative if atom not in denied),
            conditions | dict.fromkeys(denied, False),
            lasting and not conditions and not denied,
        )
        # An atom that is needed and denied at once is an obstacle whatever its label.
        rule.obstacles = len(conditions.keys() & denied)
        for atom, needed in rule.conditions.items():
            self._watchers.setdefault(atom, {})[rule] = None
            rule.obstacles += (atom in self._holding) is not needed
        self._rules[self._next] = rule
        self._touched[rule] = None
        return self._next

    def suspend(self, rule: int) -> None:
        self._want(rule, False)

    def resume(self, rule: int) -> None:
        self._want(rule, True)

    def drop(self, rule: int) -> None:
        labelled = self._labelled.pop(rule, None)
        if labelled is not None:
            self._network.drop(labelled)
            return
        gone = self._rules.pop(rule)
        self._touched.pop(gone, None)
        for atom in gone.conditions:
            watchers = self._watchers[atom]
            del watchers[gone]
            if not watchers:
                del self._watchers[atom]
        if gone.live is not None:
            self._live.drop(gone.live)

    def forget(self, atom: int) -> None:
        self._network.forget(atom)
        self._live.forget(atom)

    def flush(self) -> Iterable[int]:
        """Bring labels and solver up to date; returns the atoms whose label may have changed."""
        self._network.relabel()
        changed = list(self._network.changes())
        for atom in changed:
            self._relabelled(atom)
        for rule in self._touched:
            self._switch(rule)
        self._touched.clear()
        self._live.flush()
        return changed

    def _want(self, number: int, wanted: bool) -> None:
        labelled = self._labelled.get(number)
        if labelled is not None:
            (self._network.resume if wanted else self._network.suspend)(labelled)
            return
        rule = self._rules[number]
        rule.wanted = wanted
        self._touched[rule] = None

    def _relabelled(self, atom: int) -> None:
        holds = self._network.holds(atom)
        if holds is (atom in self._holding):
            return
        (self._holding.add if holds else self._holding.discard)(atom)
        for rule in self._watchers.get(atom, ()):
            rule.obstacles += -1 if rule.conditions[atom] is holds else 1
            self._touched[rule] = None

    def _switch(self, rule: HybridRule) -> None:
        on = rule.wanted and not rule.obstacles
        if rule.live is None:
            if on:
                rule.live = self._live.add(
                    rule.heads, rule.positive, rule.negative, lasting=rule.lasting
                )
        elif on is not self._live.is_active(rule.live):
            (self._live.resume if on else self._live.suspend)(rule.live)


class IncrementalGrounding:
    """Grounds what a tick changes; labels decide atoms with one answer, a solver the choices.

    Where one output can be part of another, both equally close to the output before, staying close
    needs a new solver at every tick; everything else is kept all the same.
    """

    def __init__(self, task: Task, core: Core) -> None:
        self._wanted = task.observed
        self._remembered = bool(task.remembered)
        self._elements = task.elements
        self._core = core
        self._given_relations = GivenRelations(core, task.background, task.elements)
        self._recursive = recursive(core)
        self._choices = undetermined(core)
        self._chosen = {
            relation: (p, pinned)
            for p, (relation, pinned) in sorted(core.predicates.items())
            if relation in self._choices
        }
        self._relations: dict[tuple[str, int], int] = {
            signature: relation for relation, (signature, _) in self._chosen.items()
        }
        self._several = task.has_choices
        self._comparable = comparable(core, task.checked.shown)
        self._t = 0
        self._start()

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t."""
        self._t = t
        self._given_relations.begin(t, whole)

    def add(self, arrival: Arrival) -> None:
        """The stream has one more element."""
        self._given_relations.add(arrival)

    def evaluate(self, deadline: float | None, *, everything: bool) -> Solvable:
        """The answer streams at the current tick."""
        self._given_relations.refresh()
        if self._grounder.wasteful:
            self._start()
        self._grounder.tick(deadline)
        changed = self._rules.flush()
        self._labelled.update(changed, self._network.holds, self._grounder.atom)
        settled = [
            element
            for element in self._labelled.elements(self._t)
            if (everything or element.t == self._t) and self._is_new(element)
        ]
        if self._several and self._comparable:
            control, known = self._live.snapshot()
            literals = self._literals(known)
            return Solvable(control, literals, lambda _: settled, deadline=deadline)
        return LiveSolvable(
            self._live.control,
            self._literals(self._live.literals()),
            lambda _: settled,
            deadline=deadline,
            keep=self._keep if self._several else None,
        )

    def size(self) -> int:
        return len(self._grounder)

    def _start(self) -> None:
        self._network = Network(self._is_recursive)
        self._live = LiveProgram(self._is_recursive, self._text)
        self._rules = HybridRules(self._network, self._live, self._is_settled)
        self._labelled = Labelled(self._core, self._wanted)
        self._grounder = Grounder(self._core, self._given_relations, self._rules)

    def _literals(self, known: dict[int, int]) -> dict[Element, int]:
        """The literals of the elements that answer streams can choose."""
        found: dict[Element, int] = {}
        for relation, (signature, pinned) in self._chosen.items():
            if signature not in self._wanted:
                continue
            for row, number in self._grounder.rows(relation):
                element = element_of(signature, row, pinned, self._t)
                if number in known and self._is_new(element):
                    found[element] = known[number]
        return found

    def _is_new(self, element: Element) -> bool:
        """Is the element not in the stream already?"""
        return not self._remembered or self._elements.holds(*element) is None

    def _is_settled(self, number: int) -> bool:
        return self._grounder.atom(number)[0] not in self._choices

    def _is_recursive(self, number: int) -> bool:
        return self._grounder.atom(number)[0] in self._recursive

    def _text(self, number: int) -> str | None:
        """The text of atoms whose output can be kept, where the solver keeps it by itself."""
        if not self._several or self._comparable:
            return None
        relation, row = self._grounder.atom(number)
        known = self._chosen.get(relation)
        return None if known is None else atom_text(Atom(known[0].predicate, row))

    def _keep(self, previous: frozenset[Atom]) -> list[int]:
        found: list[int] = []
        for atom in previous:
            # A signature is a tuple; making one for every atom would cost more than all the rest.
            relation = self._relations.get((atom.predicate, len(atom.args)))
            if relation is not None:
                number = self._grounder.number(relation, cast("Row", atom.args))
                if number is not None:
                    found.append(number)
        return self._live.keep(frozenset(found))

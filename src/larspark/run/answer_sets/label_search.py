"""Ground atoms with their labels, and ground rules that justify them."""

from enum import Enum


class Label(Enum):
    IN = "in"
    OUT = "out"
    UNKNOWN = "unknown"
    # Taken to be IN; a supporting rule has to be found yet.
    ASSUMED = "assumed"


IN, OUT, UNKNOWN, ASSUMED = Label.IN, Label.OUT, Label.UNKNOWN, Label.ASSUMED


# Where a node stands in a rule's body: flags, because it can be in both places.
POSITIVE, NEGATIVE = 1, 2


class Node:
    """A ground atom."""

    __slots__ = (
        "circular",
        "label",
        "number",
        "open_rules",
        "readers",
        "rules",
        "support",
        "was",
    )

    def __init__(self, number: int, circular: bool) -> None:
        self.number = number
        # Can it depend on itself through positive literals?
        self.circular = circular
        self.label = UNKNOWN
        # Was it IN before, or would that be the better choice?
        self.was = False
        # The rules that can derive it, and those in whose bodies it stands, with where.
        self.rules: dict[Justification, None] = {}
        self.readers: dict[Justification, int] = {}
        self.support: Justification | None = None
        # While labels are sought: how many rules are not refuted.
        self.open_rules = 0


class Justification:
    """A ground rule with one head."""

    __slots__ = ("active", "head", "missing", "negative", "positive", "refutations", "unsupported")

    def __init__(self, head: Node, positive: tuple[Node, ...], negative: tuple[Node, ...]) -> None:
        self.head = head
        self.positive = positive
        self.negative = negative
        self.active = True
        # While labels are sought: positive and negative literals that are not decided, and
        # literals that are false.
        self.unsupported = 0
        self.missing = 0
        self.refutations = 0

    def is_refuted(self, reconsidered: dict[Node, None]) -> bool:
        """Does a literal refute the rule whose label is not reconsidered?"""
        for node in self.positive:
            if node.label is OUT and node not in reconsidered:
                return True
        return any(node.label is IN and node not in reconsidered for node in self.negative)


# After so many dead ends the search gives up.
DEAD_ENDS = 1_000


class GiveUpError(Exception):
    """No labels were found: there is an odd loop, or the search took too long."""


class Search:
    """Finds labels for some nodes, with the labels of all others given."""

    def __init__(self, nodes: dict[Node, None]) -> None:
        self._nodes = nodes
        # The trail to undo: labels given, and decisions as marks in between.
        self._trail: list[tuple[Node, Label]] = []
        self._decisions: list[tuple[int, Node, Label]] = []
        self._pending: list[Node] = []
        self._conflict = False
        self._circles = [node for node in nodes if node.circular]
        self._order = list(nodes)
        # No choice is left among the nodes before this place.
        self._cursor = 0
        for node in nodes:
            if node.label is not UNKNOWN:
                node.was = node.label is IN
            node.label = UNKNOWN
            node.support = None
        for node in nodes:
            node.open_rules = len(node.rules)
            for rule in node.rules:
                self._count(rule)
                if rule.refutations:
                    node.open_rules -= 1
        for node in nodes:
            self._check(node)

    def run(self) -> bool:
        """Find labels; False if there are none."""
        dead_ends = 0
        while True:
            self._propagate()
            if not self._conflict and self._unfounded():
                continue
            if self._conflict:
                dead_ends += 1
                if dead_ends > DEAD_ENDS:
                    self._clear()
                    raise GiveUpError
                if not self._backtrack():
                    self._clear()
                    return False
                continue
            choice = self._choice()
            if choice is None:
                return True
            self._decisions.append((len(self._trail), choice, ASSUMED if choice.was else OUT))
            self._set(choice, ASSUMED if choice.was else OUT)

    def _count(self, rule: Justification) -> None:
        rule.unsupported = rule.missing = rule.refutations = 0
        for node in rule.positive:
            if node.label is UNKNOWN:
                rule.unsupported += 1
            elif node.label is OUT:
                rule.refutations += 1
        for node in rule.negative:
            if node.label is UNKNOWN:
                rule.missing += 1
            elif node.label is IN:
                rule.refutations += 1

    def _check(self, node: Node) -> None:
        """Label a node whose rules leave no doubt."""
        if node.label is UNKNOWN or node.label is ASSUMED:
            if not node.open_rules:
                self._set(node, OUT)
                return
            for rule in node.rules:
                if not (rule.refutations or rule.unsupported or rule.missing):
                    self._support(node, rule)
                    return

    def _support(self, node: Node, rule: Justification) -> None:
        if node.label is OUT:
            self._conflict = True
        elif node.label is not IN:
            node.support = rule
            self._set(node, IN)

    def _set(self, node: Node, label: Label) -> None:
        if label is OUT and node.label is ASSUMED:
            self._conflict = True
            return
        self._trail.append((node, node.label))
        before, node.label = node.label, label
        self._count_label(node, before, label, 1)
        self._pending.append(node)

    def _count_label(self, node: Node, before: Label, label: Label, step: int) -> None:
        """Count a new label of a node in the rules that read it (`step` 1), or uncount it (-1)."""
        for rule, place in node.readers.items():
            if not rule.active or rule.head not in self._nodes:
                continue
            was_refuted = rule.refutations > 0
            if place & POSITIVE and label is not ASSUMED:
                rule.unsupported -= step
                rule.refutations += step * (label is OUT)
            if place & NEGATIVE and before is UNKNOWN:
                rule.missing -= step
                rule.refutations += step * (label is not OUT)
            if (rule.refutations > 0) is not was_refuted:
                rule.head.open_rules += 1 if was_refuted else -1

    def _propagate(self) -> None:
        while self._pending and not self._conflict:
            node = self._pending.pop()
            for rule in node.readers:
                if not rule.active or rule.head not in self._nodes:
                    continue
                head = rule.head
                if not (rule.refutations or rule.unsupported or rule.missing):
                    self._support(head, rule)
                elif not head.open_rules and head.label in (UNKNOWN, ASSUMED):
                    self._set(head, OUT)
        self._pending.clear()

    def _unfounded(self) -> bool:
        """Label OUT what only a positive cycle supports; True if there was any."""
        waiting = [n for n in self._circles if n.label is UNKNOWN or n.label is ASSUMED]
        if not waiting:
            return False
        undecided = set(waiting)
        founded: set[Node] = set()
        lacking: dict[Justification, int] = {}
        pending: list[Node] = []
        for node in waiting:
            for rule in node.rules:
                if not rule.refutations:
                    lacking[rule] = sum(other in undecided for other in rule.positive)
                    if not lacking[rule]:
                        pending.append(node)
        while pending:
            node = pending.pop()
            if node in founded:
                continue
            founded.add(node)
            for rule, place in node.readers.items():
                if place & POSITIVE and rule in lacking:
                    lacking[rule] -= 1
                    if not lacking[rule]:
                        pending.append(rule.head)
        unfounded = [node for node in waiting if node not in founded]
        for node in unfounded:
            self._set(node, OUT)
        return bool(unfounded)

    def _choice(self) -> Node | None:
        """An undecided node on whose absence a rule waits."""
        while self._cursor < len(self._order):
            node = self._order[self._cursor]
            if node.label is UNKNOWN and self._waited_for(node):
                return node
            self._cursor += 1
        return None

    def _waited_for(self, node: Node) -> bool:
        return any(
            place & NEGATIVE and rule.active and not rule.refutations
            for rule, place in node.readers.items()
        )

    def _backtrack(self) -> bool:
        """Undo the last decision and try the opposite; False if none is left."""
        self._conflict = False
        self._cursor = 0
        self._pending.clear()
        while self._decisions:
            mark, node, label = self._decisions.pop()
            self._undo(mark)
            if label is not UNKNOWN:
                other = OUT if label is ASSUMED else ASSUMED
                # A decision that was tried both ways is marked, and not tried again.
                self._decisions.append((mark, node, UNKNOWN))
                self._set(node, other)
                return True
        return False

    def _undo(self, mark: int) -> None:
        while len(self._trail) > mark:
            node, before = self._trail.pop()
            label, node.label = node.label, before
            if label is IN:
                node.support = None
            self._count_label(node, before, label, -1)

    def _clear(self) -> None:
        """Leave all nodes without a label, as they were at the start of the search."""
        self._undo(0)
        for node in self._nodes:
            node.label = UNKNOWN

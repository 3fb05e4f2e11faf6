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

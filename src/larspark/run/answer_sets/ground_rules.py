"""What a ground program consists of, and who works with it."""

from typing import Protocol

from larspark.run.answer_sets.given_relations import Row


class GroundRules(Protocol):
    """Who works with the ground rules; atoms are numbers."""

    def add(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        *,
        lasting: bool,
    ) -> int:
        """A new rule; gives its number. A lasting one goes only when its positive atoms do."""

    def suspend(self, rule: int) -> None:
        """The rule does not count until it is resumed."""

    def resume(self, rule: int) -> None: ...

    def drop(self, rule: int) -> None:
        """The rule is gone for good."""

    def forget(self, atom: int) -> None:
        """No rule mentions the atom any more."""


class GivenRow:
    """A row of a given relation, with the instances that need it and those that deny it."""

    __slots__ = ("denials", "holds", "relation", "row", "uses")

    def __init__(self, relation: int | None, row: Row) -> None:
        # A moment belongs to no relation.
        self.relation = relation
        self.row = row
        self.holds = False
        self.uses: dict[Instance, None] = {}
        self.denials: dict[Instance, None] = {}


class Moment(GivenRow):
    """A time point that windows may leave in the timeline, or not yet.

    Instances that need it wait outside until it is there: otherwise `@T+1 p :- @T p` would find
    ever later time points.
    """

    __slots__ = ("waiting",)

    def __init__(self, holds: bool) -> None:
        super().__init__(None, ())
        self.holds = holds
        self.waiting: dict[tuple[int, Row], None] = {}


class Instance:
    """A ground rule, active when nothing given stands in its way."""

    __slots__ = ("denied", "given", "heads", "key", "negative", "obstacles", "positive", "rule")

    def __init__(
        self,
        key: tuple[int, Row],
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
    ) -> None:
        self.key = key
        self.heads = heads
        self.positive = positive
        self.negative = negative
        self.given: list[GivenRow] = []
        self.denied: list[GivenRow] = []
        self.obstacles = 0
        # The number that the rule has outside, once it was active.
        self.rule: int | None = None


class DerivedAtom:
    """A ground atom: how many instances can derive it or deny it, and which need it."""

    __slots__ = ("derivations", "mentions", "relation", "row", "uses")

    def __init__(self, relation: int, row: Row) -> None:
        self.relation = relation
        self.row = row
        self.derivations = 0
        self.mentions = 0
        self.uses: dict[Instance, None] = {}

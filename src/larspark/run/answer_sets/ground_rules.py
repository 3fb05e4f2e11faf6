"""Ground rules of an incremental grounding, with the rows, atoms and `always` windows they use."""

from collections.abc import Iterator
from typing import Protocol

from larspark.run.answer_sets.encoding import AlwaysRule
from larspark.run.answer_sets.given_relations import Row
from larspark.run.answer_sets.stream_views import View


class GroundRules(Protocol):
    """A consumer of ground rules; atoms are numbers."""

    def add(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        *,
        lasting: bool,
    ) -> int:
        """Add a rule and return its number. A lasting one goes only when its positive atoms do."""

    def suspend(self, rule: int) -> None:
        """Deactivate the rule until it is resumed."""

    def resume(self, rule: int) -> None: ...

    def drop(self, rule: int) -> None:
        """Remove the rule."""

    def forget(self, atom: int) -> None:
        """Drop an atom that no rule mentions any more."""


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
    """A ground rule, active when no given row blocks it."""

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


class AlwaysWindow:
    """Counts, for every row, the time points of the window at which it can hold.

    Rows come and go with their time as the last value.
    """

    def __init__(self, rule: AlwaysRule) -> None:
        self.head = rule.head
        self.moments = rule.moments
        self.windows = rule.windows
        self.bounds: tuple[int, int | None] | None = None
        # The rows that were complete since the window moved.
        self.complete: dict[Row, None] = {}
        self.points = range(0)
        self._at: dict[int, dict[Row, None]] = {}
        self._counts: dict[Row, int] = {}

    def enter(self, row: Row) -> Row | None:
        """A row can hold; returns it without its time if it now can at every time point."""
        *values, point = row
        rest = tuple(values)
        if not isinstance(point, int):
            return None
        self._at.setdefault(point, {})[rest] = None
        return rest if self._count(rest, point, 1) else None

    def leave(self, row: Row) -> None:
        """A row cannot hold any more."""
        *values, point = row
        rest = tuple(values)
        if not isinstance(point, int):
            return
        here = self._at[point]
        del here[rest]
        if not here:
            del self._at[point]
        self._count(rest, point, -1)

    def move(self, view: View) -> Iterator[Row]:
        """Move the window; returns the rows that can hold at all its time points."""
        self.bounds = (view.start, view.end)
        before = self.points
        self.points = range(view.start, view.start if view.end is None else view.end + 1)
        self.complete = {}
        for point in _without(before, self.points):
            for row in self._at.get(point, ()):
                self._counts[row] -= 1
                if not self._counts[row]:
                    del self._counts[row]
        for point in _without(self.points, before):
            for row in self._at.get(point, ()):
                self._counts[row] = self._counts.get(row, 0) + 1
        if not self.points:
            return
        for row in list(self._at.get(self.points[-1], ())):
            if self._counts[row] == len(self.points):
                self.complete[row] = None
                yield row

    def _count(self, row: Row, point: int, change: int) -> bool:
        """Is the row complete after this change?"""
        if point not in self.points:
            return False
        count = self._counts.get(row, 0) + change
        self._counts[row] = count
        if not count:
            del self._counts[row]
        if count == len(self.points):
            self.complete[row] = None
            return True
        return False


def _without(points: range, other: range) -> Iterator[int]:
    """The points of one range that are not in another.

    >>> list(_without(range(2, 7), range(4, 6)))
    [2, 3, 6]
    """
    yield from range(points.start, min(points.stop, max(points.start, other.start)))
    yield from range(max(points.start, other.stop, other.start), points.stop)

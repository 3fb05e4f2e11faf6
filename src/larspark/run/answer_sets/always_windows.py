"""`always` over derived atoms: which rows are there at every time point of a window."""

from collections.abc import Iterator

from larspark.run.answer_sets.encoding import EveryRule
from larspark.run.answer_sets.given_relations import Row
from larspark.run.answer_sets.stream_views import View


class EveryWindow:
    """Counts, for every row, the time points of the window at which it can hold.

    Rows come and go with their time as the last value.
    """

    def __init__(self, rule: EveryRule) -> None:
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
        """A row can hold; gives it without its time if it now can at every time point."""
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
        """The window moves; gives the rows that can hold at all its time points."""
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

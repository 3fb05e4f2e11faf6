"""What arrived and can still be seen, kept for explanations."""

from collections import deque
from collections.abc import Iterator
from copy import copy
from itertools import takewhile

from larspark.analysis.checked import Lookback
from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem


class History:
    """The batches that windows can still see.

    That is what lies within the lookback in time, and as many tuples before that as windows count.
    """

    def __init__(self, lookback: Lookback) -> None:
        self._time, self._tuples = lookback.time, lookback.tuples
        # Each with the number of its tuples, as far as windows count any.
        self._batches: deque[tuple[AnyBatch, int]] = deque()
        self._forgotten: int | None = None
        # How many batches are older than the lookback in time, and the tuples in all but the first.
        self._old = 0
        self._old_tuples = 0

    def copy(self) -> "History":
        """The same batches, for a run that goes its own way."""
        other = copy(self)
        other._batches = self._batches.copy()
        return other

    def append(self, batch: AnyBatch) -> None:
        """Take a batch in, and drop those that no window sees from its time on."""
        last_t, batches = batch.last_t, self._batches
        if last_t is None:
            return
        batches.append((batch, self._count(batch) if self._tuples else 0))
        if self._time is None or self._tuples is None:
            return
        floor, first_t = last_t - self._time, batches[0][0].last_t
        if first_t is not None and first_t >= floor:
            return
        while self._old < len(batches) and self._is_before(self._old, floor):
            if self._old:
                self._old_tuples += self._batches[self._old][1]
            self._old += 1
        while self._old and self._old_tuples >= self._tuples:
            gone, _ = self._batches.popleft()
            self.forget_up_to(gone.last_t)
            self._old -= 1
            if self._old:
                self._old_tuples -= self._batches[0][1]

    def _is_before(self, number: int, t: int) -> bool:
        last_t = self._batches[number][0].last_t
        return last_t is not None and last_t < t

    def _count(self, batch: AnyBatch) -> int:
        """How many tuples a batch has; none if it may repeat those of the batch before it."""
        before = self._batches[-1][0].last_t if self._batches else None
        if batch.first_t is None or (before is not None and batch.first_t <= before):
            return 0
        return len({(row.t, row.atom) for row in batch.rows()})

    def forget_up_to(self, t: int | None) -> None:
        """Elements up to t are not here any more."""
        self._forgotten = t

    def check(self, at: int) -> None:
        """Refuse a time point from which something that was forgotten could be seen."""
        if self._forgotten is None:
            return
        if not self._sees_all(at):
            message = f"what could be seen at {at} is not kept any more"
            raise LarsparkError(Problem("L409", message))

    def _sees_all(self, at: int) -> bool:
        if self._time is None or self._tuples is None or self._forgotten is None:
            return False
        floor = at - self._time
        if floor <= self._forgotten:
            return False
        old = takewhile(lambda kept: (kept[0].last_t or 0) < floor, self._batches)
        return sum(count for _, count in old) >= self._tuples

    def elements(self) -> Iterator[tuple[int, Atom]]:
        """The elements that are kept, in arrival order."""
        return ((row.t, row.atom) for batch, _ in self._batches for row in batch.rows())

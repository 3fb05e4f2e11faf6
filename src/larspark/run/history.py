"""What arrived and can still be seen, kept for explanations."""

from collections import deque
from collections.abc import Iterator

from larspark.analysis.checked import Lookback
from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem


class History:
    """The batches that windows can still see.

    Without tuple windows that is what lies within the lookback in time; otherwise everything.
    """

    def __init__(self, lookback: Lookback) -> None:
        self._reach = lookback.time if lookback.tuples == 0 else None
        self._batches: deque[AnyBatch] = deque()
        self._forgotten: int | None = None

    def append(self, batch: AnyBatch) -> None:
        """Take a batch in, and let go of those that no window sees from its time on."""
        if batch.last_t is None:
            return
        self._batches.append(batch)
        if self._reach is None:
            return
        while (last_t := self._batches[0].last_t) is not None:
            if last_t >= batch.last_t - self._reach:
                break
            self.forget_up_to(last_t)
            self._batches.popleft()

    def forget_up_to(self, t: int | None) -> None:
        """Elements up to t are not here any more."""
        self._forgotten = t

    def check(self, at: int) -> None:
        """Refuse a time point from which something that was forgotten could be seen."""
        if self._forgotten is None:
            return
        if self._reach is None or at - self._reach <= self._forgotten:
            message = f"what could be seen at {at} is not kept any more"
            raise LarsparkError(Problem("L409", message))

    def elements(self) -> Iterator[tuple[int, Atom]]:
        """The elements that are kept, in arrival order."""
        return ((row.t, row.atom) for batch in self._batches for row in batch.rows())

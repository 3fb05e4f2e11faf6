"""Time points by the clock on the wall."""

import time

from larspark.base.problems import LarsparkError, Problem

_PER_SECOND = 1_000_000


class Clock:
    """The time point now: floor(microseconds since 1970-01-01T00:00Z / length).

    With `start`, time points are counted from that one, which is now. The clock never goes back,
    whatever happens to the clock of the machine.

    >>> Clock(3_600_000_000, start=7).now()
    7
    """

    def __init__(self, length: int, start: int | None = None) -> None:
        if length < 1:
            message = f"a time point cannot last {length} microseconds"
            raise LarsparkError(Problem("L318", message, hint="it lasts 1 or more"))
        self.length = length
        self.counted = start is not None
        self._offset = time.time_ns() // 1000 if start is None else start * length
        self._began = time.monotonic_ns()

    def now(self) -> int:
        return self._microseconds() // self.length

    def seconds_left(self) -> float:
        """How long the time point that is now will still last."""
        return (self.length - self._microseconds() % self.length) / _PER_SECOND

    def _microseconds(self) -> int:
        return self._offset + (time.monotonic_ns() - self._began) // 1000

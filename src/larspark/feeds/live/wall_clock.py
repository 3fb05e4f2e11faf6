"""Time points by the clock on the wall."""

import time
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import repeat

from larspark.base.atoms import Atom
from larspark.base.facts import RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.ordering import Arrival, numbered_rows
from larspark.feeds.reading import Options, Reading, Refused

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


class ClockOrder:
    """Facts wait for their time point, which the clock settles when the lateness has passed.

    At the time point `now`, a fact may lie back by the lateness and ahead by it, or by one: clocks
    differ. Facts of the same time keep the order of their arrival.
    """

    def __init__(self, clock: Clock, options: Options, reading: Reading) -> None:
        self._clock = clock
        self._lateness = options.lateness
        self._reading = reading
        self._now = 0
        self._waiting: dict[int, list[Atom]] = {}
        self._times: list[int] = []

    def move(self, now: int) -> None:
        """The clock shows this time point."""
        self._now = now

    def take(
        self, arrivals: Iterator[Arrival | Problem], source: str
    ) -> tuple[Problem, int] | None:
        """Take arrivals in, up to the first that is refused: why, and how many facts are late."""
        lateness = self._lateness
        oldest, newest = self._now - lateness, self._now + max(1, lateness)
        waiting = self._waiting
        for arrival in arrivals:
            if isinstance(arrival, Problem):
                return arrival, 0
            t, atoms, line = arrival
            if t < oldest:
                return self._late(t).at(source, line), len(atoms)
            if t > newest:
                return self._ahead(t).at(source, line), 0
            if t in waiting:
                waiting[t].extend(atoms)
            else:
                waiting[t] = list(atoms)
                heappush(self._times, t)
        return None

    def release(self, everything: bool = False) -> Iterator[RowBatch]:
        """The facts of settled time points, and how far time has moved."""
        settled = max(0, self._now - self._lateness)
        if everything:
            settled = max([self._now, *self._times])
        times: list[int] = []
        atoms: list[Atom] = []
        while self._times and self._times[0] <= settled:
            t = heappop(self._times)
            found = self._waiting.pop(t)
            times.extend(repeat(t, len(found)))
            atoms.extend(found)
        reading = self._reading
        if not atoms and reading.last_t == settled:
            return
        if reading.first_t is None:
            reading.first_t = settled
        rows = numbered_rows(times, atoms, reading.facts)
        reading.facts += len(rows)
        reading.last_t = settled
        yield RowBatch(rows, settled)

    def _late(self, t: int) -> Refused:
        allowed = f"the lateness allowed is {self._lateness}"
        by = self._now - t
        message = f"the time {t} lies {by} time points before the clock, and {allowed}"
        return Refused("L314", message, self._unit() or f"allow a lateness of {by}")

    def _ahead(self, t: int) -> Refused:
        by = t - self._now
        message = f"the time {t} lies {by} time points ahead of the clock"
        return Refused("L322", message, self._unit() or f"a lateness of {by} would allow it")

    def _unit(self) -> str:
        if self._clock.counted:
            return ""
        return f"times count {self._clock.length} microseconds each, since 1970"

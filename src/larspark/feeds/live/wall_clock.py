"""Time points by the system clock."""

import time
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from itertools import repeat
from typing import Any

from larspark.base.atoms import Atom
from larspark.base.facts import RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.ordering import Arrival, facts_held_back, held_back, numbered_rows
from larspark.feeds.reading import Options, Reading, Refused

_PER_SECOND = 1_000_000


class Clock:
    """The current time point: floor(microseconds since 1970-01-01T00:00Z / length).

    With `start`, the current time point is `start` when the clock is made. The clock is monotonic:
    adjustments of the system clock do not affect it.

    With `least`, it is not before that, so that time does not go back.

    >>> Clock(3_600_000_000, start=7).now()
    7
    """

    def __init__(self, length: int, start: int | None = None, least: int = 0) -> None:
        if length < 1:
            message = f"a time point cannot last {length} microseconds"
            raise LarsparkError(Problem("L318", message, hint="it lasts 1 or more"))
        self.length = length
        self.counted = start is not None
        begin = time.time_ns() // 1000 if start is None else start * length
        self._offset = max(begin, least * length)
        self._began = time.monotonic_ns()

    def now(self) -> int:
        return self._microseconds() // self.length

    def seconds_left(self) -> float:
        """The seconds until the current time point ends."""
        return (self.length - self._microseconds() % self.length) / _PER_SECOND

    def _microseconds(self) -> int:
        return self._offset + (time.monotonic_ns() - self._began) // 1000


class ClockOrder:
    """Reorders facts by time; a time point is released when the clock has passed its lateness.

    A fact may be late by the lateness, and ahead of the clock by the lateness or by one, because
    clocks differ. Facts of the same time point keep the order of their arrival.
    """

    def __init__(self, clock: Clock, options: Options, reading: Reading) -> None:
        self._clock = clock
        self._lateness = options.lateness
        self._reading = reading
        self._now = 0
        self._waiting: dict[int, list[Atom]] = {}
        self._times: list[int] = []

    def checkpoint(self) -> dict[str, Any]:
        """The current time point, and the facts of those that are not released yet."""
        return {"newest": self._now, "held back": held_back(self._waiting)}

    def resume(self, checkpoint: Mapping[str, Any]) -> None:
        """Go on where another order stopped."""
        self._now = checkpoint["newest"]
        self._waiting = facts_held_back(checkpoint["held back"])
        self._times = sorted(self._waiting)

    def move(self, now: int) -> None:
        """Set the current time point."""
        self._now = now

    def take(
        self, arrivals: Iterator[Arrival | Problem], source: str
    ) -> tuple[Problem, int] | None:
        """Accept arrivals up to the first refused one: its problem and its number of late facts."""
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
        """The facts of released time points, and how far time has advanced."""
        released = max(0, self._now - self._lateness)
        if everything:
            released = max([self._now, *self._times])
        times: list[int] = []
        atoms: list[Atom] = []
        while self._times and self._times[0] <= released:
            t = heappop(self._times)
            found = self._waiting.pop(t)
            times.extend(repeat(t, len(found)))
            atoms.extend(found)
        reading = self._reading
        if not atoms and reading.last_t == released:
            return
        if reading.first_t is None:
            reading.first_t = released
        rows = numbered_rows(times, atoms, reading.facts)
        reading.facts += len(rows)
        reading.last_t = released
        yield RowBatch(rows, released)

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

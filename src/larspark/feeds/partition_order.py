"""The order of facts from several partitions, such as those of a Kafka topic."""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from itertools import chain, repeat
from typing import Any

from larspark.base.atoms import Atom
from larspark.base.facts import RowBatch
from larspark.base.problems import Problem
from larspark.feeds.ordering import Arrival, facts_held_back, held_back, numbered_rows
from larspark.feeds.reading import Options, Reading, Refused, late_by


class PartitionOrder:
    """Holds facts back until no partition can give an earlier one: a watermark across partitions.

    Every partition has its own newest time; facts may be late by the lateness within their
    partition. The watermark is the least of these times, of those partitions that are awaited, and
    what lies before it, by more than the lateness, is released. Facts of the same time point come
    in the order of their partitions, and in a partition in the order of their arrival, so that the
    order does not depend on which partition was read first.
    """

    def __init__(self, source: str, options: Options, reading: Reading) -> None:
        self._source = source
        self._options = options
        self._lateness = options.lateness
        self._reading = reading
        self._partition = 0
        self._awaited: frozenset[int] = frozenset()
        self._newest: dict[int, int] = {}
        self._watermark = 0
        # The facts held back, by time and partition; and a heap of these times.
        self._waiting: dict[int, dict[int, list[Atom]]] = {}
        self._waiting_times: list[int] = []

    def begin(self, partition: int, awaited: frozenset[int]) -> None:
        """The next arrivals are of this partition; these partitions may give earlier facts."""
        self._partition, self._awaited = partition, awaited

    def take(self, arrivals: Iterator[Arrival | Problem]) -> tuple[Problem, int] | None:
        """Accept arrivals up to the first refused one: its problem and its number of late facts."""
        partition, lateness = self._partition, self._lateness
        newest = self._newest.get(partition, 0)
        for arrival in arrivals:
            if isinstance(arrival, Problem):
                return arrival, 0
            t, atoms, line = arrival
            # A partition that was not awaited may come back behind the watermark.
            latest = max(newest, self._watermark)
            if t < latest - lateness:
                refused = Refused(
                    "L314", *late_by(t, latest, self._options, self._reading.timestamps)
                )
                return refused.at(f"{self._source}[{partition}]", line), len(atoms)
            if t > newest or partition not in self._newest:
                newest = self._newest[partition] = max(t, newest)
            if t not in self._waiting:
                self._waiting[t] = {}
                heappush(self._waiting_times, t)
            self._waiting[t].setdefault(partition, []).extend(atoms)
        return None

    def release(self, everything: bool = False) -> Iterator[RowBatch]:
        """The facts that no earlier fact can precede any more."""
        waiting_times, reading = self._waiting_times, self._reading
        if self._awaited and self._newest.keys() >= self._awaited:
            least = min(self._newest[partition] for partition in self._awaited)
        else:
            # A partition that gave nothing yet holds all others back.
            least = 0 if self._awaited else max(self._newest.values(), default=0)
        self._watermark = max(self._watermark, least)
        # Time has come so far; facts of this time point may still come.
        reached = self._watermark - self._lateness
        times: list[int] = []
        atoms: list[Atom] = []
        last_t: int | None = None
        first_t = waiting_times[0] if waiting_times else None
        while waiting_times and (everything or waiting_times[0] < reached):
            last_t = heappop(waiting_times)
            parts = self._waiting.pop(last_t)
            found = list(chain.from_iterable(parts[partition] for partition in sorted(parts)))
            times.extend(repeat(last_t, len(found)))
            atoms.extend(found)
        begun = reading.first_t is not None or (first_t is not None and first_t <= reached)
        if begun and not everything and reached > (reading.last_t or 0):
            last_t = reached
        if last_t is None:
            return
        if reading.first_t is None:
            reading.first_t = first_t
            if first_t is not None and first_t != (times[0] if times else last_t):
                # Time advanced before the first fact, and the timeline begins there.
                yield RowBatch([], first_t)
        rows = numbered_rows(times, atoms, reading.facts)
        reading.facts += len(rows)
        reading.last_t = last_t
        yield RowBatch(rows, last_t)

    def checkpoint(self) -> dict[str, Any]:
        """The watermark, the newest times, and the facts held back, between two releases."""
        partitions = sorted({p for parts in self._waiting.values() for p in parts})
        return {
            "newest": self._watermark,
            "partitions": sorted(self._newest.items()),
            "held back": [[p, held_back(self._of_partition(p))] for p in partitions],
        }

    def resume(self, checkpoint: Mapping[str, Any]) -> None:
        """Continue where another order stopped between two releases."""
        self._watermark = checkpoint["newest"]
        # Before the first fact there are none.
        self._newest = dict(checkpoint.get("partitions", ()))
        for partition, saved in checkpoint["held back"]:
            for t, atoms in facts_held_back(saved).items():
                self._waiting.setdefault(t, {})[partition] = atoms
        self._waiting_times = sorted(self._waiting)

    def _of_partition(self, partition: int) -> dict[int, list[Atom]]:
        waiting = self._waiting.items()
        return {t: parts[partition] for t, parts in waiting if partition in parts}

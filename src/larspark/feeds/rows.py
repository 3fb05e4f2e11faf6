"""Arrivals one by one, brought into time order and into batches."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import TypeAlias

from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import Options, Reading, late_by
from larspark.feeds.refusal import Refused

# A time, the atoms that came with it (none: time only moves), and the line they stood on.
Arrival: TypeAlias = tuple[int, tuple[Atom, ...], int]


def row_batches(
    blocks: Iterable[Iterable[Arrival | Problem]], source: str, options: Options, reading: Reading
) -> Iterator[RowBatch]:
    """Batches in time order, at least one for every block that completes a time point.

    A problem that is not skipped is raised after everything accepted before it was delivered.
    """
    order = _Order(options.lateness, reading)
    for block in blocks:
        for arrival in block:
            problem = arrival if isinstance(arrival, Problem) else order.take(arrival, source)
            if problem is not None:
                if options.on_error == "fail":
                    yield from order.release(everything=True)
                    raise LarsparkError(problem)
                if isinstance(arrival, tuple) and arrival[1]:
                    reading.late += len(arrival[1])
                else:
                    reading.skipped += 1
                reading.note(problem)
            elif order.size >= options.batch_size:
                yield from order.release()
        yield from order.release()
    yield from order.release(everything=True)


class _Order:
    """Elements wait until nothing that comes before them can still arrive.

    That is so for a time t as soon as t + lateness has been seen. Elements of the same time keep
    the order of their arrival, and are numbered in the order of their release.
    """

    def __init__(self, lateness: int, reading: Reading) -> None:
        self._lateness = lateness
        self._reading = reading
        self._newest = 0
        self._arrivals = 0
        self._seq = 0
        self._waiting: list[tuple[int, int, tuple[Atom, ...]]] = []
        self._rows: list[Row] = []
        self._last_t: int | None = None
        self._first_t: int | None = None

    @property
    def size(self) -> int:
        return len(self._rows)

    def take(self, arrival: Arrival, source: str) -> Problem | None:
        """Take an arrival in, or say that it is too late."""
        t, atoms, line = arrival
        if t < self._newest - self._lateness:
            return Refused("L314", *late_by(t, self._newest, self._lateness)).at(source, line)
        if t > self._newest:
            self._newest = t
        if self._lateness == 0:
            self._append(t, atoms)
        else:
            heappush(self._waiting, (t, self._arrivals, atoms))
            self._arrivals += 1
        return None

    def release(self, everything: bool = False) -> Iterator[RowBatch]:
        """The elements that nothing can come before any more, if there are any."""
        waiting = self._waiting
        settled = self._newest if everything else self._newest - self._lateness
        while waiting and waiting[0][0] <= settled:
            t, _, atoms = heappop(waiting)
            self._append(t, atoms)
        rows, last_t, first_t = self._rows, self._last_t, self._first_t
        if last_t is None:
            return
        self._rows, self._last_t, self._first_t = [], None, None
        if first_t is not None and rows and first_t < rows[0].t:
            # Time moved before the first element came, and the timeline begins there.
            yield RowBatch([], first_t)
        self._reading.facts += len(rows)
        self._reading.last_t = last_t
        yield RowBatch(rows, last_t)

    def _append(self, t: int, atoms: tuple[Atom, ...]) -> None:
        for atom in atoms:
            self._rows.append(Row(t, atom, self._seq))
            self._seq += 1
        self._last_t = t
        if self._reading.first_t is None:
            self._reading.first_t = self._first_t = t

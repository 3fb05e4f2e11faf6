"""Reordering of late facts up to the allowed lateness, for rows and for columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import repeat
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from larspark.base.arrow_numpy import arrow_array, numpy_array
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch, ColumnBatch, Row, RowBatch, Segment
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import Options, Reading, Refused, late_by

# A time point, its atoms (none: time only advances), and their line.
Arrival: TypeAlias = tuple[int, tuple[Atom, ...], int]
# Arrivals in the blocks in which they are read, so that none waits for the next block.
Blocks: TypeAlias = Iterator[Iterable[Arrival | Problem]]


def row_batches(
    blocks: Blocks,
    source: str,
    options: Options,
    reading: Reading,
    order: "Order | None" = None,
) -> Iterator[RowBatch]:
    """Batches in time order; after every block, the facts that it releases.

    A problem that is not skipped is raised after all facts accepted before it were delivered.
    """
    order = order or RowOrder(source, options, reading)
    for block in blocks:
        arrivals = iter(block)
        while (refused := order.take(arrivals)) is not None:
            if options.on_error == "fail":
                yield from order.release(everything=True)
                raise LarsparkError(refused[0])
            reading.skip(*refused)
        yield from order.release()
    yield from order.release(everything=True)


class Order(Protocol):
    """Takes arrivals in blocks, and releases facts in the order of time."""

    def take(self, arrivals: Iterator[Arrival | Problem]) -> tuple[Problem, int] | None:
        """Accept arrivals up to the first refused one: its problem and its number of late facts."""

    def release(self, everything: bool = False) -> Iterator[RowBatch]:
        """The facts that no earlier fact can precede any more."""


class RowOrder:
    """Holds facts back until no earlier fact can still arrive.

    A time point t is released as soon as t + lateness has been seen. Facts of the same time point
    keep the order of their arrival, and are numbered in the order of their release.
    """

    def __init__(self, source: str, options: Options, reading: Reading) -> None:
        self._source = source
        self._options = options
        self._lateness = options.lateness
        self._batch_size = options.batch_size
        self._reading = reading
        self._newest = 0
        # The facts held back, by time; and a heap of these times.
        self._waiting: dict[int, list[Atom]] = {}
        self._waiting_times: list[int] = []
        # The released facts, as two lists: rows are made fastest all at once.
        self._times: list[int] = []
        self._atoms: list[Atom] = []
        self._last_t: int | None = None
        self._first_t: int | None = None

    def take(self, arrivals: Iterator[Arrival | Problem]) -> tuple[Problem, int] | None:
        """Accept arrivals up to the first refused one: its problem and its number of late facts."""
        lateness = self._lateness
        times, ready = self._times, self._atoms
        for arrival in arrivals:
            if isinstance(arrival, Problem):
                return arrival, 0
            t, atoms, line = arrival
            if t > self._newest:
                self._newest = t
            elif t < self._newest - lateness:
                refused = Refused(
                    "L314", *late_by(t, self._newest, self._options, self._reading.timestamps)
                )
                return refused.at(self._source, line), len(atoms)
            if lateness == 0:
                for atom in atoms:
                    times.append(t)
                    ready.append(atom)
                self._move(t)
            elif t in self._waiting:
                self._waiting[t].extend(atoms)
            else:
                self._waiting[t] = list(atoms)
                heappush(self._waiting_times, t)
        return None

    def release(self, everything: bool = False) -> Iterator[RowBatch]:
        """The facts that no earlier fact can precede any more."""
        waiting_times = self._waiting_times
        released = self._newest if everything else self._newest - self._lateness
        while waiting_times and waiting_times[0] <= released:
            t = heappop(waiting_times)
            atoms = self._waiting.pop(t)
            self._times.extend(repeat(t, len(atoms)))
            self._atoms.extend(atoms)
            self._move(t)
        if self._last_t is None:
            return
        first_t, last_t = self._first_t, self._last_t
        rows = numbered_rows(self._times, self._atoms, self._reading.facts)
        self._times, self._atoms, self._first_t, self._last_t = [], [], None, None
        if self._reading.first_t is None:
            self._reading.first_t = first_t
            if first_t != (rows[0].t if rows else last_t):
                # Time advanced before the first fact, and the timeline begins there.
                yield RowBatch([], first_t)
        self._reading.facts += len(rows)
        self._reading.last_t = last_t
        size = self._batch_size
        for start in range(0, len(rows) - size, size):
            yield RowBatch(rows[start : start + size])
        yield RowBatch(rows[(len(rows) - 1) // size * size :], last_t)

    def checkpoint(self) -> dict[str, Any]:
        """The latest time so far, and the facts held back, between two releases."""
        return {"newest": self._newest, "held back": held_back(self._waiting)}

    def resume(self, checkpoint: Mapping[str, Any]) -> None:
        """Continue where another order stopped between two releases."""
        self._newest = checkpoint["newest"]
        self._waiting = facts_held_back(checkpoint["held back"])
        self._waiting_times = sorted(self._waiting)

    def _move(self, t: int) -> None:
        if self._first_t is None:
            self._first_t = t
        self._last_t = t


def held_back(waiting: Mapping[int, Iterable[Atom]]) -> list[Any]:
    """Facts by their time, as JSON values."""
    return [[t, [[a.predicate, *a.args] for a in atoms]] for t, atoms in sorted(waiting.items())]


def facts_held_back(saved: Iterable[Any]) -> dict[int, list[Atom]]:
    """The facts of such values."""
    return {t: [Atom(name, tuple(args)) for name, *args in atoms] for t, atoms in saved}


def numbered_rows(times: Sequence[int], atoms: Sequence[Atom], first: int) -> list[Row]:
    """Rows from times and atoms, numbered from `first` on."""
    triples = zip(times, atoms, range(first, first + len(times)), strict=True)
    return list(map(_new_row, repeat(Row), triples))


# Faster than the constructor of the named tuple.
_new_row = tuple.__new__


_Key: TypeAlias = tuple[Signature, tuple[Any, ...]]
Numbers: TypeAlias = NDArray[np.int64]


class ColumnOrder:
    """The order of `row_batches` for columns: by time, then by arrival, renumbered.

    A fact is released when its time and the lateness have passed. A release scans all facts held
    back, so it happens only when their number has doubled: the cost stays linear.
    """

    def __init__(self, lateness: int, reading: Reading) -> None:
        self._lateness = lateness
        self._reading = reading
        self._waiting: dict[_Key, list[pa.Table]] = {}
        # The times at which there was no fact, but time advanced.
        self._bare: list[int] = []
        self._size = 0
        self._release_at = 0

    def release(
        self, segments: Sequence[Segment], newest: int, bare: Sequence[int] = ()
    ) -> Iterator[AnyBatch]:
        """Add segments, and yield the facts that no earlier fact can precede any more.

        `bare` are times without facts, to which time advances.
        """
        if self._lateness == 0:
            yield from self._batches(segments, bare)
            return
        for segment in segments:
            key = (segment.signature, tuple(segment.table.schema.types))
            self._waiting.setdefault(key, []).append(segment.table)
            self._size += segment.table.num_rows
        self._bare += bare
        if self._size >= self._release_at:
            yield from self._batches(*self._released(newest - self._lateness))
            self._release_at = 2 * self._size

    def flush(self) -> Iterator[AnyBatch]:
        """Yield all facts that are still held back."""
        yield from self._batches(*self._released(None))

    def _released(self, last: int | None) -> tuple[list[Segment], list[int]]:
        """Remove and return the facts up to a time, or all, sorted and numbered; and bare times."""
        bare = [t for t in self._bare if last is None or t <= last]
        self._bare = [t for t in self._bare if last is not None and t > last]
        released: list[tuple[Segment, int]] = []
        for key, tables in self._waiting.items():
            table = pa.concat_tables(tables).combine_chunks()
            ready = numpy_array(table["t"]) <= (np.inf if last is None else last)
            chosen = table.take(arrow_array(np.flatnonzero(ready)))
            released.append((Segment(key[0], chosen), 0))
            self._waiting[key] = [table.take(arrow_array(np.flatnonzero(~ready)))]
            self._size -= chosen.num_rows
        return numbered_segments(released, self._reading.facts), bare

    def _batches(self, segments: Sequence[Segment], bare: Sequence[int]) -> Iterator[AnyBatch]:
        return ordered_batches(segments, bare, self._reading)


def numbered_segments(found: Sequence[tuple[Segment, int]], first: int) -> list[Segment]:
    """Segments sorted by time and numbered from `first` on.

    At equal times the number given with a segment decides, and then the order of arrival.
    """
    if not found:
        return []
    sizes = [segment.table.num_rows for segment, _ in found]
    times = np.concatenate([numpy_array(segment.table["t"]) for segment, _ in found])
    arrivals = np.concatenate([numpy_array(segment.table["seq"]) for segment, _ in found])
    ranks = np.repeat([rank for _, rank in found], sizes)
    numbers = np.empty(len(times), np.int64)
    numbers[np.lexsort((arrivals, ranks, times))] = np.arange(len(times)) + first
    # Segments of the same kind, which the streams that are merged may have, become one.
    alike: dict[_Key, list[tuple[pa.Table, Numbers]]] = {}
    start = 0
    for (segment, _), size in zip(found, sizes, strict=True):
        key = (segment.signature, tuple(segment.table.schema.types))
        alike.setdefault(key, []).append((segment.table, numbers[start : start + size]))
        start += size
    segments: list[Segment] = []
    for (signature, _), parts in alike.items():
        table = pa.concat_tables([table for table, _ in parts])
        seq = np.concatenate([part for _, part in parts])
        if (seq[1:] < seq[:-1]).any():
            order = np.argsort(seq)
            table, seq = table.take(arrow_array(order)), seq[order]
        segments.append(Segment(signature, table.set_column(1, "seq", arrow_array(seq))))
    return segments


def ordered_batches(
    segments: Sequence[Segment], bare: Sequence[int], reading: Reading
) -> Iterator[AnyBatch]:
    """The batches of segments that follow those before, and of times without facts."""
    segments = [segment for segment in segments if segment.table.num_rows]
    batch: AnyBatch = RowBatch([], max(bare, default=None))
    if segments:
        batch = ColumnBatch(segments, batch.last_t)
    if batch.last_t is None:
        return
    if reading.first_t is None:
        begun = [t for t in (batch.first_t, min(bare, default=None)) if t is not None]
        reading.first_t = min(begun)
        if reading.first_t not in (batch.first_t, batch.last_t):
            # Time advanced before the first fact, and the timeline begins there.
            yield RowBatch([], reading.first_t)
    reading.facts += len(batch)
    reading.last_t = batch.last_t
    yield batch

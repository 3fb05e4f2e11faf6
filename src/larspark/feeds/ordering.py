"""Reordering of late facts up to the allowed lateness, for rows and for columns."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from larspark.base.atoms import Atom, Signature
from larspark.base.facts import ColumnBatch, Row, RowBatch, Segment
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import Options, Reading, Refused, late_by

# A time point, its atoms (none: time only advances), and their line.
Arrival: TypeAlias = tuple[int, tuple[Atom, ...], int]
# Arrivals in the blocks in which they are read, so that none waits for the next block.
Blocks: TypeAlias = Iterator[Iterable[Arrival | Problem]]


def row_batches(
    blocks: Blocks, source: str, options: Options, reading: Reading
) -> Iterator[RowBatch]:
    """Batches in time order; after every block, the facts that it releases.

    A problem that is not skipped is raised after all facts accepted before it were delivered.
    """
    order = _Order(source, options, reading)
    for block in blocks:
        arrivals = iter(block)
        while (refused := order.take(arrivals)) is not None:
            if options.on_error == "fail":
                yield from order.release(everything=True)
                raise LarsparkError(refused[0])
            reading.skip(*refused)
        yield from order.release()
    yield from order.release(everything=True)


class _Order:
    """Holds facts back until no earlier fact can still arrive.

    A time point t is released as soon as t + lateness has been seen. Facts of the same time point
    keep the order of their arrival, and are numbered in the order of their release.
    """

    def __init__(self, source: str, options: Options, reading: Reading) -> None:
        self._source = source
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
                refused = Refused("L314", *late_by(t, self._newest, lateness))
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

    def _move(self, t: int) -> None:
        if self._first_t is None:
            self._first_t = t
        self._last_t = t


def numbered_rows(times: Sequence[int], atoms: Sequence[Atom], first: int) -> list[Row]:
    """Rows from times and atoms, numbered from `first` on."""
    triples = zip(times, atoms, range(first, first + len(times)), strict=True)
    return list(map(_new_row, repeat(Row), triples))


# Faster than the constructor of the named tuple.
_new_row = tuple.__new__


_Key: TypeAlias = tuple[Signature, tuple[Any, ...]]


class ColumnOrder:
    """The order of `row_batches` for columns: by time, then by arrival, renumbered.

    A fact is released when its time and the lateness have passed. A release scans all facts held
    back, so it happens only when their number has doubled: the cost stays linear.
    """

    def __init__(self, lateness: int, reading: Reading) -> None:
        self._lateness = lateness
        self._reading = reading
        self._waiting: dict[_Key, list[pa.Table]] = {}
        self._size = 0
        self._release_at = 0

    def release(self, segments: Sequence[Segment], newest: int) -> Iterator[ColumnBatch]:
        """Add segments, and yield the facts that no earlier fact can precede any more."""
        if self._lateness == 0:
            yield from self._batch(segments)
            return
        for segment in segments:
            key = (segment.signature, tuple(segment.table.schema.types))
            self._waiting.setdefault(key, []).append(segment.table)
            self._size += segment.table.num_rows
        if self._size >= self._release_at:
            yield from self._batch(self._released(newest - self._lateness))
            self._release_at = 2 * self._size

    def flush(self) -> Iterator[ColumnBatch]:
        """Yield all facts that are still held back."""
        yield from self._batch(self._released(None))

    def _released(self, last: int | None) -> list[Segment]:
        """Remove and return the facts up to a time, or all, sorted and numbered."""
        released: list[tuple[Signature, pa.Table]] = []
        for key, tables in self._waiting.items():
            table = pa.concat_tables(tables).combine_chunks()
            ready = table["t"].to_numpy() <= (np.inf if last is None else last)
            released.append((key[0], table.filter(pa.array(ready))))
            self._waiting[key] = [table.filter(pa.array(~ready))]
        self._size -= sum(table.num_rows for _, table in released)
        if not released:
            return []
        times = np.concatenate([table["t"].to_numpy() for _, table in released])
        arrivals = np.concatenate([table["seq"].to_numpy() for _, table in released])
        numbers = np.empty(len(times), np.int64)
        numbers[np.lexsort((arrivals, times))] = np.arange(len(times)) + self._reading.facts
        segments, start = [], 0
        for signature, table in released:
            seq = numbers[start : start + table.num_rows]
            start += table.num_rows
            order = np.argsort(seq)
            renumbered = table.take(pa.array(order)).set_column(1, "seq", pa.array(seq[order]))
            segments.append(Segment(signature, renumbered))
        return segments

    def _batch(self, segments: Sequence[Segment]) -> Iterator[ColumnBatch]:
        segments = [segment for segment in segments if segment.table.num_rows]
        if not segments:
            return
        batch = ColumnBatch(segments)
        if self._reading.first_t is None:
            self._reading.first_t = min(table["t"][0].as_py() for _, table in segments)
        self._reading.facts += len(batch)
        self._reading.last_t = batch.last_t
        yield batch

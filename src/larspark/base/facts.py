"""Batches of stream elements, as rows or as Arrow columns, each made from the other on demand.

Arrival order matters to tuple windows, so every element carries the number of its arrival.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from larspark.base.arrow_numpy import arrow_array, numpy_array
from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Constant, constant

# The Arrow type of an argument column says what constants it holds.
ARGUMENT_TYPES = (pa.int64(), pa.float64(), pa.string())


class Row(NamedTuple):
    """One element that arrived: its time point, its atom, and its number of arrival, from 0."""

    t: int
    atom: Atom
    seq: int


class Segment(NamedTuple):
    """Elements of one predicate whose arguments have the same types, as columns.

    The table's columns are `t` and `seq` (int64, both ascending), then one per argument, named "0",
    "1", ..., each of one of `ARGUMENT_TYPES`. Floats that are whole numbers are allowed here and
    mean the integer (see `terms.constant`); there are no nulls.
    """

    signature: Signature
    table: pa.Table


class Part(NamedTuple):
    """The columns of a segment, time points and arrival numbers as arrays."""

    signature: Signature
    times: NDArray[np.int64]
    order: NDArray[np.int64]
    arguments: Sequence[pa.ChunkedArray]


def _part(signature: Signature, table: pa.Table) -> Part:
    times, order, *arguments = table.columns
    return Part(signature, numpy_array(times), numpy_array(order), arguments)


class RowBatch:
    """Elements that came as rows, in the order of time and of arrival.

    `first_t` is the time point of its first element; `last_t` may lie after that of the last one:
    time moved on.
    """

    __slots__ = ("_rows", "first_t", "last_t")

    def __init__(self, rows: Sequence[Row], last_t: int | None = None) -> None:
        self._rows = rows
        self.first_t = rows[0].t if rows else None
        latest = rows[-1].t if rows else last_t
        self.last_t = latest if last_t is None or latest is None else max(latest, last_t)

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> Iterator[Row]:
        return iter(self._rows)

    def numbered_from(self, seq: int) -> "RowBatch":
        """The same elements, arrivals numbered from here on."""
        rows = self._rows
        # The numbers ascend, so that the first and the last tell.
        if not rows or (rows[0].seq == seq and rows[-1].seq == seq + len(rows) - 1):
            return self
        numbered = [Row(row.t, row.atom, number) for number, row in enumerate(rows, seq)]
        return RowBatch(numbered, self.last_t)

    def segments(self) -> Sequence[Segment]:
        grouped: dict[tuple[str, tuple[type, ...]], list[Row]] = {}
        for row in self.rows():
            key = (row.atom.predicate, tuple(map(type, row.atom.args)))
            grouped.setdefault(key, []).append(row)
        return [_segment(predicate, types, rows) for (predicate, types), rows in grouped.items()]


class PointBatch(RowBatch):
    """Atoms that arrived at one time point; its rows are made only when they are read."""

    __slots__ = ("atoms", "seq", "t")

    def __init__(self, t: int, atoms: Sequence[Atom], seq: int = 0) -> None:
        self.t = t
        self.atoms = atoms
        self.seq = seq
        self.first_t = t if atoms else None
        self.last_t = t

    def __len__(self) -> int:
        return len(self.atoms)

    def rows(self) -> Iterator[Row]:
        return (Row(self.t, atom, seq) for seq, atom in enumerate(self.atoms, self.seq))

    def numbered_from(self, seq: int) -> "PointBatch":
        """The same elements, arrivals numbered from here on."""
        return PointBatch(self.t, self.atoms, seq)


class ColumnBatch:
    """Elements that came as columns; `first_t` and `last_t` as in `RowBatch`."""

    __slots__ = ("_count", "_first_seq", "_segments", "first_t", "last_t", "parts")

    def __init__(self, segments: Sequence[Segment], last_t: int | None = None) -> None:
        self._segments = segments
        # The segments that are not empty.
        self.parts = [_part(*segment) for segment in segments if segment.table.num_rows]
        self._count = 0
        self._first_seq: int | None = None
        self.first_t: int | None = None
        self.last_t = last_t
        for _, times, order, _ in self.parts:
            # Both ascend, so that the first and the last tell.
            first, last, seq = times.item(0), times.item(-1), order.item(0)
            self._count += len(times)
            if self.first_t is None or first < self.first_t:
                self.first_t = first
            if self.last_t is None or last > self.last_t:
                self.last_t = last
            if self._first_seq is None or seq < self._first_seq:
                self._first_seq = seq

    def __len__(self) -> int:
        return self._count

    def rows(self) -> Iterator[Row]:
        rows: list[Row] = []
        for signature, table in self._segments:
            arguments = map(_values, table.columns[2:])
            values = zip(*arguments, strict=True) if signature.arity else repeat(())
            atoms = map(Atom, repeat(signature.predicate), values)
            rows.extend(map(Row, table["t"].to_pylist(), atoms, table["seq"].to_pylist()))
        if len(self._segments) > 1:
            rows.sort(key=attrgetter("seq"))
        return iter(rows)

    def numbered_from(self, seq: int) -> "ColumnBatch":
        """The same elements, arrivals numbered from here on."""
        first = self._first_seq
        if first is None or first == seq:
            return self
        moved = [
            Segment(
                signature,
                table.set_column(1, "seq", arrow_array(numpy_array(table["seq"]) + (seq - first))),
            )
            for signature, table in self._segments
        ]
        return ColumnBatch(moved, self.last_t)

    def segments(self) -> Sequence[Segment]:
        return self._segments


AnyBatch: TypeAlias = RowBatch | ColumnBatch


def _values(column: pa.ChunkedArray) -> list[Constant]:
    """A column as constants; only among floats is there something to bring to its one form."""
    values: list[Constant] = column.to_pylist()
    return [constant(value) for value in values] if column.type == pa.float64() else values


_ARROW = {int: pa.int64(), float: pa.float64(), str: pa.string()}


def _segment(predicate: str, types: tuple[type, ...], rows: Sequence[Row]) -> Segment:
    names = ["t", "seq", *map(str, range(len(types)))]
    columns: list[Iterable[Constant]] = [[row.t for row in rows], [row.seq for row in rows]]
    columns.extend(zip(*(row.atom.args for row in rows), strict=True))
    arrow_types = [pa.int64(), pa.int64(), *(_ARROW[kind] for kind in types)]
    arrays = [pa.array(c, type=kind) for c, kind in zip(columns, arrow_types, strict=True)]
    return Segment(Signature(predicate, len(types)), pa.table(arrays, names=names))

"""The input of the network: elements coded, in order of time, held until their time point."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from larspark.base.atoms import Signature
from larspark.base.facts import AnyBatch, ColumnBatch, RowBatch
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import FOREVER, FROM, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.kernels.select import first_arrivals, pin
from larspark.run.interval.restored import check_chunk
from larspark.run.interval.tuple_windows import Elements

# A slice of the stream that is worked on at once has at most so many elements and time points:
# enough to keep the kernels busy, few enough for their rows to stay in the cache.
SLICE_ELEMENTS = 8_192
SLICE_TIMES = 512
# In fewer elements repetitions are not looked for; and where there were few of them in a batch, not
# in so many batches after it.
_FEW = 32
_PAUSE = 15

# The key of a chunk.
Source = TypeVar("Source")


class Chunk(NamedTuple):
    """Elements of one predicate in the order of arrival: as rows of pinned atoms, and their turns.

    An element is known from its time point on, forever. What other stages derived comes in chunks,
    too.
    """

    rows: Ints
    order: Ints

    @property
    def times(self) -> Ints:
        """The time points from which on elements are known, which ascend."""
        return self.rows[:, FROM]

    def part(self, start: int | None, end: int | None) -> "Chunk":
        return Chunk(self.rows[start:end], self.order[start:end])

    def known_from(self, t: int) -> "Chunk":
        """The same elements, known from a time point on that may lie before them."""
        rows = self.rows.copy()
        rows[:, FROM] = t
        return Chunk(rows, self.order)


class Arrivals:
    """What was appended and lies ahead."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._chunks: dict[Signature, list[Chunk]] = {}
        self.latest: int | None = None

    @property
    def is_empty(self) -> bool:
        """Does nothing wait?"""
        return not self._chunks

    def append(self, batch: AnyBatch) -> int | None:
        """Take a batch in; gives the earliest time point it speaks of."""
        latest = batch.last_t
        if latest is None:
            return None
        coded = self._of_rows(batch) if isinstance(batch, RowBatch) else self._of_columns(batch)
        for signature, chunk in list(coded):
            self._chunks.setdefault(signature, []).append(chunk)
        self.latest = latest if self.latest is None else max(self.latest, latest)
        return latest if batch.first_t is None else batch.first_t

    def _of_rows(self, batch: RowBatch) -> Iterator[tuple[Signature, Chunk]]:
        code = self._constants.code_term
        grouped: dict[tuple[str, int], tuple[list[list[int]], list[int]]] = {}
        for t, (predicate, args), turn in batch.rows():
            key = (predicate, len(args))
            if key not in grouped:
                grouped[key] = ([], [])
            rows, order = grouped[key]
            rows.append([t, FOREVER, t, *[code(arg) for arg in args]])
            order.append(turn)
        for (predicate, arity), (rows, order) in grouped.items():
            chunk = Chunk(np.array(rows, np.int64), np.array(order, np.int64))
            yield Signature(predicate, arity), chunk

    def _of_columns(self, batch: ColumnBatch) -> Iterator[tuple[Signature, Chunk]]:
        for signature, times, order, arguments in batch.parts:
            rows = np.empty((len(times), TIME + 1 + signature.arity), np.int64)
            pin.run(times, rows)
            for place, column in enumerate(arguments, TIME + 1):
                self._constants.code_column(column, rows, place)
            yield signature, Chunk(rows, order)

    def take(self, upto: int | None) -> dict[Signature, Chunk]:
        """The elements up to a time point (or all), which leave."""
        taken: dict[Signature, Chunk] = {}
        for signature, chunks in list(self._chunks.items()):
            due: list[Chunk] = []
            rest: list[Chunk] = []
            for chunk in chunks:
                if upto is None or chunk.rows[-1, TIME] <= upto:
                    due.append(chunk)
                    continue
                count = int(np.searchsorted(chunk.times, upto, side="right"))
                rest.append(chunk.part(count, None))
                if count:
                    due.append(chunk.part(None, count))
            if rest:
                self._chunks[signature] = rest
            else:
                del self._chunks[signature]
            if due:
                taken[signature] = due[0] if len(due) == 1 else _joined(due)
        return taken

    def waiting(self) -> dict[Signature, Chunk]:
        """All elements that lie ahead."""
        return {signature: _joined(chunks) for signature, chunks in self._chunks.items()}

    def load(self, chunks: dict[Signature, Chunk], latest: int | None) -> None:
        """Go on from what was waiting."""
        for signature, (rows, order) in chunks.items():
            check_chunk(rows, order, signature, self._constants.values)
        self._chunks = {signature: [chunk] for signature, chunk in chunks.items()}
        self.latest = latest


def _joined(chunks: list[Chunk]) -> Chunk:
    """The chunks as one; those of one batch, which differ in the types of arguments, interleave."""
    rows, order = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    if (order[1:] < order[:-1]).any():
        turns = np.argsort(order, kind="stable")
        rows, order = rows[turns], order[turns]
    return Chunk(rows, order)


def distinct_elements(chunk: Chunk) -> Elements:
    """Each element once: the same atom at the same time point counts at its first arrival."""
    found, lines = _first_arrivals(chunk.rows)
    return Elements(found, chunk.order[lines])


def _first_arrivals(rows: Ints) -> tuple[Ints, Ints]:
    """Rows of elements without those that came before, and the numbers of their lines."""
    found, lines = np.empty(rows.shape, np.int64), np.empty(len(rows), np.int64)
    count = first_arrivals.run(rows, found, lines)
    return found[:count], lines[:count]


class Sieve:
    """Lets an element pass once, for those to whom it matters only whether it came at all.

    They would find that out themselves, but later and more than once. Where there are hardly any
    duplicates, it is not worth looking.
    """

    __slots__ = ("_pauses",)

    def __init__(self) -> None:
        self._pauses: dict[Signature, int] = {}

    def rows(self, signature: Signature, chunk: Chunk) -> Ints:
        """The rows of the elements; of duplicates perhaps only one."""
        count = len(chunk.order)
        pause = self._pauses.get(signature, 0)
        if count < _FEW or pause > 0:
            self._pauses[signature] = pause - 1
            return chunk.rows
        rows, _ = _first_arrivals(chunk.rows)
        if 8 * (count - len(rows)) < count:
            self._pauses[signature] = _PAUSE
        return rows


def slices(
    chunks: Mapping[Source, Chunk], upto: int
) -> Iterator[tuple[int, Mapping[Source, Chunk]]]:
    """Cut elements into slices of time, each with its last time point; the last ends at `upto`."""
    total = sum(len(chunk.order) for chunk in chunks.values())
    if total <= SLICE_TIMES or (total <= SLICE_ELEMENTS and all(map(_is_short, chunks.values()))):
        yield upto, chunks
        return
    every = np.concatenate([chunk.times for chunk in chunks.values()])
    # A stable sort merges what is in order already.
    every.sort(kind="stable")
    reached = np.append(np.flatnonzero(every[1:] != every[:-1]) + 1, len(every))
    times = every[reached - 1]
    starts = dict.fromkeys(chunks, 0)
    first = 0
    while first < len(times):
        before = reached[first - 1] if first else 0
        last = int(np.searchsorted(reached, before + SLICE_ELEMENTS, side="right")) - 1
        last = min(max(last, first), first + SLICE_TIMES - 1, len(times) - 1)
        boundary = upto if last == len(times) - 1 else int(times[last])
        part: dict[Source, Chunk] = {}
        for signature, chunk in chunks.items():
            end = int(np.searchsorted(chunk.times, times[last], side="right"))
            if end > starts[signature]:
                part[signature] = chunk.part(starts[signature], end)
                starts[signature] = end
        yield boundary, part
        first = last + 1


def stretches(
    chunks: Mapping[Source, Chunk], first: int, last: int
) -> Iterator[tuple[int, Mapping[Source, Chunk]]]:
    """Cut elements into slices of no more than so many time points, also where nothing arrives."""
    starts = dict.fromkeys(chunks, 0)
    for floor in range(first, last + 1, SLICE_TIMES):
        boundary = min(floor + SLICE_TIMES - 1, last)
        part: dict[Source, Chunk] = {}
        for signature, chunk in chunks.items():
            end = int(np.searchsorted(chunk.times, boundary, side="right"))
            if end > starts[signature]:
                part[signature] = chunk.part(starts[signature], end)
                starts[signature] = end
        yield boundary, part


def _is_short(chunk: Chunk) -> bool:
    return int(chunk.times[-1]) - int(chunk.times[0]) < SLICE_TIMES


def split_times(chunks: Mapping[Source, Chunk]) -> dict[int, dict[Source, Chunk]]:
    """The elements of every time point by themselves."""
    parts: dict[int, dict[Source, Chunk]] = {}
    for signature, chunk in chunks.items():
        starts = np.flatnonzero(np.diff(chunk.times, prepend=chunk.times[0] - 1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(chunk.order)], strict=True):
            t = int(chunk.times[start])
            parts.setdefault(t, {})[signature] = chunk.part(start, end)
    return parts


def one_by_one(chunks: Mapping[Signature, Chunk]) -> list[tuple[Signature, Elements]]:
    """The elements of one time point in the order of arrival, each once."""
    found: list[tuple[int, Signature, Elements]] = []
    for signature, chunk in chunks.items():
        rows, order = distinct_elements(chunk)
        for place, turn in enumerate(order.tolist()):
            one = Elements(rows[place : place + 1], order[place : place + 1])
            found.append((turn, signature, one))
    found.sort(key=lambda item: item[0])
    return [(signature, one) for _, signature, one in found]

"""Elements on their way into the network: coded, in order, cut where time is."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from larspark.base.atoms import Signature
from larspark.base.facts import AnyBatch, RowBatch
from larspark.run.interval.constants import Constants
from larspark.run.interval.kernels.distinct import first_arrivals
from larspark.run.interval.kernels.layout import FOREVER, FROM, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.tuples import Elements

# A slice of the stream that is worked on at once has at most so many elements and time points:
# enough to keep the kernels busy, few enough for intervals to be found quickly.
SLICE_ELEMENTS = 16_384
SLICE_TIMES = 512


class Chunk(NamedTuple):
    """Elements of one predicate in the order of arrival: times, turns of arrival, codes."""

    times: Ints
    order: Ints
    args: Ints

    def part(self, start: int | None, end: int | None) -> "Chunk":
        return Chunk(self.times[start:end], self.order[start:end], self.args[start:end])


class Arrivals:
    """What was appended and lies ahead."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._chunks: dict[Signature, list[Chunk]] = {}
        self.latest: int | None = None

    def append(self, batch: AnyBatch) -> int | None:
        """Take a batch in; the earliest time point it speaks of comes back."""
        heard = [] if batch.last_t is None else [batch.last_t]
        if isinstance(batch, RowBatch):
            chunks = self._chunks_of_rows(batch)
        else:
            chunks = self._chunks_of_columns(batch)
        for signature, chunk in chunks:
            self._chunks.setdefault(signature, []).append(chunk)
            heard += [int(chunk.times[0]), int(chunk.times[-1])]
        if heard:
            latest = max(heard)
            self.latest = latest if self.latest is None else max(self.latest, latest)
        return min(heard, default=None)

    def _chunks_of_rows(self, batch: RowBatch) -> Iterator[tuple[Signature, Chunk]]:
        code = self._constants.code_term
        grouped: dict[tuple[str, int], list[tuple[int, ...]]] = {}
        for t, (predicate, args), turn in batch.rows():
            codes = (t, turn, *[code(arg) for arg in args])
            grouped.setdefault((predicate, len(args)), []).append(codes)
        for (predicate, arity), lines in grouped.items():
            table = np.array(lines, np.int64)
            values = np.ascontiguousarray(table[:, 2:])
            yield Signature(predicate, arity), Chunk(table[:, 0], table[:, 1], values)

    def _chunks_of_columns(self, batch: AnyBatch) -> Iterator[tuple[Signature, Chunk]]:
        for signature, table in batch.segments():
            if not table.num_rows:
                continue
            args = np.empty((table.num_rows, signature.arity), np.int64)
            for place in range(signature.arity):
                args[:, place] = self._constants.code_column(table.column(place + 2))
            times = np.asarray(table.column(0).combine_chunks())
            order = np.asarray(table.column(1).combine_chunks())
            yield signature, Chunk(times, order, args)

    def take(self, upto: int | None) -> dict[Signature, Chunk]:
        """The elements up to a time point (or all), which leave."""
        taken: dict[Signature, Chunk] = {}
        for signature, chunks in list(self._chunks.items()):
            due: list[Chunk] = []
            rest: list[Chunk] = []
            for chunk in chunks:
                count = len(chunk.times)
                if upto is not None and chunk.times[-1] > upto:
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
        self._chunks = {signature: [chunk] for signature, chunk in chunks.items()}
        self.latest = latest


def _joined(chunks: list[Chunk]) -> Chunk:
    """The chunks as one; those of one batch, which differ in the types of arguments, interleave."""
    times, order, args = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    if (order[1:] < order[:-1]).any():
        turns = np.argsort(order, kind="stable")
        times, order, args = times[turns], order[turns], args[turns]
    return Chunk(times, order, args)


def rows_of(chunk: Chunk, known: int | None) -> Ints:
    """Elements as rows of pinned atoms; known from their time on, or from `known`."""
    rows = np.empty((len(chunk.times), TIME + 1 + chunk.args.shape[1]), np.int64)
    rows[:, FROM] = chunk.times if known is None else known
    rows[:, TO] = FOREVER
    rows[:, TIME] = chunk.times
    rows[:, TIME + 1 :] = chunk.args
    return rows


def distinct_elements(chunk: Chunk, known: int | None) -> Elements:
    """Each element once: the same atom at the same time point counts at its first arrival."""
    rows = rows_of(chunk, known)
    new = first_arrivals(rows)
    return Elements(rows[new], chunk.order[new])


def slices(
    chunks: Mapping[Signature, Chunk], upto: int
) -> Iterator[tuple[int, Mapping[Signature, Chunk]]]:
    """Cut elements into slices of time, each with its last time point; the last ends at `upto`."""
    total = sum(len(chunk.times) for chunk in chunks.values())
    small = total <= SLICE_ELEMENTS
    if small and (total <= SLICE_TIMES or all(_few_times(c) for c in chunks.values())):
        yield upto, chunks
        return
    every = np.concatenate([chunk.times for chunk in chunks.values()])
    times, counts = np.unique(every, return_counts=True)
    reached = np.cumsum(counts)
    starts = dict.fromkeys(chunks, 0)
    first = 0
    while first < len(times):
        before = reached[first - 1] if first else 0
        last = int(np.searchsorted(reached, before + SLICE_ELEMENTS, side="right")) - 1
        last = min(max(last, first), first + SLICE_TIMES - 1, len(times) - 1)
        boundary = upto if last == len(times) - 1 else int(times[last])
        part: dict[Signature, Chunk] = {}
        for signature, chunk in chunks.items():
            end = int(np.searchsorted(chunk.times, times[last], side="right"))
            if end > starts[signature]:
                part[signature] = chunk.part(starts[signature], end)
                starts[signature] = end
        yield boundary, part
        first = last + 1


def _few_times(chunk: Chunk) -> bool:
    return int(chunk.times[-1]) - int(chunk.times[0]) < SLICE_TIMES


def split_times(chunks: Mapping[Signature, Chunk]) -> dict[int, dict[Signature, Chunk]]:
    """The elements of every time point by themselves."""
    parts: dict[int, dict[Signature, Chunk]] = {}
    for signature, chunk in chunks.items():
        starts = np.flatnonzero(np.diff(chunk.times, prepend=chunk.times[0] - 1))
        for start, end in zip(starts, [*starts[1:], len(chunk.times)], strict=True):
            t = int(chunk.times[start])
            parts.setdefault(t, {})[signature] = chunk.part(int(start), int(end))
    return parts


def one_by_one(chunks: Mapping[Signature, Chunk]) -> list[tuple[Signature, Elements]]:
    """The elements of one time point in the order of arrival, each once."""
    found: list[tuple[int, Signature, Elements]] = []
    for signature, chunk in chunks.items():
        rows, order = distinct_elements(chunk, None)
        for place, turn in enumerate(order.tolist()):
            one = Elements(rows[place : place + 1], order[place : place + 1])
            found.append((turn, signature, one))
    found.sort(key=lambda item: item[0])
    return [(signature, one) for _, signature, one in found]

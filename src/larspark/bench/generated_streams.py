"""Generated streams: the same numbers give the same facts, on every machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from larspark.base.atoms import Signature
from larspark.base.facts import AnyBatch, ColumnBatch, RowBatch, Segment

Ints = NDArray[np.int64]

_SEED = 2017
# So many facts of a time point are given as rows, as someone would who has no table at hand.
_FEW = 10


@dataclass(frozen=True, slots=True)
class Facts:
    """A generated stream over the time points [first, last]."""

    segments: tuple[Segment, ...]
    last: int
    first: int = 1

    def __len__(self) -> int:
        return sum(segment.table.num_rows for segment in self.segments)

    def whole(self) -> ColumnBatch:
        """All facts in one batch."""
        return ColumnBatch(self.segments, self.last)

    def by_time_point(self) -> list[AnyBatch]:
        """One batch for every time point, also when it is empty; a few facts come as rows.

        >>> [len(batch) for batch in unique_pairs(rate=2, last=3).by_time_point()]
        [2, 2, 2]
        """
        points = np.arange(self.first, self.last + 2)
        pieces: list[list[Segment]] = [[] for _ in points[:-1]]
        for signature, table in self.segments:
            bounds = np.searchsorted(table["t"].to_numpy(), points).tolist()
            for number, (start, end) in enumerate(pairwise(bounds)):
                if start < end:
                    part = table.slice(start, end - start).combine_chunks()
                    pieces[number].append(Segment(signature, part))
        batches = (ColumnBatch(piece, t) for t, piece in enumerate(pieces, self.first))
        return [
            RowBatch(list(batch.rows()), batch.last_t) if len(batch) <= _FEW else batch
            for batch in batches
        ]


def stream(
    columns: dict[str, Sequence[Ints | pa.Array]], times: dict[str, Ints], last: int
) -> Facts:
    """Facts of several predicates; at one time point they arrive in the order of the predicates."""
    order = np.lexsort(
        (
            np.concatenate([np.full(len(times[name]), n) for n, name in enumerate(columns)]),
            np.concatenate([times[name] for name in columns]),
        )
    )
    turns = np.empty(len(order), np.int64)
    turns[order] = np.arange(len(order))
    segments: list[Segment] = []
    done = 0
    for name, args in columns.items():
        count = len(times[name])
        arrays = [times[name], turns[done : done + count], *args]
        names = ["t", "seq", *map(str, range(len(args)))]
        table = pa.table([pa.array(array) for array in arrays], names=names)
        segments.append(Segment(Signature(name, len(args)), table))
        done += count
    return Facts(tuple(segments), last)


def regular(rate: int, last: int) -> Ints:
    """The time points of so many facts each: 1, 1, ..., 2, 2, ..."""
    return np.repeat(np.arange(1, last + 1), rate)


def unique_pairs(rate: int, last: int, *, text: bool = False) -> Facts:
    """`p(A,B)`: pairs that never come again (002, Window-Diamond)."""
    numbers = np.arange(rate * last)
    columns = [_names("s", numbers), _names("o", numbers)] if text else [numbers, numbers]
    return stream({"p": columns}, {"p": regular(rate, last)}, last)


def chain(rate: int, last: int, *, text: bool = False) -> Facts:
    """`p(A,B)`: one long path, a piece of it at every time point (002, Data joins)."""
    numbers = np.arange(rate * last)
    columns: list[Ints | pa.Array] = [numbers, numbers + 1]
    if text:
        columns = [_names("c", numbers), _names("c", numbers + 1)]
    return stream({"p": columns}, {"p": regular(rate, last)}, last)


def thirds(rate: int, last: int) -> Facts:
    """`p(X)`: each of about rate/3 values is there at a time point in 95 of 100 cases (002)."""
    values = np.random.default_rng(_SEED).integers(0, rate // 3 + 2, rate * last)
    return stream({"p": [values]}, {"p": regular(rate, last)}, last)


def readings(rate: int, last: int) -> Facts:
    """`temp(V)`: random temperatures from 0 to 200 (002, Cooling use case)."""
    values = np.random.default_rng(_SEED).integers(0, 201, rate * last)
    return stream({"temp": [values]}, {"temp": regular(rate, last)}, last)


def steady_pairs(periods: dict[str, int | None], pairs: int, last: int) -> Facts:
    """The same pairs `(i,i)` at every time point (004).

    A predicate with a period k has no facts at the time points k, 2k, 3k, ...
    """
    every = np.arange(1, last + 1)
    columns: dict[str, Sequence[Ints | pa.Array]] = {}
    times: dict[str, Ints] = {}
    for name, period in periods.items():
        here = every if period is None else every[every % period != 0]
        times[name] = np.repeat(here, pairs)
        columns[name] = [np.tile(np.arange(pairs), len(here))] * 2
    return stream(columns, times, last)


def linked(rate: int, window: int, last: int, *, marks: int = 0) -> Facts:
    """`p(A,B)`: pairs of which each meets two others at either end, seen through a window.

    Facts meet that are at most `window` time points apart, before or after: so every fact has as
    many matches, however large the window. With marks there are so many facts `r(B)` at every time
    point.
    """
    random = np.random.default_rng(_SEED)
    nodes = rate * (2 * window + 1) // 2
    columns: dict[str, Sequence[Ints | pa.Array]] = {
        "p": [random.integers(0, nodes, rate * last) for _ in range(2)]
    }
    times = {"p": regular(rate, last)}
    if marks:
        columns["r"] = [random.integers(0, nodes, marks * last)]
        times["r"] = regular(marks, last)
    return stream(columns, times, last)


def interrupted(rate: int, period: int, last: int) -> Facts:
    """`p(A,B)`: the same pairs, each missing once in a period, not all at the same time."""
    every = np.tile(np.arange(rate), last)
    times = regular(rate, last)
    here = (times + every) % period != 0
    return stream({"p": [every[here], every[here]]}, {"p": times[here]}, last)


def sensors(times: Ints, keys: int) -> Facts:
    """`temp(S,V)`: readings from 0 to 99 of random sensors, one for each of the given times."""
    random = np.random.default_rng(_SEED)
    columns = [random.integers(0, keys, len(times)), random.integers(0, 100, len(times))]
    return stream({"temp": columns}, {"temp": times}, int(times[-1]))


def jobs(first: int, last: int) -> Facts:
    """Eight `job(M,J)` at every time point, each with a new name, and two `done(J)`.

    A job goes to one of a thousand machines, and one of four is done after ten time points.
    """
    points = np.arange(first, last + 1)
    numbers = np.arange(8 * first, 8 * (last + 1))
    machines = np.random.default_rng([_SEED, first]).integers(0, 1000, len(numbers))
    finished = numbers[numbers % 4 == 0] - 80
    facts = stream(
        {"job": [_names("m", machines), _names("j", numbers)], "done": [_names("j", finished)]},
        {"job": np.repeat(points, 8), "done": np.repeat(points, 2)},
        last,
    )
    return Facts(facts.segments, last, first)


def _names(prefix: str, numbers: Ints) -> pa.Array:
    return pa.array([f"{prefix}{number}" for number in numbers.tolist()])

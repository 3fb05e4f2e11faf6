"""Generated streams of all workloads: the same parameters give the same facts on every machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from larspark.base.atoms import Atom, Signature, fact
from larspark.base.facts import AnyBatch, ColumnBatch, RowBatch, Segment

Ints = NDArray[np.int64]

_SEED = 2017
# Time points with at most this many facts give them as rows, as a live feed would.
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
        """One batch for every time point, even if it is empty; few facts are given as rows.

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
    """The time points of `rate` facts each: 1, 1, ..., 2, 2, ..."""
    return np.repeat(np.arange(1, last + 1), rate)


def unique_pairs(rate: int, last: int, *, text: bool = False) -> Facts:
    """`p(A,B)`: pairs that never repeat (002, Window-Diamond)."""
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
    """`p(X)`: each of about rate/3 values is present at a time point in 95 of 100 cases (002)."""
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
    """`p(A,B)`: pairs of which each joins two others at either end within a window.

    Facts join that are at most `window` time points apart, before or after: so the number of
    matches of a fact does not depend on the window. With `marks` there are that many facts `r(B)`
    at every time point.
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
    """`temp(S,V)`: readings from 0 to 99 of random sensors, one at each of the given times."""
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


# For every time point from 1 on, the atoms that arrive.
Signals = list[list[Atom]]

_NODES = 11
_ITEMS = ("i1", "i2")
_LEVELS = 3
# The Abilene network.
_EDGES = [*pairwise(range(_NODES)), (0, 10), (1, 10), (2, 8), (3, 7)]

# The ranges of low, mid and high values.
_MODES = ((0, 12), (12, 18), (18, 30))


def caching(window: int, last: int) -> Signals:
    """`alpha(V)` once a time point: a mode is chosen and kept for twice the window."""
    random = np.random.default_rng(_SEED)
    signals: Signals = []
    for t in range(last):
        if t % (2 * window) == 0:
            mode = _MODES[random.integers(len(_MODES))]
        signals.append([fact("alpha", int(random.integers(*mode)))])
    return signals


def background() -> frozenset[Atom]:
    """The network, with edges both ways, the levels and the items."""
    edges = {fact("edge", *ends) for pair in _EDGES for ends in (pair, pair[::-1])}
    nodes = {fact("node", node) for node in range(_NODES)}
    levels = {fact("lev", level) for level in range(_LEVELS)}
    return frozenset({*edges, *nodes, *levels, *(fact("item", item) for item in _ITEMS)})


def retrieval(window: int, last: int, *, busy: bool) -> Signals:
    """Requests, cached items, nodes that are down and quality levels: few (B1) or many (B2)."""
    return list(islice(endless_retrieval(window, busy=busy), last))


def endless_retrieval(window: int, *, busy: bool) -> Iterator[list[Atom]]:
    """The same signals, time point by time point, without end."""
    random = np.random.default_rng(_SEED)
    return (_busy if busy else _calm)(random, window)


def _calm(random: np.random.Generator, window: int) -> Iterator[list[Atom]]:
    levels = random.integers(_LEVELS, size=_NODES)
    changed = np.ones(_NODES, bool)
    while True:
        atoms = [fact("qLev", int(node), int(levels[node])) for node in np.flatnonzero(changed)]
        atoms += [fact("req", item, _node(random)) for item in _ITEMS if random.random() < 0.1]
        if random.random() < 0.1:
            atoms.append(fact("cache", str(random.choice(_ITEMS)), _node(random)))
        if random.random() < 0.1:
            atoms.append(fact("down", _node(random)))
        yield atoms
        changed = random.random(_NODES) < 3 / window
        levels[changed] = random.integers(_LEVELS, size=int(changed.sum()))


def _busy(random: np.random.Generator, window: int) -> Iterator[list[Atom]]:
    levels = random.integers(_LEVELS, size=_NODES)
    down_until = np.zeros(_NODES, np.int64)
    for t in count():
        atoms: list[Atom] = []
        for item in _ITEMS:
            if random.random() < 0.5:
                nodes = random.choice(_NODES, int(random.integers(1, 4)), replace=False)
                atoms += [fact("req", item, int(node)) for node in nodes]
        for _ in range(int(random.integers(1, 4))):
            atoms.append(fact("cache", str(random.choice(_ITEMS)), _node(random)))
        for node in np.flatnonzero(random.random(_NODES) < 0.25):
            if random.random() >= 0.9:
                levels[node] = random.integers(_LEVELS)
            atoms.append(fact("qLev", int(node), int(levels[node])))
        if random.random() < 1 / window:
            down_until[_node(random)] = t + int(1.5 * window)
        atoms += [fact("down", int(node)) for node in np.flatnonzero(down_until > t)]
        yield atoms


def _node(random: np.random.Generator) -> int:
    return int(random.integers(_NODES))

"""Workloads, the contestants that answer them, the stopwatch, and answers with their checksums."""

import gc
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Severity
from larspark.base.terms import Constant
from larspark.bench.generated_streams import Facts
from larspark.language import parse_program
from larspark.language.tree import AggregateFunction

Ints = NDArray[np.int64]
# Integers, floats, or text as objects.
Column: TypeAlias = NDArray[Any]

_Hashes: TypeAlias = NDArray[np.uint64]


class Rows(NamedTuple):
    """The intervals of one predicate, and the arguments of its atoms."""

    begin: Ints
    end: Ints
    args: tuple[Column, ...]


Answer: TypeAlias = Mapping[Signature, Rows]


def checksum(answer: Answer) -> str:
    """A number for the set of (atom, from, to), written in hexadecimal.

    >>> q, one, two = Signature("q", 1), np.array([1]), np.array([2])
    >>> checksum({q: Rows(one, two, (one,))}) == checksum({q: Rows(one, two, (two,))})
    False
    """
    total = 0
    for signature, rows in answer.items():
        state = np.full(len(rows.begin), _text_hash(str(signature)), np.uint64)
        for column in (*rows.args, rows.begin, rows.end):
            state = _mixed(state, constant_keys(column))
        total += int(state.sum(dtype=np.uint64))
    return f"{total % 2**64:016x}"


def size(answer: Answer) -> int:
    """How many intervals an answer has."""
    return sum(len(rows.begin) for rows in answer.values())


def at_times(answer: Answer, times: Iterable[int]) -> Answer:
    """The atoms that hold at each of some time points."""
    found: dict[Signature, Rows] = {}
    for signature, rows in answer.items():
        places = [np.flatnonzero((rows.begin <= t) & (t <= rows.end)) for t in times]
        moments = np.concatenate(
            [np.full(len(place), t) for place, t in zip(places, times, strict=True)]
        )
        chosen = np.concatenate(places)
        found[signature] = Rows(moments, moments, tuple(arg[chosen] for arg in rows.args))
    return found


def of_atoms(intervals: Iterable[tuple[Atom, int, int]]) -> Answer:
    """An answer from single atoms with their intervals."""
    grouped: dict[Signature, list[tuple[Atom, int, int]]] = {}
    for interval in intervals:
        grouped.setdefault(interval[0].signature, []).append(interval)
    return {
        signature: Rows(
            np.array([begin for _, begin, _ in found], np.int64),
            np.array([end for _, _, end in found], np.int64),
            tuple(
                np.array([atom.args[place] for atom, _, _ in found], object)
                for place in range(signature.arity)
            ),
        )
        for signature, found in grouped.items()
    }


def constant_keys(column: Column) -> _Hashes:
    """One number for each constant; integral floats give the same number as integers."""
    if column.dtype.kind == "i":
        return column.astype(np.uint64)
    if column.dtype.kind == "f":
        whole = column == np.floor(column)
        integers = np.where(whole, column, 0).astype(np.int64).astype(np.uint64)
        return np.where(whole, integers, column.astype(np.float64).view(np.uint64))
    known: dict[Constant, int] = {}
    for value in column.tolist():
        if value not in known:
            known[value] = _constant_hash(value)
    return np.array([known[value] for value in column.tolist()], np.uint64)


def _constant_hash(value: Constant) -> int:
    return _text_hash(value) if isinstance(value, str) else int(constant_keys(np.array([value]))[0])


def _text_hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def _mixed(state: _Hashes, values: _Hashes) -> _Hashes:
    state = (state ^ values) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return state ^ (state >> np.uint64(27))


# The workloads that have hand-written queries and encodings.
ByHand: TypeAlias = Literal["diamond", "box", "join", "cooling", "numbers"]


class Measure(NamedTuple):
    """A number of every group, over a kind of windows."""

    function: AggregateFunction
    window: Literal["time", "tuples", "sessions"]


@dataclass(frozen=True, slots=True)
class Workload:
    """A program over a generated stream, with its parameters."""

    program: str
    facts: Facts
    window: int
    # Facts per time point.
    rate: int
    by_hand: ByHand | None = None
    # The heads of rules that have the same body.
    heads: tuple[str, ...] = ("q",)
    # Time points before the measurement starts; None: until the window has filled.
    warm_up: int | None = None
    # What the workload "numbers" asks for.
    measure: Measure | None = None

    def checked(self) -> Checked:
        return checked_program(self.program)


def checked_program(text: str, background: Iterable[Atom] = ()) -> Checked:
    """Parse and check the program of a benchmark."""
    parsed = parse_program(text)
    if parsed.program is None:
        raise LarsparkError(parsed.problems)
    checked = check(parsed.program, {atom.signature for atom in background})
    errors = [problem for problem in checked.problems if problem.severity is Severity.ERROR]
    if errors:
        raise LarsparkError(errors)
    return checked


class Run(NamedTuple):
    """One timed run: its time, its input, and the number of intervals found."""

    seconds: float
    cpu_seconds: float
    facts: int
    time_points: int
    intervals: int
    # The memory of the state at the end, where known.
    bytes: int | None = None
    # Further numbers, by name.
    more: Mapping[str, int | float] = MappingProxyType({})


class Contestant(Protocol):
    """An engine or query that answers a workload; its facts are already in its preferred form."""

    name: str

    @property
    def times(self) -> tuple[int, ...] | None:
        """The answered time points; None: all."""

    def answer(self) -> Answer:
        """The answer, for comparison."""

    def run(self) -> Run:
        """Answer again, measured."""


class Stopwatch:
    """Accumulates wall-clock and CPU time between `start` and `stop`."""

    __slots__ = ("_cpu", "_wall", "cpu_seconds", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self._wall = 0
        self._cpu = 0

    def start(self) -> None:
        self._cpu = time.process_time_ns()
        self._wall = time.perf_counter_ns()

    def stop(self) -> None:
        wall = time.perf_counter_ns()
        self.seconds += (wall - self._wall) / 1e9
        self.cpu_seconds += (time.process_time_ns() - self._cpu) / 1e9

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure a block."""
        self.start()
        yield
        self.stop()


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect garbage now, and disable the collector within the block."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

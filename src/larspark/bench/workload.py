"""Workloads, contestants that answer them, and the stopwatch."""

import gc
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, TypeAlias

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Severity
from larspark.bench.checksums import Answer
from larspark.bench.generated_streams import Facts
from larspark.language import parse_program
from larspark.language.tree import AggregateFunction

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
    settling: int | None = None
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

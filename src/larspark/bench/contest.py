"""A contest: several contestants answer one workload; times are reported only if answers agree."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from statistics import median
from typing import TypeAlias

from larspark.base.problems import LarsparkError, Problem
from larspark.bench.workload import (
    Answer,
    Contestant,
    Run,
    Workload,
    at_times,
    checksum,
    no_garbage_collection,
    size,
)

Progress: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement of one engine on one workload.

    Times are those of the best run, the most informative one on a shared machine.
    """

    bench: str
    window: int
    rate: int
    engine: str
    ns_per_fact: float
    us_per_time_point: float
    bytes: int | None
    # The time relative to that of the interval engine on the same workload.
    ratio: float | None = None
    # Further numbers of some benchmarks, by name.
    more: Mapping[str, int | float] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """The measurement as a line of output."""
        return {
            "bench": self.bench,
            "window": self.window,
            "rate": self.rate,
            "engine": self.engine,
            "ns_per_fact": round(self.ns_per_fact, 1),
            "us_per_time_point": round(self.us_per_time_point, 2),
            "bytes": self.bytes,
            "ratio": None if self.ratio is None else round(self.ratio, 2),
            **self.more,
        }


# Packages are imported when a contestant is created: they are optional, and load slowly.
def _tick_by_tick(workload: Workload) -> Contestant:
    from larspark.bench.by_larspark import TickByTick

    return TickByTick(workload)


def _with_atoms(workload: Workload) -> Contestant:
    from larspark.bench.by_larspark import ReasonerWithAtoms

    return ReasonerWithAtoms(workload)


def _with_tables(workload: Workload) -> Contestant:
    from larspark.bench.by_larspark import ReasonerWithTables

    return ReasonerWithTables(workload)


def _loop(workload: Workload) -> Contestant:
    from larspark.bench.by_loop import Loop

    return Loop(workload)


def _whole_timeline(workload: Workload) -> Contestant:
    from larspark.bench.by_larspark import WholeTimeline

    return WholeTimeline(workload)


def _polars(workload: Workload) -> Contestant:
    from larspark.bench.by_polars import Polars

    return Polars(workload)


def _duckdb(workload: Workload) -> Contestant:
    from larspark.bench.by_duckdb import DuckDB

    return DuckDB(workload)


def _clingo(workload: Workload) -> Contestant:
    from larspark.bench.by_clingo import Clingo

    return Clingo(workload)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A kind of contestant: its constructor, and the optional package that it needs."""

    make: Callable[[Workload], Contestant]
    package: str | None = None

    @property
    def missing(self) -> bool:
        return self.package is not None and find_spec(self.package) is None


INTERVAL = Entrant(_tick_by_tick)
# What users call; the interval engine is inside of it.
ATOMS = Entrant(_with_atoms)
TABLES = Entrant(_with_tables)
WHOLE = Entrant(_whole_timeline)
LOOP = Entrant(_loop)
POLARS = Entrant(_polars, "polars")
DUCKDB = Entrant(_duckdb, "duckdb")
CLINGO = Entrant(_clingo, "clingo")


def missing_packages() -> list[str]:
    """The missing packages that some contestants need."""
    packages = [entrant.package for entrant in (POLARS, DUCKDB, CLINGO)]
    return [package for package in (*packages, "pyspark") if package and find_spec(package) is None]


def contest(
    bench: str,
    workload: Workload,
    entrants: Sequence[Entrant],
    *,
    repetitions: int,
    progress: Progress,
) -> list[Measurement]:
    """Compare the answers of all entrants, then measure them in turns.

    Entrants whose package is missing are left out. Ratios are relative to the first entrant.
    """
    contestants = [entrant.make(workload) for entrant in entrants if not entrant.missing]
    expected = _agreed(bench, workload, contestants, progress)
    runs: list[list[Run]] = [[] for _ in contestants]
    for turn in range(1, repetitions + 1):
        for contestant, done in zip(contestants, runs, strict=True):
            progress(f"{_where(bench, workload)}: {contestant.name}, run {turn} of {repetitions}")
            with no_garbage_collection():
                done.append(contestant.run())
            if done[-1].intervals != expected[contestant.name]:
                raise _different(bench, workload, contestant.name, contestants[0].name)
    measured = [
        _measurement(bench, workload, contestant, done)
        for contestant, done in zip(contestants, runs, strict=True)
    ]
    base = measured[0].ns_per_fact
    return [replace(one, ratio=one.ns_per_fact / base) for one in measured]


def _agreed(
    bench: str, workload: Workload, contestants: Sequence[Contestant], progress: Progress
) -> dict[str, int]:
    """The number of intervals that each contestant must find; raises if answers differ."""
    reference: Answer | None = None
    expected: dict[str, int] = {}
    for contestant in contestants:
        progress(f"{_where(bench, workload)}: {contestant.name}, checking the answer")
        answer = contestant.answer()
        reference = answer if reference is None else reference
        due = reference if contestant.times is None else at_times(reference, contestant.times)
        if checksum(answer) != checksum(due):
            raise _different(bench, workload, contestant.name, contestants[0].name)
        expected[contestant.name] = size(answer)
    return expected


def _where(bench: str, workload: Workload) -> str:
    return f"{bench}, window {workload.window}, rate {workload.rate}"


def _different(bench: str, workload: Workload, one: str, other: str) -> LarsparkError:
    message = f"{_where(bench, workload)}: `{one}` and `{other}` give different answers"
    return LarsparkError(Problem("L552", message))


def _measurement(
    bench: str, workload: Workload, contestant: Contestant, runs: Sequence[Run]
) -> Measurement:
    best = min(runs, key=lambda run: run.seconds)
    usual = median(run.seconds for run in runs)
    return Measurement(
        bench,
        workload.window,
        workload.rate,
        contestant.name,
        best.seconds / best.facts * 1e9,
        best.seconds / best.time_points * 1e6,
        best.bytes,
        more={
            "median_ns_per_fact": round(usual / best.facts * 1e9, 1),
            "cpu_ns_per_fact": round(min(run.cpu_seconds for run in runs) / best.facts * 1e9, 1),
            "facts": best.facts,
            "time_points": best.time_points,
            "intervals": best.intervals,
            **best.more,
        },
    )

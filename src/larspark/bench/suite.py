"""The suite of benchmarks: each workload in all its sizes, or quickly in a few."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Protocol, TypeAlias

from larspark.base.problems import LarsparkError, Problem
from larspark.bench import (
    feed_speed,
    hypothetical_speed,
    run_speed,
)
from larspark.bench import interval_workloads as workloads
from larspark.bench import soak as soak_runs
from larspark.bench import ticker_workloads as ticker
from larspark.bench.contest import (
    ATOMS,
    CLINGO,
    DUCKDB,
    INTERVAL,
    LOOP,
    POLARS,
    TABLES,
    WHOLE,
    Entrant,
    Measurement,
    Progress,
    contest,
)
from larspark.bench.workload import Workload
from larspark.language.tree import AggregateFunction
from larspark.run.interval.kernels.compile import compile_at_once

ALL = (INTERVAL, ATOMS, TABLES, WHOLE, POLARS, DUCKDB, CLINGO)
ENGINE = (INTERVAL, WHOLE)
WITHOUT_CLINGO = (INTERVAL, WHOLE, POLARS, DUCKDB)

AGGREGATES: tuple[AggregateFunction, ...] = ("count", "sum", "avg", "min", "max")

_GAP = 1_000_000
_RULES = (1, 10, 100)


class Series(Protocol):
    """A series of measurements: called with its name, whether to be quick, and a callback."""

    def __call__(self, bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]: ...


@dataclass(frozen=True, slots=True)
class Grid:
    """A workload for each rate and each window."""

    make: Callable[[int, int], Workload]
    entrants: Sequence[Entrant]
    rates: Sequence[int] = workloads.RATES
    windows: Sequence[int] = workloads.WINDOWS
    quick_rates: Sequence[int] = (800,)
    quick_windows: Sequence[int] = (1, 80)

    def __call__(self, bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
        sizes = (self.quick_rates, self.quick_windows) if quick else (self.rates, self.windows)
        for rate, window in product(*sizes):
            yield from contest(
                bench,
                self.make(window, rate),
                self.entrants,
                repetitions=_repetitions(quick),
                progress=progress,
            )


@dataclass(frozen=True, slots=True)
class Flatness:
    """A workload with a small and a large window and the same number of matches."""

    make: Callable[[int, int], Workload]

    def __call__(self, bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
        small: dict[str, float] = {}
        for window in (1, 80):
            workload = self.make(window, 800)
            for one in contest(
                bench, workload, ENGINE, repetitions=_repetitions(quick), progress=progress
            ):
                # The engine runs on one core, so CPU time is not disturbed by other processes.
                time = float(one.more["cpu_ns_per_fact"])
                flatness = time / small.setdefault(one.engine, time)
                yield _with(one, flatness=round(flatness, 2))


@dataclass(frozen=True, slots=True)
class Numbers:
    """An aggregate of 200 groups, over windows that do not matter for the number of facts."""

    make: Callable[..., Workload]
    function: AggregateFunction

    def __call__(self, bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
        small: dict[str, float] = {}
        for window in (1, 80) if quick else (1, 80, 10_000):
            workload = self.make(self.function, window, 800)
            for one in contest(
                bench, workload, WITHOUT_CLINGO, repetitions=_repetitions(quick), progress=progress
            ):
                time = float(one.more["cpu_ns_per_fact"])
                flatness = time / small.setdefault(one.engine, time)
                yield _with(one, flatness=round(flatness, 2))


diamond = Grid(workloads.diamond, ALL)
box = Grid(workloads.box, ALL)
join = Grid(workloads.join, ALL)
cooling = Grid(workloads.cooling, ALL)

best_case = Grid(workloads.best_case, ENGINE, (100, 500, 1000), (10, 50, 100), (500,), (10, 100))
worst_case = Grid(workloads.worst_case, ENGINE, (100, 500, 1000), (1, 2, 3), (500,), (1, 3))

ticker_a1 = ticker.Scenario(ticker.a1)
ticker_a2 = ticker.Scenario(ticker.a2)
ticker_b1 = ticker.Scenario(ticker.b1)
ticker_b2 = ticker.Scenario(ticker.b2)

flat_diamond = Flatness(workloads.flat_diamond)
flat_box = Flatness(workloads.flat_box)
flat_join = Flatness(workloads.flat_join)
flat_negation = Flatness(workloads.flat_negation)
flat_tuples = Flatness(workloads.flat_tuples)

sessions = Grid(workloads.sessions, WITHOUT_CLINGO, (800,), (5, 20), (800,), (5,))


def sparse(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """Few facts at a time point, through `lp.Reasoner`, compared with a loop for the same rules."""
    for number in (1, 3, 9):
        entrants = (INTERVAL, ATOMS, TABLES, *((LOOP,) if number == 3 else ()))
        make = partial(workloads.sparse, rules=number)
        grid = Grid(make, entrants, (1, 10, 100), (80,), (1, 10), (80,))
        for one in grid(bench, quick, progress):
            yield _with(one, rules=number)


def rules(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """The same rule under many heads."""
    for number in _RULES[:2] if quick else _RULES:
        make = partial(workloads.join, rules=number)
        grid = Grid(make, WITHOUT_CLINGO, (200,), (1, 80), (200,), (80,))
        for one in grid(bench, quick, progress):
            yield _with(one, rules=number)


def text(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """Names instead of numbers."""
    for name, make in (("diamond", workloads.diamond), ("join", workloads.join)):
        grid = Grid(partial(make, text=True), ALL, windows=(1, 80), rates=(800,))
        yield from grid(f"{bench}/{name}", quick, progress)


def cascade(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """Chains of rules of several lengths."""
    for number in (10,) if quick else (10, 50, 100):
        make = partial(workloads.cascade, rules=number)
        grid = Grid(make, ENGINE, (100,), (10, 20), (100,), (20,))
        for one in grid(bench, quick, progress):
            yield _with(one, rules=number)


def gap(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """A long gap without input."""
    workload = workloads.silence(80, _GAP)
    entrants = (Entrant(workloads.OverTheGap), WHOLE)
    measured = contest(
        bench, workload, entrants, repetitions=_repetitions(quick), progress=progress
    )
    # The whole timeline only serves to compare the answers; it spends its time on other steps.
    yield measured[0]


def soak(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """A long run with input."""
    return soak_runs.soak(bench, 20_000 if quick else 1_000_000, progress)


def soak_ticker(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """A long run of Ticker's scenario B."""
    return soak_runs.ticker_soak(bench, 2_000 if quick else 100_000, progress)


def start(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """Time to the first answer."""
    return run_speed.start(bench, _repetitions(quick), progress)


def hypothetical(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """Hypothetical answers."""
    return hypothetical_speed.hypothetical(bench, 5_000 if quick else 100_000, progress)


def feeds(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """Reading facts from files."""
    return feed_speed.reading(bench, 50_000 if quick else 1_000_000, progress)


def files(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """From a file to the answers, on the command line."""
    return run_speed.files(bench, 50_000 if quick else 1_000_000, _repetitions(quick), progress)


def cold(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """The first run of a new installation."""
    return run_speed.cold(bench, 50_000 if quick else 1_000_000, _repetitions(quick), progress)


# The modules of the benchmarks on Spark import PySpark, which may be missing.
def spark(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """Batch on Spark; the workload is the last part of the name."""
    if find_spec("pyspark") is None:
        return
    from larspark.bench import spark_batch

    yield from spark_batch.spark(bench, bench.rsplit("/", 1)[1], quick, progress)


def streaming(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """Micro-batches on Spark."""
    if find_spec("pyspark") is None:
        return
    from larspark.bench import spark_stream

    yield from spark_stream.streaming(bench, quick, progress)


def growth(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """The cost model of batch on Spark, compared with measurements."""
    if find_spec("pyspark") is None:
        return
    from larspark.bench import spark_growth

    yield from spark_growth.growth(bench, quick, progress)


def _repetitions(quick: bool) -> int:
    return 3 if quick else 5


def _with(measurement: Measurement, **more: int | float) -> Measurement:
    return replace(measurement, more={**measurement.more, **more})


Emit: TypeAlias = Callable[[Measurement], None]


def _no_progress(text: str) -> None:
    """Ignore progress messages."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named benchmark, run quickly or with all its sizes."""

    name: str
    title: str
    series: Series

    def run(self, quick: bool, progress: Progress) -> Iterator[Measurement]:
        """Run the series, with compiled kernels from the first measurement on."""
        compile_at_once()
        return self.series(self.name, quick, progress)


_BENCHMARKS = (
    Benchmark("laser/diamond", "`[n] some` over facts that never repeat", diamond),
    Benchmark("laser/box", "`[n] always` over values that miss a time point", box),
    Benchmark("laser/join", "paths of two steps within a window", join),
    Benchmark("laser/cooling", "the cooling system of Laser's paper", cooling),
    Benchmark("laser/rules", "the join under 1, 10 and 100 heads", rules),
    Benchmark("laser/text", "diamond and join over names", text),
    Benchmark("laser2/best", "a rule that almost never fires", best_case),
    Benchmark("laser2/worst", "a rule that never fires, tiny windows", worst_case),
    Benchmark("laser2/cascade", "rules that depend on one that almost never fires", cascade),
    Benchmark("ticker/a1", "a caching strategy, time windows", ticker_a1),
    Benchmark("ticker/a2", "a caching strategy, tuple windows", ticker_a2),
    Benchmark("ticker/b1", "content retrieval, few signals", ticker_b1),
    Benchmark("ticker/b2", "content retrieval, many signals", ticker_b2),
    Benchmark("flat/diamond", "window 80 against window 1", flat_diamond),
    Benchmark("flat/box", "window 80 against window 1", flat_box),
    Benchmark("flat/join", "window 80 against window 1", flat_join),
    Benchmark("flat/negation", "window 80 against window 1", flat_negation),
    Benchmark("flat/tuples", "window 80 against window 1", flat_tuples),
    *(
        Benchmark(f"numbers/{kind}/{function}", f"the {function} of {kind} windows by key", series)
        for kind, make in (
            ("time", workloads.time_window),
            ("tuples", workloads.tuple_window),
        )
        for function, series in ((name, Numbers(make, name)) for name in AGGREGATES)
    ),
    Benchmark("numbers/sessions", "the size of finished sessions by key", sessions),
    Benchmark("sparse", "1, 10 and 100 facts at a time point; 1, 3 and 9 rules", sparse),
    Benchmark("gap", "a million time points without input", gap),
    Benchmark("soak", "ten million facts over a million time points", soak),
    Benchmark("soak/ticker", "scenario B over a hundred thousand time points", soak_ticker),
    Benchmark("start", "the first answer of `larspark run`", start),
    Benchmark("cold", "a first run, without compiled kernels", cold),
    Benchmark("hypothetical", "what may become true, on a thousand machines", hypothetical),
    Benchmark("feeds", "reading facts, in every form", feeds),
    Benchmark("files", "one rule over a file, on the command line, beside DuckDB", files),
    Benchmark("spark/cooling", "batch: the cooling system of 1,000 machines", spark),
    Benchmark("spark/diamond", "batch: `[n] some`", spark),
    Benchmark("spark/join", "batch: paths of two steps", spark),
    Benchmark("spark/growth", "batch on 1, 2 and 4 executors", growth),
    Benchmark("spark/streaming", "100,000 facts in each micro-batch", streaming),
)


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name, in the order in which they are run."""
    return {benchmark.name: benchmark for benchmark in _BENCHMARKS}


def run_benchmarks(
    names: Sequence[str], quick: bool, emit: Emit, progress: Progress = _no_progress
) -> None:
    """Run the named benchmarks, or all; `laser` selects all names that begin with `laser/`."""
    for benchmark in chosen(names):
        for measurement in benchmark.run(quick, progress):
            emit(measurement)


def chosen(names: Sequence[str]) -> list[Benchmark]:
    """The benchmarks with these names; unknown names are an error."""
    known = benchmarks()
    names = [name.lower() for name in names]
    groups = {name.split("/")[0] for name in known}
    problems = [
        _unknown(name, [*known, *groups]) for name in names if name not in {*known, *groups}
    ]
    if problems:
        raise LarsparkError(problems)
    wanted = set(names)
    return [
        benchmark
        for name, benchmark in known.items()
        if not wanted or name in wanted or name.split("/")[0] in wanted
    ]


def _unknown(name: str, known: Iterable[str]) -> Problem:
    close = get_close_matches(name, list(known), 1)
    hint = f"did you mean `{close[0]}`?" if close else f"one of {', '.join(sorted(benchmarks()))}"
    return Problem("L551", f"there is no benchmark `{name}`", hint=hint)

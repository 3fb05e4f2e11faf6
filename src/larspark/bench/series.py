"""Series of measurements: a workload in all its sizes, or quickly in a few."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Protocol

from larspark.bench import feed_speed as files
from larspark.bench import first_answer as beginning
from larspark.bench import hypothetical_speed as hypotheses
from larspark.bench import laser_workloads as laser
from larspark.bench import limit_workloads as limits
from larspark.bench import soak as endurance
from larspark.bench import spark_batch as on_spark
from larspark.bench import spark_growth, ticker_soak
from larspark.bench import spark_stream as spark_streaming
from larspark.bench import ticker_workloads as ticker
from larspark.bench.contest import (
    CLINGO,
    DUCKDB,
    INTERVAL,
    POLARS,
    WHOLE,
    Entrant,
    Measurement,
    Tell,
    contest,
)
from larspark.bench.workload import Workload

EVERYONE = (INTERVAL, WHOLE, POLARS, DUCKDB, CLINGO)
ENGINE = (INTERVAL, WHOLE)
WITHOUT_CLINGO = (INTERVAL, WHOLE, POLARS, DUCKDB)

_GAP = 1_000_000
_RULES = (1, 10, 100)


class Series(Protocol):
    """A benchmark at work: its name, whether quickly, and whom to tell what is going on."""

    def __call__(self, bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]: ...


@dataclass(frozen=True, slots=True)
class Grid:
    """A workload for every rate and every window."""

    make: Callable[[int, int], Workload]
    entrants: Sequence[Entrant]
    rates: Sequence[int] = laser.RATES
    windows: Sequence[int] = laser.WINDOWS
    quick_rates: Sequence[int] = (800,)
    quick_windows: Sequence[int] = (1, 80)

    def __call__(self, bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
        sizes = (self.quick_rates, self.quick_windows) if quick else (self.rates, self.windows)
        for rate, window in product(*sizes):
            yield from contest(
                bench,
                self.make(window, rate),
                self.entrants,
                repetitions=_repetitions(quick),
                tell=tell,
            )


@dataclass(frozen=True, slots=True)
class Flatness:
    """A workload with a small and a large window, and as many matches."""

    make: Callable[[int, int], Workload]

    def __call__(self, bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
        small: dict[str, float] = {}
        for window in (1, 80):
            workload = self.make(window, 800)
            for one in contest(bench, workload, ENGINE, repetitions=_repetitions(quick), tell=tell):
                # The engine runs on one core: the time of the process is not disturbed by others.
                time = float(one.more["cpu_ns_per_fact"])
                flatness = time / small.setdefault(one.engine, time)
                yield _with(one, flatness=round(flatness, 2))


diamond = Grid(laser.diamond, EVERYONE)
box = Grid(laser.box, EVERYONE)
join = Grid(laser.join, EVERYONE)
cooling = Grid(laser.cooling, EVERYONE)

best_case = Grid(laser.best_case, ENGINE, (100, 500, 1000), (10, 50, 100), (500,), (10, 100))
worst_case = Grid(laser.worst_case, ENGINE, (100, 500, 1000), (1, 2, 3), (500,), (1, 3))

ticker_a1 = ticker.Scenario(ticker.a1)
ticker_a2 = ticker.Scenario(ticker.a2)
ticker_b1 = ticker.Scenario(ticker.b1)
ticker_b2 = ticker.Scenario(ticker.b2)

flat_diamond = Flatness(limits.flat_diamond)
flat_box = Flatness(limits.flat_box)
flat_join = Flatness(limits.flat_join)
flat_negation = Flatness(limits.flat_negation)
flat_tuples = Flatness(limits.flat_tuples)

sparse = Grid(limits.sparse, ENGINE, (1,), laser.WINDOWS, (1,), (80,))


def rules(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """The same rule under many heads."""
    for number in _RULES[:2] if quick else _RULES:
        make = partial(laser.join, rules=number)
        grid = Grid(make, WITHOUT_CLINGO, (200,), (1, 80), (200,), (80,))
        for one in grid(bench, quick, tell):
            yield _with(one, rules=number)


def text(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """Names instead of numbers."""
    for name, make in (("diamond", laser.diamond), ("join", laser.join)):
        grid = Grid(partial(make, text=True), EVERYONE, windows=(1, 80), rates=(800,))
        yield from grid(f"{bench}/{name}", quick, tell)


def cascade(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """Chains of rules of several lengths."""
    for number in (10,) if quick else (10, 50, 100):
        make = partial(laser.cascade, rules=number)
        grid = Grid(make, ENGINE, (100,), (10, 20), (100,), (20,))
        for one in grid(bench, quick, tell):
            yield _with(one, rules=number)


def gap(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """A long time without input."""
    workload = limits.silence(80, _GAP)
    entrants = (Entrant(limits.OverTheGap), WHOLE)
    measured = contest(bench, workload, entrants, repetitions=_repetitions(quick), tell=tell)
    # The whole timeline is there to compare the answers; its time is mostly that of other steps.
    yield measured[0]


def soak(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """A long time with input."""
    return endurance.soak(bench, 20_000 if quick else 1_000_000, tell)


def soak_ticker(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """Ten thousand time points in each of ten parts, or two hundred."""
    return ticker_soak.soak(bench, 2_000 if quick else 100_000, tell)


def start(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """The first answer."""
    return beginning.start(bench, _repetitions(quick), tell)


def hypothetical(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """Answers ahead of time."""
    return hypotheses.hypothetical(bench, 5_000 if quick else 100_000, tell)


def feeds(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """Facts from files."""
    return files.reading(bench, 50_000 if quick else 1_000_000, tell)


def spark(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """Batch on Spark; the workload is the last part of the name."""
    return on_spark.spark(bench, bench.rsplit("/", 1)[1], quick, tell)


def streaming(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """Micro-batches on Spark."""
    return spark_streaming.streaming(bench, quick, tell)


def growth(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """The cost model of batch on Spark, beside what was measured."""
    return spark_growth.growth(bench, quick, tell)


def _repetitions(quick: bool) -> int:
    return 3 if quick else 5


def _with(measurement: Measurement, **more: int | float) -> Measurement:
    return replace(measurement, more={**measurement.more, **more})

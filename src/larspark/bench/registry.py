"""The benchmarks by name, and how to run them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from larspark.base.problems import LarsparkError, Problem
from larspark.bench import series
from larspark.bench.contest import Measurement, Tell

Emit: TypeAlias = Callable[[Measurement], None]


def _nobody(text: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Something that can be measured: quickly, or with all its sizes."""

    name: str
    title: str
    series: series.Series

    def run(self, quick: bool, tell: Tell) -> Iterator[Measurement]:
        """Measure; what is going on is told to people."""
        return self.series(self.name, quick, tell)


_BENCHMARKS = (
    Benchmark("laser/diamond", "`[n] some` over facts that never come again", series.diamond),
    Benchmark("laser/box", "`[n] always` over values that miss a time point", series.box),
    Benchmark("laser/join", "paths of two steps within a window", series.join),
    Benchmark("laser/cooling", "the cooling system of Laser's paper", series.cooling),
    Benchmark("laser/rules", "the join under 1, 10 and 100 heads", series.rules),
    Benchmark("laser/text", "diamond and join over names", series.text),
    Benchmark("laser2/best", "a rule that can hardly ever fire", series.best_case),
    Benchmark("laser2/worst", "a rule that never fires, tiny windows", series.worst_case),
    Benchmark("laser2/cascade", "rules that stand on one that can hardly fire", series.cascade),
    Benchmark("ticker/a1", "a caching strategy, time windows", series.ticker_a1),
    Benchmark("ticker/a2", "a caching strategy, tuple windows", series.ticker_a2),
    Benchmark("ticker/b1", "content retrieval, few signals", series.ticker_b1),
    Benchmark("ticker/b2", "content retrieval, many signals", series.ticker_b2),
    Benchmark("flat/diamond", "window 80 against window 1", series.flat_diamond),
    Benchmark("flat/box", "window 80 against window 1", series.flat_box),
    Benchmark("flat/join", "window 80 against window 1", series.flat_join),
    Benchmark("flat/negation", "window 80 against window 1", series.flat_negation),
    Benchmark("flat/tuples", "window 80 against window 1", series.flat_tuples),
    Benchmark("sparse", "one fact at every time point, three rules", series.sparse),
    Benchmark("gap", "a million time points without input", series.gap),
    Benchmark("soak", "ten million facts over a million time points", series.soak),
    Benchmark("soak/ticker", "scenario B over a hundred thousand time points", series.soak_ticker),
    Benchmark("start", "the first answer of `larspark run`", series.start),
    Benchmark("hypothetical", "what may become true, on a thousand machines", series.hypothetical),
    Benchmark("feeds", "reading facts, in every form", series.feeds),
    Benchmark("spark/cooling", "batch: the cooling system of 1,000 machines", series.spark),
    Benchmark("spark/diamond", "batch: `[n] some`", series.spark),
    Benchmark("spark/join", "batch: paths of two steps", series.spark),
    Benchmark("spark/streaming", "100,000 facts in each micro-batch", series.streaming),
)


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks, in the order in which they are run."""
    return {benchmark.name: benchmark for benchmark in _BENCHMARKS}


def run_benchmarks(names: Sequence[str], quick: bool, emit: Emit, tell: Tell = _nobody) -> None:
    """Run the named benchmarks, or all; `laser` stands for everything that begins with `laser/`."""
    for benchmark in chosen(names):
        for measurement in benchmark.run(quick, tell):
            emit(measurement)


def chosen(names: Sequence[str]) -> list[Benchmark]:
    """The benchmarks with these names, or an error for the names that mean nothing."""
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

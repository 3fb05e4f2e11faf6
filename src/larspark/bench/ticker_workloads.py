"""The scenarios of Ticker (001): choosing a caching strategy (A), retrieving content (B).

A tick is a time point with all its atoms; the output of each tick is read as atoms. Scenario A has
one answer stream, and all engines must agree on it. Scenario B can have several: at some time
points the output of each engine is checked to be that of one of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.bench.contest import Measurement, Progress
from larspark.bench.generated_streams import Signals, background, caching, retrieval
from larspark.bench.workload import Stopwatch, checked_program, no_garbage_collection
from larspark.run.protocol import Answers, Engine, Settings

if TYPE_CHECKING:
    from larspark.run.answer_sets.engines import AspEngine

WINDOWS = (20, 40, 80, 120, 160, 200)
QUICK_WINDOWS = (20, 200)
# The growth of the time with the number of time points is measured with this window.
TIME_POINTS = (100, 250, 500, 1000)
MIDDLE_WINDOW = 60
# The first run also loads code; on a shared machine the best run is the most informative.
REPETITIONS = 2
# How many outputs of scenario B are compared with those of all answer streams.
CHECKED_POINTS = 10

_CACHING = """
@T high :- [{w}] @T alpha(V), V >= 18.
@T mid  :- [{w}] @T alpha(V), V >= 12, V < 18.
@T low  :- [{w}] @T alpha(V), V < 12.
lfu     :- [{n}] always high.
lru     :- [{n}] always mid.
fifo    :- [{n}] always low.
done    :- lfu.
done    :- lru.
done    :- fifo.
random  :- not done.
"""

_RETRIEVAL = """
need(I,N)     :- item(I), node(N), [{n}] some req(I,N).
avail(I,N)    :- item(I), node(N), [{n}] some cache(I,N).
get(I,N,M)    :- source(I,N,M), not nGet(I,N,M).
nGet(I,N,M)   :- node(M), get(I,N,K), M != K.
nGet(I,N,M)   :- source(I,N,M), source(I,N,K), M != K, qual(M,L), qual(K,P), L < P.
source(I,N,M) :- need(I,N), not avail(I,N), avail(I,M), reach(N,M).
reach(N,M)    :- conn(N,M).
reach(N,M)    :- reach(N,K), conn(K,M), K != M, N != M.
conn(N,M)     :- edge(N,M), not [{n}] always down(M).
qual(N,L)     :- node(N), lev(L), lev(P), P < L, [{n}] some qLev(N,L), not [{n}] some qLev(N,P).
"""


class Setup(NamedTuple):
    """One of the setups A1, A2, B1, B2, for a window and a number of time points."""

    program: str
    background: frozenset[Atom]
    signals: Signals
    window: int
    # Whether there is exactly one answer stream.
    single: bool
    # The scenario, if there is a hand-written encoding.
    by_hand: str | None = None


def a1(window: int, last: int) -> Setup:
    """Time windows."""
    program = _CACHING.format(w=window, n=window)
    signals = caching(window, last)
    return Setup(program, frozenset(), signals, window, single=True, by_hand="A")


def a2(window: int, last: int) -> Setup:
    """Tuple windows where values are read."""
    program = _CACHING.format(w=f"#{window}", n=window)
    return Setup(program, frozenset(), caching(window, last), window, single=True)


def b1(window: int, last: int) -> Setup:
    """Few signals."""
    signals = retrieval(window, last, busy=False)
    return Setup(_RETRIEVAL.format(n=window), background(), signals, window, False, by_hand="B")


def b2(window: int, last: int) -> Setup:
    """Many signals."""
    signals = retrieval(window, last, busy=True)
    return Setup(_RETRIEVAL.format(n=window), background(), signals, window, False, by_hand="B")


# Engines are imported when they are created: clingo is optional, and Numba loads slowly.
def _interval(setup: Checked, given: Iterable[Atom]) -> Engine:
    from larspark.run.interval.engine import IntervalEngine

    return IntervalEngine(setup, given, Settings())


def _one_shot(checked: Checked, given: Iterable[Atom]) -> "AspEngine":
    from larspark.run.answer_sets.engines import AspEngine

    return AspEngine(checked, given, Settings())


def _incremental(checked: Checked, given: Iterable[Atom]) -> Engine:
    from larspark.run.answer_sets.engines import AspEngine

    return AspEngine(checked, given, Settings(incremental=True))


def _tms(checked: Checked, given: Iterable[Atom]) -> Engine:
    from larspark.run.answer_sets.engines import TmsEngine

    return TmsEngine(checked, given, Settings())


class Ticking(Protocol):
    """The measured interface of engines and of hand-written code."""

    def append(self, batch: RowBatch) -> None: ...

    def advance(self, t: int) -> Answers: ...


_Make = Callable[[Checked, Iterable[Atom]], Ticking]
_SOLVERS: dict[str, _Make] = {
    "asp, one-shot": _one_shot,
    "asp, incremental": _incremental,
    "tms": _tms,
}


def _by_hand(setup: Setup) -> _Make:
    from larspark.bench.by_clingo import TickerByHand

    return lambda _, given: TickerByHand(setup.by_hand or "", setup.window, frozenset(given))


Outputs = list[frozenset[Atom] | None]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A setup for each window, on each engine that supports it."""

    make: Callable[[int, int], Setup]

    def __call__(self, bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
        for window in QUICK_WINDOWS if quick else WINDOWS:
            yield from measure(bench, self.make(window, 100 if quick else 1000), progress)
        for last in () if quick else TIME_POINTS:
            yield from measure(bench, self.make(MIDDLE_WINDOW, last), progress)


def measure(bench: str, setup: Setup, progress: Progress) -> list[Measurement]:
    """Run all engines in turns, compare the outputs, then return the best times."""
    engines: dict[str, _Make] = {"interval": _interval} if setup.single else {}
    if find_spec("clingo") is not None:
        engines |= _SOLVERS
        if setup.by_hand is not None:
            engines["clingo by hand"] = _by_hand(setup)
    checked = checked_program(setup.program, setup.background)
    best: dict[str, Measurement] = {}
    outputs: dict[str, Outputs] = {}
    for turn in range(1, REPETITIONS + 1):
        for name, make in engines.items():
            progress(f"{bench}, window {setup.window}: {name}, run {turn} of {REPETITIONS}")
            one, outputs[name] = _run(bench, setup, checked, name, make)
            best[name] = _better(best.get(name), one)
    progress(f"{bench}, window {setup.window}: checking the answers")
    compare(bench, setup, checked, outputs)
    if "interval" not in best:
        return list(best.values())
    base = best["interval"].ns_per_fact
    return [replace(one, ratio=one.ns_per_fact / base) for one in best.values()]


def _better(one: Measurement | None, other: Measurement) -> Measurement:
    """The faster of two runs, with the lower CPU time of both."""
    if one is None:
        return other
    least = min(one.more["cpu_ns_per_fact"], other.more["cpu_ns_per_fact"])
    faster = min(one, other, key=lambda run: run.ns_per_fact)
    return replace(faster, more={**faster.more, "cpu_ns_per_fact": least})


def _run(
    bench: str, setup: Setup, checked: Checked, name: str, make: _Make
) -> tuple[Measurement, Outputs]:
    beginning, ticking = Stopwatch(), Stopwatch()
    outputs: Outputs = []
    with no_garbage_collection():
        with beginning.running():
            engine = make(checked, setup.background)
        for batch in _batches(setup.signals):
            with ticking.running():
                engine.append(batch)
                outputs += [point.atoms for point in engine.advance(len(outputs) + 1).points()]
    facts = sum(map(len, setup.signals))
    ticks = len(setup.signals)
    return Measurement(
        bench,
        setup.window,
        round(facts / ticks),
        name,
        ticking.seconds / facts * 1e9,
        ticking.seconds / ticks * 1e6,
        None,
        more={
            "cpu_ns_per_fact": round(ticking.cpu_seconds / facts * 1e9, 1),
            "facts": facts,
            "time_points": ticks,
            "init_seconds": round(beginning.seconds, 4),
            "tick_seconds": round(ticking.seconds / ticks, 6),
            "total_seconds": round(beginning.seconds + ticking.seconds, 4),
        },
    ), outputs


def compare(bench: str, setup: Setup, checked: Checked, outputs: Mapping[str, Outputs]) -> None:
    """Raise when outputs differ (A), or when an output belongs to no answer stream (B)."""
    if setup.single:
        (first, expected), *others = outputs.items()
        for name, found in others:
            wrong = [
                t for t, two in enumerate(zip(found, expected, strict=True), 1) if len({*two}) > 1
            ]
            if wrong:
                message = f"{bench}: at {wrong[0]} `{name}` and `{first}` give different answers"
                raise LarsparkError(Problem("L552", message))
        return
    step = max(1, len(setup.signals) // CHECKED_POINTS)
    for t in range(step, len(setup.signals) + 1, step):
        judge = _judge(setup, checked, t)
        for name, found in outputs.items():
            output = found[t - 1]
            if output is None or not judge.can_output(t, output):
                message = f"{bench}: at {t} `{name}` gives the output of no answer stream"
                raise LarsparkError(Problem("L552", message))


def _judge(setup: Setup, checked: Checked, t: int) -> "AspEngine":
    """An engine at a time point that tests whether an output is that of an answer stream."""
    engine = _one_shot(checked, setup.background)
    for batch in _batches(setup.signals[:t]):
        engine.append(batch)
    return engine


def _batches(signals: Signals) -> list[RowBatch]:
    batches: list[RowBatch] = []
    arrived = 0
    for t, atoms in enumerate(signals, 1):
        batches.append(RowBatch([Row(t, atom, arrived + n) for n, atom in enumerate(atoms)], t))
        arrived += len(atoms)
    return batches

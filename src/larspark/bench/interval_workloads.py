"""Workloads of the interval engine: those of Laser (002) and Laser2 (004), and tests of limits.

Aggregates of 200 groups over time, tuple and session windows, too. The limits are windows of any
size, sparse input, and long gaps.
"""

import numpy as np

from larspark.base.facts import ColumnBatch, Segment
from larspark.bench.by_larspark import Changes, began, interval_answers
from larspark.bench.generated_streams import (
    Facts,
    chain,
    interrupted,
    linked,
    readings,
    regular,
    sensors,
    steady_pairs,
    stream,
    thirds,
    unique_pairs,
)
from larspark.bench.workload import Answer, Measure, Run, Stopwatch, Workload
from larspark.language.tree import AggregateFunction
from larspark.run.session import Session

RATES = (200, 400, 800, 1000)
WINDOWS = (1, 20, 40, 80, 100)

# Time points after the windows have filled.
MEASURED = 200
# The time points of an experiment of 004.
_LASER2_TIME_POINTS = 300

_COOLING = """
@T steam(V)  :- [{n}] @T temp(V), V >= 100.
@T liquid(V) :- [{n}] @T temp(V), V >= 1, V < 100.
@T isSteam   :- [{n}] @T steam(V).
@T isLiquid  :- [{n}] @T liquid(V).
alarm        :- [{n}] always isSteam.
normal       :- [{n}] always isLiquid.
freeze       :- not alarm, not normal.
veryHot(T)   :- [{n}] @T steam(V), V >= 150.
veryCold(T)  :- [{n}] @T liquid(V), V = 1.
"""


def diamond(window: int, rate: int, *, measured: int = MEASURED, text: bool = False) -> Workload:
    """`[n] some` over facts that never repeat."""
    facts = unique_pairs(rate, window + measured, text=text)
    return Workload(f"q(A,B) :- [{window}] some p(A,B).", facts, window, rate, "diamond")


def box(window: int, rate: int, *, measured: int = MEASURED) -> Workload:
    """`[n] always` over values that occasionally miss a time point."""
    facts = thirds(rate, window + measured)
    return Workload(f"q(X) :- [{window}] always p(X).", facts, window, rate, "box")


def join(
    window: int, rate: int, *, measured: int = MEASURED, rules: int = 1, text: bool = False
) -> Workload:
    """Paths of two steps within a window; the rule once, or several times with other heads."""
    facts = chain(rate, window + measured, text=text)
    heads = ("q",) if rules == 1 else tuple(f"q{number}" for number in range(1, rules + 1))
    body = f"[{window}] some p(A,B), [{window}] some p(B,C)"
    program = "\n".join(f"{head}(A,C) :- {body}." for head in heads)
    return Workload(program, facts, window, rate, "join", heads)


def cooling(window: int, rate: int, *, measured: int = MEASURED) -> Workload:
    """A cooling system: `@` in heads, `always`, negation (002, Fig. 4)."""
    facts = readings(rate, window + measured)
    return Workload(_COOLING.format(n=window), facts, window, rate, "cooling")


def best_case(window: int, rate: int) -> Workload:
    """A rule that almost never fires: one of its formulas misses a time point in every window."""
    facts = steady_pairs({"p": None, "q": window}, rate, _LASER2_TIME_POINTS)
    return Workload(_single_rule(window), facts, window, 2 * rate)


def worst_case(window: int, rate: int) -> Workload:
    """A rule that never fires, with a window so small that skipping gains little."""
    facts = steady_pairs({"p": None}, rate, _LASER2_TIME_POINTS)
    return Workload(_single_rule(window), facts, window, rate)


def cascade(window: int, rate: int, *, rules: int) -> Workload:
    """Rules that depend on one that almost never fires."""
    some = f"[{window}] some p(X,Y)"
    program = [f"r1(X,Y) :- {some}, [{window}] always q(X,Y)."]
    program += [f"r{n}(X,Y) :- r{n - 1}(X,Y), {some}." for n in range(2, rules + 1)]
    facts = steady_pairs({"p": None, "q": window}, rate, _LASER2_TIME_POINTS)
    return Workload("\n".join(program), facts, window, 2 * rate)


def _single_rule(window: int) -> str:
    return f"m(X,Y) :- [10] some p(X,Y), [{window}] always q(X,Y)."


# Every window is measured over the same time points, after the state of all is stable.
_WARM_UP, _LAST = 300, 500
# Longer than any window, so that windows of every size find the same number of runs.
_PERIOD = 150

# From this value on a reading is hot.
HOT = 90
_MACHINES = """
seen(S) :- [{n}] some temp(S,V).
hot(S)  :- [{n}] some temp(S,V), V >= 90.
calm(S) :- seen(S), not hot(S).
"""

_BUSY = 100


def flat_diamond(window: int, rate: int) -> Workload:
    """Every fact is visible once, for the length of the window."""
    facts = unique_pairs(rate, _LAST)
    program = f"q(A,B) :- [{window}] some p(A,B)."
    return Workload(program, facts, window, rate, warm_up=_WARM_UP)


def flat_box(window: int, rate: int) -> Workload:
    """Runs of 149 time points for every window."""
    facts = interrupted(rate, _PERIOD, _LAST)
    program = f"q(A,B) :- [{window}] always p(A,B)."
    return Workload(program, facts, window, rate, warm_up=_WARM_UP)


def flat_join(window: int, rate: int) -> Workload:
    """About two matches for every fact, anywhere in the window."""
    facts = linked(rate, window, _LAST)
    program = f"q(A,C) :- [{window}] some p(A,B), [{window}] some p(B,C)."
    return Workload(program, facts, window, rate, warm_up=_WARM_UP)


def flat_negation(window: int, rate: int) -> Workload:
    """About four of ten facts are negated for a while, before or after they arrive."""
    facts = linked(rate, window, _LAST, marks=rate // 4)
    program = f"q(A,B) :- [{window}] some p(A,B), not [{window}] some r(B)."
    return Workload(program, facts, window, rate + rate // 4, warm_up=_WARM_UP)


def flat_tuples(window: int, rate: int) -> Workload:
    """As many tuples as arrive at the time points of the window."""
    facts = unique_pairs(rate, _LAST)
    program = f"q(A,B) :- [#{(window + 1) * rate}] some p(A,B)."
    return Workload(program, facts, window, rate, warm_up=_WARM_UP)


def sparse(window: int, rate: int, *, rules: int = 3) -> Workload:
    """Few facts at every time point, with one, three or nine rules."""
    last = 4000 if rate < 100 else 400
    if rules == 9:
        return Workload(_COOLING.format(n=window), readings(rate, last), window, rate)
    program = _MACHINES.format(n=window)
    if rules == 1:
        program = program.strip().splitlines()[0]
    return Workload(program, sensors(regular(rate, last), keys=20), window, rate)


def silence(window: int, gap: int) -> Workload:
    """A hundred time points with ten facts each, a long gap, and ten more facts."""
    program = _MACHINES.format(n=window) + (
        "steady(S) :- [3] always temp(S,_).\n"
        "latest(S,V) :- [#20] some temp(S,V).\n"
        "quiet :- not [5] some temp(_,_).\n"
    )
    times = np.concatenate([regular(10, _BUSY), np.full(10, _BUSY + gap + 1)])
    return Workload(program, sensors(times, keys=20), window, 10)


class OverTheGap:
    """The step of the interval engine over the gap of `silence`, measured."""

    name = "interval"
    times = None

    def __init__(self, workload: Workload) -> None:
        self._checked = workload.checked()
        self._last = workload.facts.last
        ((signature, table),) = workload.facts.segments
        cut = workload.rate * _BUSY
        self._before = ColumnBatch([Segment(signature, table.slice(0, cut))], _BUSY)
        self._after = ColumnBatch([Segment(signature, table.slice(cut))], self._last)

    def answer(self) -> Answer:
        session = Session(self._checked, engine="interval")
        changes = Changes()
        for batch, t in ((self._before, _BUSY), (self._after, self._last)):
            session.append(batch)
            answers = interval_answers(session.advance(t))
            changes.add(answers)
        changes.close(answers)
        return changes.answer()

    def run(self) -> Run:
        session = Session(self._checked, engine="interval")
        session.append(self._before)
        found = began(interval_answers(session.advance(_BUSY)))
        watch = Stopwatch()
        with watch.running():
            session.append(self._after)
            found += began(interval_answers(session.advance(self._last)))
        facts, time_points = len(self._after), self._last - _BUSY
        more = {"milliseconds": round(watch.seconds * 1000, 3)}
        size = session.engine.stats()["bytes"]
        return Run(watch.seconds, watch.cpu_seconds, facts, time_points, found, size, more)


GROUPS = 200
_SEED = 2017


def loads(rate: int, last: int, groups: int = GROUPS) -> Facts:
    """`load(M,V)`: as many numbers of every group at every time point, none of them twice."""
    each, count = max(rate // groups, 1), rate * last
    turns = np.arange(count) % (groups * each)
    values = np.random.default_rng(_SEED).integers(0, 1000, count) * each + turns // groups
    return stream({"load": [turns % groups, values]}, {"load": regular(rate, last)}, last)


def visits(rate: int, last: int, groups: int) -> Facts:
    """`load(M,V)`: groups that come, stay for some time points, and pause."""
    random = np.random.default_rng(_SEED)
    groups_here = np.sort(random.integers(0, groups, (last, rate)) // 8 * 8, axis=1)
    # A few groups come again and again for a while, then others do.
    keys = (groups_here + np.arange(last)[:, np.newaxis] // 20) % groups
    values = random.integers(0, 1000, rate * last)
    return stream({"load": [keys.ravel(), values]}, {"load": regular(rate, last)}, last)


def time_window(
    function: AggregateFunction, window: int, rate: int, *, measured: int = MEASURED
) -> Workload:
    """A number of every group over the last time points."""
    facts = loads(rate, window + 1 + measured)
    return _of_numbers(Measure(function, "time"), f"[{window}]", facts, window, rate)


def tuple_window(
    function: AggregateFunction, window: int, rate: int, *, measured: int = MEASURED
) -> Workload:
    """A number of every group over its last tuples."""
    each = max(rate // GROUPS, 1)
    facts = loads(rate, window // each + 1 + measured)
    warm_up = facts.last - measured
    return _of_numbers(
        Measure(function, "tuples"), f"[#{window} by M]", facts, window, rate, warm_up
    )


def sessions(window: int, rate: int, *, measured: int = MEASURED) -> Workload:
    """How many facts every finished session has; the window is the gap between sessions."""
    facts = visits(rate, window + 1 + measured, 40 * rate)
    text = f"[ended session {window} by M]"
    return _of_numbers(Measure("count", "sessions"), text, facts, window, rate)


def _of_numbers(
    measure: Measure,
    text: str,
    facts: Facts,
    window: int,
    rate: int,
    warm_up: int | None = None,
) -> Workload:
    what = "count of" if measure.function == "count" else f"{measure.function} of V in"
    program = f"q(M,N) :- N = {what} {text} load(M,V) by M."
    return Workload(program, facts, window, rate, "numbers", warm_up=warm_up, measure=measure)

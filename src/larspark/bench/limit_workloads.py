"""Workloads that look for limits: windows of any size, little input, long silence."""

import numpy as np

from larspark.base.facts import ColumnBatch, Segment
from larspark.bench.checksums import Answer
from larspark.bench.generated_streams import interrupted, linked, regular, sensors, unique_pairs
from larspark.bench.interval_contestant import Changes, began, interval_answers, stats
from larspark.bench.stopwatch import Stopwatch
from larspark.bench.workload import Run, Workload
from larspark.run.session import Session

# Every window is measured over the same time points, after the state of all has settled.
_SETTLING, _LAST = 300, 500
# Longer than any window, so that every size of window finds as many runs.
_PERIOD = 150

_MACHINES = """
seen(S) :- [{n}] some temp(S,V).
hot(S)  :- [{n}] some temp(S,V), V >= 90.
calm(S) :- seen(S), not hot(S).
"""

_BUSY = 100


def flat_diamond(window: int, rate: int) -> Workload:
    """Every fact is seen once, for as long as the window."""
    facts = unique_pairs(rate, _LAST)
    program = f"q(A,B) :- [{window}] some p(A,B)."
    return Workload(program, facts, window, rate, settling=_SETTLING)


def flat_box(window: int, rate: int) -> Workload:
    """Runs of 149 time points, whatever the window."""
    facts = interrupted(rate, _PERIOD, _LAST)
    program = f"q(A,B) :- [{window}] always p(A,B)."
    return Workload(program, facts, window, rate, settling=_SETTLING)


def flat_join(window: int, rate: int) -> Workload:
    """About two matches for every fact, anywhere in the window."""
    facts = linked(rate, window, _LAST)
    program = f"q(A,C) :- [{window}] some p(A,B), [{window}] some p(B,C)."
    return Workload(program, facts, window, rate, settling=_SETTLING)


def flat_negation(window: int, rate: int) -> Workload:
    """About four facts of ten are forbidden for a while, before they came or afterwards."""
    facts = linked(rate, window, _LAST, marks=rate // 4)
    program = f"q(A,B) :- [{window}] some p(A,B), not [{window}] some r(B)."
    return Workload(program, facts, window, rate + rate // 4, settling=_SETTLING)


def flat_tuples(window: int, rate: int) -> Workload:
    """As many tuples as arrive at the time points of the window."""
    facts = unique_pairs(rate, _LAST)
    program = f"q(A,B) :- [#{(window + 1) * rate}] some p(A,B)."
    return Workload(program, facts, window, rate, settling=_SETTLING)


def sparse(window: int, rate: int) -> Workload:
    """Few facts at every time point, three rules."""
    facts = sensors(regular(rate, 4000), keys=20)
    return Workload(_MACHINES.format(n=window), facts, window, rate)


def silence(window: int, gap: int) -> Workload:
    """A hundred time points with ten facts each, nothing for a long time, and ten more."""
    program = _MACHINES.format(n=window) + (
        "steady(S) :- [3] always temp(S,_).\n"
        "latest(S,V) :- [#20] some temp(S,V).\n"
        "quiet :- not [5] some temp(_,_).\n"
    )
    times = np.concatenate([regular(10, _BUSY), np.full(10, _BUSY + gap + 1)])
    return Workload(program, sensors(times, keys=20), window, 10)


class OverTheGap:
    """The step of the interval engine that leads over the gap of `silence`, by the clock."""

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
        size = stats(session).bytes
        return Run(watch.seconds, watch.cpu_seconds, facts, time_points, found, size, more)

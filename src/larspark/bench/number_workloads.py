"""Workloads of aggregates: numbers of 200 groups over time, tuple and session windows."""

import numpy as np

from larspark.bench.generated_streams import Facts, regular, stream
from larspark.bench.workload import Measure, Workload
from larspark.language.tree import AggregateFunction

GROUPS = 200
MEASURED = 200
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
    return _workload(Measure(function, "time"), f"[{window}]", facts, window, rate)


def tuple_window(
    function: AggregateFunction, window: int, rate: int, *, measured: int = MEASURED
) -> Workload:
    """A number of every group over its last tuples."""
    each = max(rate // GROUPS, 1)
    facts = loads(rate, window // each + 1 + measured)
    settling = facts.last - measured
    return _workload(
        Measure(function, "tuples"), f"[#{window} by M]", facts, window, rate, settling
    )


def sessions(window: int, rate: int, *, measured: int = MEASURED) -> Workload:
    """How many facts every finished session has; the window is the gap between sessions."""
    facts = visits(rate, window + 1 + measured, 40 * rate)
    text = f"[ended session {window} by M]"
    return _workload(Measure("count", "sessions"), text, facts, window, rate)


def _workload(
    measure: Measure,
    text: str,
    facts: Facts,
    window: int,
    rate: int,
    settling: int | None = None,
) -> Workload:
    what = "count of" if measure.function == "count" else f"{measure.function} of V in"
    program = f"q(M,N) :- N = {what} {text} load(M,V) by M."
    return Workload(program, facts, window, rate, "numbers", settling=settling, measure=measure)

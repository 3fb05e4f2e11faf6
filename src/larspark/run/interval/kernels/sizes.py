"""How many time points a window has: what a count has to reach for `always`."""

from larspark.run.interval.kernels.compile import helper
from larspark.run.interval.kernels.layout import (
    FOREVER,
    NONE,
    Ints,
)

# The question: one line of numbers. `PAST` and `FUTURE` of NONE are without bound; an `END` of NONE
# is the evaluation time itself.
KIND, START, PAST, FUTURE, EVERY, END = 0, 1, 2, 3, 4, 5
COUNT_ONE, COUNT_WINDOW = 0, 1


@helper
def window_bounds(question: Ints, t: int) -> tuple[int, int]:
    """The first and the last time point of the window at t; the last may lie before the first."""
    pivot = t // question[EVERY] * question[EVERY]
    low = question[START]
    if question[PAST] != NONE:
        low = max(low, pivot - question[PAST])
    high = t if question[END] == NONE else question[END]
    if question[FUTURE] != NONE:
        high = min(high, pivot + question[FUTURE])
    return low, high


@helper
def first_of_size(question: Ints, wanted: int, low: int, high: int) -> tuple[int, int]:
    """The first stretch of [low, high] where the window has `wanted` time points.

    There may be more after it. Without any, a stretch after `high` comes back.
    """
    if question[EVERY] > 1:
        for t in range(low, high + 1):
            first, last = window_bounds(question, t)
            if last - first + 1 == wanted:
                return t, t
        return high + 1, high + 1
    # The size of a sliding window is linear in t between the time point where it leaves the start
    # of the timeline behind, and the one where it reaches the end.
    leaves = question[START] + question[PAST] if question[PAST] != NONE else FOREVER
    reaches = FOREVER
    if question[END] != NONE:
        reaches = question[END] - question[FUTURE] if question[FUTURE] != NONE else -FOREVER
    position = low
    while position <= high:
        until = high
        if position <= leaves:
            until = min(until, leaves)
        if position <= reaches:
            until = min(until, reaches)
        slope = int(position <= reaches) - int(position > leaves)
        first, last = window_bounds(question, position)
        missing = wanted - (last - first + 1)
        if missing == 0:
            return (position, until) if slope == 0 else (position, position)
        if 0 < missing * slope <= until - position:
            return position + missing * slope, position + missing * slope
        position = until + 1
    return high + 1, high + 1

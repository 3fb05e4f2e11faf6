"""Kernels that let rows pass: those that compare well, and those whose time point is one."""

import numpy as np

from larspark.run.interval.kernels.compile import inlined, kernel
from larspark.run.interval.kernels.layout import FROM, NONE, TO, Ints, put

# Comparisons by number; the complement of each is its neighbour.
EQUAL, UNEQUAL, LESS, NOT_LESS, MORE, NOT_MORE = 0, 1, 2, 3, 4, 5

# The two lowest bits of a code say what kind of constant it is; 0 is an integer.
_TAG, _TAG_BITS = 3, 2


@inlined
def _compares(comparison: int, left: int, right: int) -> bool:
    if comparison == EQUAL:
        return left == right
    if comparison == UNEQUAL:
        return left != right
    if comparison == LESS:
        return left < right
    if comparison == NOT_LESS:
        return left >= right
    if comparison == MORE:
        return left > right
    return left <= right


@kernel
def compare(batch: Ints, comparison: int, left: int, right: int, code: int) -> tuple[Ints, bool]:
    """The rows whose column `left` compares well with column `right`, or with a code if it is NONE.

    Equal constants have equal codes, and codes of integers are ordered like the integers. Where an
    order is asked for and something else comes, there is no answer: that is told by False.
    """
    out = np.empty(batch.shape, np.int64)
    count = 0
    in_order = comparison > UNEQUAL
    for source in range(batch.shape[0]):
        value = batch[source, left]
        other = code if right == NONE else batch[source, right]
        if in_order and (value | other) & _TAG != 0:
            return out[:0], False
        if _compares(comparison, value, other):
            put(out, count, batch, source, batch[source, FROM], batch[source, TO])
            count += 1
    return out[:count], True


@kernel
def in_timeline(batch: Ints, column: int, start: int, end: int, moves: bool, pins: bool) -> Ints:
    """The rows whose column is the code of a time point in [start, end].

    If the timeline moves with the evaluation time, a row holds from its time point on. If the
    column pins the row, the time point itself takes the place of its code.
    """
    out = np.empty(batch.shape, np.int64)
    count = 0
    for source in range(batch.shape[0]):
        code = batch[source, column]
        time = code >> _TAG_BITS
        if code & _TAG != 0 or time < start or time > end:
            continue
        low, high = batch[source, FROM], batch[source, TO]
        if moves:
            low = max(low, time)
            if time > high:
                continue
        put(out, count, batch, source, low, high)
        if pins:
            out[count, column] = time
        count += 1
    return out[:count]


@kernel
def cut(batch: Ints, first: int, last: int, out: Ints, count: int) -> int:
    """Write the rows that hold within [first, last], cut to it, to the output from `count` on.

    Gives how many lines the output has then; the caller has made sure that there is room.
    """
    for source in range(batch.shape[0]):
        low, high = max(batch[source, FROM], first), min(batch[source, TO], last)
        if low <= high:
            put(out, count, batch, source, low, high)
            count += 1
    return count


@kernel
def full_windows(batch: Ints, since: Ints, start: int, past: int) -> Ints:
    """The rows as far as the run of time points they belong to has filled the window behind them.

    `since` tells when the run of each row began. A run from the start of the timeline is full from
    its first time point on.
    """
    out = np.empty(batch.shape, np.int64)
    count = 0
    for source in range(batch.shape[0]):
        low, high = batch[source, FROM], batch[source, TO]
        if since[source] > start:
            low = max(low, since[source] + past)
        if low <= high:
            put(out, count, batch, source, low, high)
            count += 1
    return out[:count]


@kernel
def code_integers(numbers: Ints, rows: Ints, column: int, limit: int) -> bool:
    """Write the codes of integers into a column; False when one is not below the limit."""
    for line in range(numbers.shape[0]):
        number = numbers[line]
        if number >= limit or number <= -limit:
            return False
        rows[line, column] = number << _TAG_BITS
    return True

"""Reading rows off a batch: select, restrict to a window and to the timeline, and project.

Whoever takes rows in reads them itself, so many at a time as the first-level cache holds, and
nothing in between is written down.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel
from larspark.run.interval.kernels.layout import FOREVER, FROM, KEYS, NONE, TO, Ints

# The column of the time point in the rows of pinned atoms.
TIME = 2
# Stands for the time point, as the code of an integer, among columns.
PICK_TIME = -2

# The numbers of a reading begin with its frame. `MODE` tells how the evaluation times follow from
# the time point, `PAST` and `FUTURE` (NONE: without bound) and `EVERY` are those of the window. The
# timeline is from `START` to `END`, or if it `MOVES` to the evaluation time. If a frame `PINS`
# rows, the first column that is picked is a time point, and comes out as such. Then the numbers of
# tests and of columns to pick, the tests themselves, and the columns.
MODE, PAST, FUTURE, EVERY, START, END, MOVES, PINS, TESTS, PICKS, FIRST_TEST = range(11)
# The time point must be now, or lie in the window. Rows without a time point keep their interval;
# or it is a run of time points, each known from then on.
NOW, WINDOW, KEEP, RUN = 0, 1, 2, 3

# A test is a line of four: which, a column, another column or NONE, and in that case a code.
TEST, LEFT, RIGHT, CODE, TEST_SIZE = 0, 1, 2, 3, 4
# Comparisons by number; the complement of each is its neighbour. And a test whether the code of a
# time point is in the timeline.
EQUAL, UNEQUAL, LESS, NOT_LESS, MORE, NOT_MORE, WITHIN = 0, 1, 2, 3, 4, 5, 6

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


@inlined
def _value(batch: Ints, source: int, column: int) -> int:
    if column == PICK_TIME:
        return batch[source, TIME] << _TAG_BITS
    return batch[source, column]


@inlined
def _not_before(t: int, every: int) -> int:
    """The first multiple of `every` that is not before t; division takes long, so seldom."""
    if every == 1:
        return t
    return -(-t // every) * every


@helper
def _pass_test(batch: Ints, reading: Ints, at: int, lines: Ints, count: int) -> int:
    """Keep those of the lines that pass the test which stands at a place of the reading.

    Gives how many, or NONE if there is no answer.
    """
    which, left, right = reading[at + TEST], reading[at + LEFT], reading[at + RIGHT]
    code, start, end = reading[at + CODE], reading[START], reading[END]
    kept = 0
    for place in range(count):
        source = lines[place]
        value = _value(batch, source, left)
        lines[kept] = source
        if which == WITHIN:
            time = value >> _TAG_BITS
            kept += int(value & _TAG == 0 and start <= time and time <= end)
            continue
        other = code if right == NONE else _value(batch, source, right)
        if which > UNEQUAL and (value | other) & _TAG != 0:
            return NONE
        kept += int(_compares(which, value, other))
    return kept


@helper
def _restrict(batch: Ints, reading: Ints, lines: Ints, count: int, out: Ints) -> int:
    """Write the evaluation times of lines, and keep those that have any; gives how many."""
    mode, past, future, every = reading[MODE], reading[PAST], reading[FUTURE], reading[EVERY]
    kept = 0
    for place in range(count):
        source = lines[place]
        low, high = max(out[place, FROM], batch[source, FROM]), batch[source, TO]
        if mode != KEEP:
            first, last = batch[source, FROM], batch[source, TO]
            if mode != RUN:
                first = last = batch[source, TIME]
            if future != NONE:
                low = max(low, _not_before(first - future, every))
            if mode == RUN:
                high = FOREVER
            if past != NONE:
                high = min(high, _not_before(last + past + 1, every) - 1)
            if mode == NOW:
                low, high = max(low, first), min(high, last)
        lines[kept] = source
        out[kept, FROM] = low
        out[kept, TO] = min(high, FOREVER)
        kept += int(low <= high)
    return kept


@helper
def read_lines(batch: Ints, begin: int, stop: int, reading: Ints, lines: Ints, out: Ints) -> int:
    """Read the lines [begin, stop) of a batch into the output; gives how many rows come out.

    Test by test and column by column, over the numbers of the `lines` that are left: such loops are
    short and always go the same way. Equal constants have equal codes, and codes of integers are
    ordered like the integers. Where an order is asked for and something else comes, there is no
    answer: that is told by NONE.
    """
    count = stop - begin
    picks = FIRST_TEST + TEST_SIZE * reading[TESTS]
    for place in range(count):
        lines[place] = begin + place
    for at in range(FIRST_TEST, picks, TEST_SIZE):
        count = _pass_test(batch, reading, at, lines, count)
        if count == NONE:
            return NONE
    for place in range(count):
        out[place, FROM] = -FOREVER
    if reading[MOVES] != 0:
        # A time point is in the timeline from when the evaluation time has come to it.
        for at in range(FIRST_TEST, picks, TEST_SIZE):
            if reading[at + TEST] == WITHIN:
                for place in range(count):
                    time = _value(batch, lines[place], reading[at + LEFT]) >> _TAG_BITS
                    out[place, FROM] = max(out[place, FROM], time)
    count = _restrict(batch, reading, lines, count, out)
    for number in range(reading[PICKS]):
        column = reading[picks + number]
        for place in range(count):
            out[place, KEYS + number] = _value(batch, lines[place], column)
    if reading[PINS] != 0:
        for place in range(count):
            out[place, KEYS] >>= _TAG_BITS
    return count


@kernel
def scan(batch: Ints, reading: Ints) -> tuple[Ints, bool]:
    """All rows that are read off a batch; False when a comparison had no answer."""
    out = np.empty((batch.shape[0], KEYS + reading[PICKS]), np.int64)
    lines = np.empty(batch.shape[0], np.int64)
    count = read_lines(batch, 0, batch.shape[0], reading, lines, out)
    return out[: max(count, 0)], count != NONE

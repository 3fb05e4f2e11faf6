"""Row programs: filter rows of a batch, restrict them to a window and the timeline, and project.

The kernel that adds the result runs the row program itself, on as many rows at a time as the
first-level cache holds, so that no intermediate result is stored.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel
from larspark.run.interval.kernels.layout import FOREVER, FROM, KEYS, NONE, TO, Ints

# The column of the time point in the rows of pinned atoms.
TIME = 2
# Stands for the time point, as the code of an integer, among columns.
PICK_TIME = -2

# A row program begins with its frame. `MODE` says how the evaluation times follow from the time
# point; `PAST` and `FUTURE` (NONE: without bound) and `EVERY` are those of the window. The timeline
# is from `START` to `END`, or up to the evaluation time if it `MOVES`. If `PINS` is set, the first
# picked column is a time point, and is decoded. Then the numbers of tests and of picked columns,
# the tests, and the columns.
MODE, PAST, FUTURE, EVERY, START, END, MOVES, PINS, TESTS, PICKS, FIRST_TEST = range(11)
# The time point must be the evaluation time (NOW) or lie in the window (WINDOW). Rows without a
# time point keep their interval (KEEP), or it is a run of time points, each known from then on
# (RUN).
NOW, WINDOW, KEEP, RUN = 0, 1, 2, 3

# A test has four numbers: a comparison, a column, another column or NONE, and then a code.
TEST, LEFT, RIGHT, CODE, TEST_SIZE = 0, 1, 2, 3, 4
# Comparisons by number; the complement of each is its neighbour. And a test whether the code of a
# time point is in the timeline.
EQUAL, UNEQUAL, LESS, NOT_LESS, MORE, NOT_MORE, WITHIN = 0, 1, 2, 3, 4, 5, 6

# The two lowest bits of a code say what kind of constant it is; 0 is an integer.
_TAG, _TAG_BITS = 3, 2
_TABLE, _FLOAT = 1, 2
# How `interning` squeezes floats: magnitude and mantissa in bits, the exponent field of 1.0, and
# the integer from which on floats miss integers.
_MAGNITUDE, _MANTISSA_BITS, _ZERO_EXPONENT, _EXACT = (1 << 61) - 1, 52, 255, 1 << 53


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


@helper
def _order_key(code: int) -> int:
    """A number for the code of a number: they are ordered like the numbers.

    It is made of the bits of the float with this value, as `interning` squeezes them; NONE stands
    for an integer that no float has.
    """
    number = code >> _TAG_BITS
    if code & _TAG == _FLOAT:
        size = (number & _MAGNITUDE) + 2
    else:
        if number == 0:
            return 0
        size = abs(number)
        if size >= _EXACT:
            return NONE
        exponent = 0
        while size >> (exponent + 1) != 0:
            exponent += 1
        mantissa = (size << (_MANTISSA_BITS - exponent)) & ((1 << _MANTISSA_BITS) - 1)
        size = ((exponent + _ZERO_EXPONENT) << _MANTISSA_BITS) + mantissa + 2
    return size if number > 0 else -size


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
def _pass_test(batch: Ints, program: Ints, at: int, lines: Ints, count: int) -> int:
    """Keep the lines that pass the test at a position of the program.

    Returns how many, or NONE if compiled code cannot compare the values.
    """
    which, left, right = program[at + TEST], program[at + LEFT], program[at + RIGHT]
    code, start, end = program[at + CODE], program[START], program[END]
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
            if (value | other) & _TABLE != 0:
                return NONE
            value, other = _order_key(value), _order_key(other)
            if value == NONE or other == NONE:
                return NONE
        kept += int(_compares(which, value, other))
    return kept


@helper
def _restrict(batch: Ints, program: Ints, lines: Ints, count: int, out: Ints) -> int:
    """Write the evaluation times of lines, and keep those that have any; returns how many."""
    mode, past, future, every = program[MODE], program[PAST], program[FUTURE], program[EVERY]
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
def run_program(batch: Ints, begin: int, stop: int, program: Ints, lines: Ints, out: Ints) -> int:
    """Run a row program over lines [begin, stop) of a batch; returns the number of result rows.

    Test by test and column by column, over the numbers of the remaining `lines`: such loops are
    short and branch predictably. Equal constants have equal codes, and codes of integers are
    ordered like the integers. NONE is returned if an order is asked for between constants that are
    no numbers, or too large.
    """
    count = stop - begin
    picks = FIRST_TEST + TEST_SIZE * program[TESTS]
    for place in range(count):
        lines[place] = begin + place
    for at in range(FIRST_TEST, picks, TEST_SIZE):
        count = _pass_test(batch, program, at, lines, count)
        if count == NONE:
            return NONE
    for place in range(count):
        out[place, FROM] = -FOREVER
    if program[MOVES] != 0:
        # A time point is in the timeline once the evaluation time has reached it.
        for at in range(FIRST_TEST, picks, TEST_SIZE):
            if program[at + TEST] == WITHIN:
                for place in range(count):
                    time = _value(batch, lines[place], program[at + LEFT]) >> _TAG_BITS
                    out[place, FROM] = max(out[place, FROM], time)
    count = _restrict(batch, program, lines, count, out)
    for number in range(program[PICKS]):
        column = program[picks + number]
        for place in range(count):
            out[place, KEYS + number] = _value(batch, lines[place], column)
    if program[PINS] != 0:
        for place in range(count):
            out[place, KEYS] >>= _TAG_BITS
    return count


@kernel
def scan(batch: Ints, program: Ints) -> tuple[Ints, bool]:
    """The result of a row program; False if compiled code could not compare some values."""
    out = np.empty((batch.shape[0], KEYS + program[PICKS]), np.int64)
    lines = np.empty(batch.shape[0], np.int64)
    count = run_program(batch, 0, batch.shape[0], program, lines, out)
    return out[: max(count, 0)], count != NONE

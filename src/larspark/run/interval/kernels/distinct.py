"""The kernel that finds elements which are there already."""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel
from larspark.run.interval.kernels.layout import FROM, NONE, TO, Ints, Lines, mix, put
from larspark.run.interval.kernels.scan import TIME


@inlined
def _same(rows: Ints, row: int, found: Ints, line: int) -> bool:
    for column in range(TIME, rows.shape[1]):
        if rows[row, column] != found[line, column]:
            return False
    return True


@helper
def _pass_first(rows: Ints, places: Lines, found: Ints, lines: Ints) -> int:
    """Write each element once, with the number of its line; gives how many there are."""
    mask = places.shape[0] - 1
    # Until it is known how many lines there are, their array holds the buckets.
    for row in range(rows.shape[0]):
        state = 0
        for column in range(TIME, rows.shape[1]):
            state = mix(state, rows[row, column])
        lines[row] = state & mask
    count = 0
    for row in range(rows.shape[0]):
        bucket = lines[row]
        line = places[bucket]
        while line != NONE and not _same(rows, row, found, line):
            bucket = (bucket + 1) & mask
            line = places[bucket]
        if line == NONE:
            places[bucket] = count
            put(found, count, rows, row, rows[row, FROM], rows[row, TO])
            lines[count] = row
            count += 1
    return count


@kernel
def first_arrivals(rows: Ints, found: Ints, lines: Ints) -> int:
    """Write the rows of elements without those that came before, and the numbers of their lines.

    Gives how many there are.
    """
    size = 16
    while size < 2 * rows.shape[0]:
        size *= 2
    return _pass_first(rows, np.full(size, NONE, np.int32), found, lines)

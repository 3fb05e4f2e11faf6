"""The kernel that finds elements which are there already."""

import numpy as np

from larspark.run.interval.kernels.compile import inlined, kernel
from larspark.run.interval.kernels.layout import NONE, Ints, mix
from larspark.run.interval.kernels.scan import TIME


@inlined
def _same(lines: Ints, line: int, other: int) -> bool:
    for column in range(TIME, lines.shape[1]):
        if lines[line, column] != lines[other, column]:
            return False
    return True


@kernel
def first_arrivals(rows: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Elements, as rows of pinned atoms and their order, without those that came before."""
    size = 16
    while size < 2 * rows.shape[0]:
        size *= 2
    places = np.full(size, NONE, np.int32)
    found, turns = np.empty(rows.shape, np.int64), np.empty(rows.shape[0], np.int64)
    count = 0
    for line in range(rows.shape[0]):
        state = 0
        for column in range(TIME, rows.shape[1]):
            state = mix(state, rows[line, column])
            found[count, column] = rows[line, column]
        bucket = state & (size - 1)
        while places[bucket] != NONE and not _same(found, count, places[bucket]):
            bucket = (bucket + 1) & (size - 1)
        if places[bucket] == NONE:
            places[bucket] = count
            for column in range(TIME):
                found[count, column] = rows[line, column]
            turns[count] = order[line]
            count += 1
    return found[:count], turns[:count]

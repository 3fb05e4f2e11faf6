"""The kernel that finds elements which are there already."""

import numpy as np

from larspark.run.interval.kernels.compile import inlined, kernel
from larspark.run.interval.kernels.layout import FROM, NONE, TO, Ints, mix, put
from larspark.run.interval.kernels.scan import TIME


@inlined
def _same(rows: Ints, row: int, found: Ints, line: int) -> bool:
    for column in range(TIME, rows.shape[1]):
        if rows[row, column] != found[line, column]:
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
    for row in range(rows.shape[0]):
        state = 0
        for column in range(TIME, rows.shape[1]):
            state = mix(state, rows[row, column])
        bucket = state & (size - 1)
        place = places[bucket]
        while place != NONE and not _same(rows, row, found, place):
            bucket = (bucket + 1) & (size - 1)
            place = places[bucket]
        if place == NONE:
            places[bucket] = count
            put(found, count, rows, row, rows[row, FROM], rows[row, TO])
            turns[count] = order[row]
            count += 1
    return found[:count], turns[:count]

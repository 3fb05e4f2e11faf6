"""Where things stand in the arrays that kernels share.

A *batch* holds rows with their evaluation times: `FROM`, `TO`, then the key columns. A *store*
keeps such rows in the same form, one after the other as they come, and beside them links:

    rows   FROM | TO | key columns ...
    links  next row in the same bucket of the hash table of keys | the same for every index | DUE

`DUE` chains rows to which something happens at the same time. Rows are never unlinked: a row that
is over is skipped, until all that are over are thrown out together.
"""

import numpy as np
from numpy.typing import NDArray

from larspark.run.interval.kernels.compile import helper

Ints = NDArray[np.int64]
Links = NDArray[np.int32]

# Later than every time point; sums of two of them still fit 64 bits.
FOREVER = 1 << 60
# Stands for the end of a row that was taken out.
DEAD = -(1 << 61)

FROM, TO, KEYS = 0, 1, 2

# The counters of a store: rows in use, those of them that were taken out, the time up to which
# everything due has happened, and a place for sums that nobody reads.
USED, BURIED, SETTLED, TOUCHED = 0, 1, 2, 3

NONE = -1

# How many time points ahead due rows are sorted; those due later wait in the last list.
RING = 256


@helper
def mix(state: int, value: int) -> int:
    """One step of the hash: multiply by the golden ratio, fold the high half onto the low."""
    state = (state ^ value) * -7046029254386353131
    return state ^ (state >> 32)


@helper
def enlarged(lines: Ints) -> Ints:
    """The same lines with room for as many again, and a few."""
    larger = np.empty((2 * lines.shape[0] + 8, lines.shape[1]), np.int64)
    larger[: lines.shape[0]] = lines
    return larger


@helper
def enlarged_line(line: Ints) -> Ints:
    """The same numbers with room for as many again, and a few."""
    larger = np.empty(2 * line.shape[0] + 8, np.int64)
    larger[: line.shape[0]] = line
    return larger


@helper
def put(out: Ints, count: int, rows: Ints, row: int, low: int, high: int) -> None:
    """Write a row with another interval as line number `count` of the output.

    Nothing is returned: handing arrays around costs more than the writing.
    """
    out[count, FROM] = low
    out[count, TO] = high
    for column in range(KEYS, rows.shape[1]):
        out[count, column] = rows[row, column]

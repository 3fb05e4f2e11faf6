"""Where things stand in the arrays that kernels share.

A *batch* holds rows of facts with their times: `FROM`, `TO`, then the key columns. A *store* keeps
such rows as well, one array row each, with links between them:

    FROM | TO | NEXT | DUE | key columns ... | (PREVIOUS, FOLLOWING) for every index

`NEXT` chains rows whose keys share a hash bucket, `DUE` chains rows that something happens to at
the same time. One row is one stretch of memory, because hash tables are bound by cache misses.
"""

import numpy as np
from numpy.typing import NDArray

from larspark.run.interval.kernels.compile import helper

Ints = NDArray[np.int64]

# Later than every time point; sums of two of them still fit 64 bits.
FOREVER = 1 << 60
# A row that is no longer there: it waits in its list of due rows to be freed.
DEAD = -(1 << 61)

# Columns of batches and of stores.
FROM, TO = 0, 1
BATCH_KEYS = 2
NEXT, DUE, KEYS = 2, 3, 4

# The counters of a store: rows ever used, the first free one of them, how many of them are free,
# how many hold, and the time up to which everything due has happened.
USED, FREE, IDLE, LIVE, SETTLED = 0, 1, 2, 3, 4

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
def put(out: Ints, count: int, batch: Ints, source: int, low: int, high: int) -> None:
    """Write a batch row with another interval as line number `count` of the output.

    Nothing is returned: handing arrays around costs more than the writing.
    """
    out[count, FROM] = low
    out[count, TO] = high
    for column in range(BATCH_KEYS, batch.shape[1]):
        out[count, column] = batch[source, column]

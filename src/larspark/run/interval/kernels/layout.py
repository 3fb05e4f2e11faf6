"""Where things stand in the arrays that kernels share.

A *batch* holds rows of facts with their times: `FROM`, `TO`, then the key columns. A *store* keeps
such rows as well, one array row each, with links between them:

    FROM | TO | NEXT | DUE | key columns ... | (PREVIOUS, FOLLOWING) for every index

`NEXT` chains rows whose keys share a hash bucket, `DUE` chains rows that something happens to at
the same time. One row is one stretch of memory, because hash tables are bound by cache misses.
"""

from larspark.run.interval.kernels.compile import helper

from numpy.typing import NDArray
import numpy as np

Ints = NDArray[np.int64]

# Later than every time point; sums of two of them still fit 64 bits.
FOREVER = 1 << 60
# A row that is no longer there: it waits in its list of due rows to be freed.
DEAD = -(1 << 61)

# Columns of batches and of stores.
FROM, TO = 0, 1
BATCH_KEYS = 2
NEXT, DUE, KEYS = 2, 3, 4

# The counters of a store: rows in use (with free ones between), the first free row, rows that
# hold, and the time up to which everything due has happened.
USED, FREE, LIVE, SETTLED = 0, 1, 2, 3

NONE = -1

# How many time points ahead due rows are sorted; those due later wait in the last list.
RING = 256


@helper
def mix(state: int, value: int) -> int:
    """One step of the hash: multiply by the golden ratio, fold the high half onto the low."""
    state = (state ^ value) * -7046029254386353131
    return state ^ (state >> 32)

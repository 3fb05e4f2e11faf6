"""Where things stand in the arrays that kernels share.

A *batch* holds rows with their evaluation times: `FROM`, `TO`, then the key columns.

A *store* keeps such rows in the same form in a ring: new ones come to its tail, and what is over
is dropped from its head. A row is known by its place in the row of all rows there ever were; in
hash tables and links stand the 32 lowest bits of that. Chains lead from newer to older rows, so a
chain ends where it leads to a place that is dropped, or that is not older; nothing is unlinked.
"""

import numpy as np
from numpy.typing import NDArray

from larspark.run.interval.kernels.compile import helper, inlined

Ints = NDArray[np.int64]
Places = NDArray[np.uint32]

# Later than every time point; sums of two of them still fit 64 bits.
FOREVER = 1 << 60
# Stands for the end of a row that was taken out.
DEAD = -(1 << 61)

FROM, TO, KEYS = 0, 1, 2

# The counters of a store: the places of its oldest row and of the next one, the place of the oldest
# lap of the ring, the time up to which everything due has happened, the place from which on rows
# were not looked at since then, the place from which on rows hold only what was added last, a time
# point after which no row holds, how many rows were read, the line of a batch at which reading had
# to stop (NONE: nowhere), and a sum that nobody reads.
HEAD, TAIL, LAP, SETTLED, SEEN, FRESH, END, READ, UNREAD, TOUCHED = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

# Rows are looked up so many together: waiting for memory overlaps, and what was waited for is
# still in the first-level cache when it is used.
BLOCK = 128

NONE = -1

PLACE_MASK = (1 << 32) - 1

# How many time points ahead due rows are sorted; those due later wait in the last list. With a
# power of two the turn of a time point is found by masking.
RING = 256
TURNS = RING - 1


@inlined
def mix(state: int, value: int) -> int:
    """One step of the hash: multiply by the golden ratio, fold the high half onto the low."""
    state = (state ^ value) * -7046029254386353131
    return state ^ (state >> 32)


@inlined
def bucket_of(rows: Ints, row: int, mask: int) -> int:
    """Where in the hash table over all keys a row belongs."""
    state = 0
    for column in range(KEYS, rows.shape[1]):
        state = mix(state, rows[row, column])
    return state & mask


@inlined
def index_bucket(rows: Ints, row: int, columns: Ints, index: int, mask: int) -> int:
    """Where in the hash table over some columns a row belongs."""
    state = 0
    for number in range(columns.shape[1]):
        if columns[index, number] == NONE:
            break
        state = mix(state, rows[row, columns[index, number]])
    return state & mask


@inlined
def follow(place: int, head: int, limit: int) -> int:
    """How far from the head a place is; NONE when that is not below the limit."""
    offset = (place - head) & PLACE_MASK
    return (offset + 1) * int(offset < limit) - 1


@inlined
def slot_of(first: int, offset: int, capacity: int) -> int:
    """Where in the ring a row stands that is `offset` after the one in slot `first`."""
    return first + offset - capacity * int(first + offset >= capacity)


@helper
def enlarged(lines: Ints) -> Ints:
    """The same lines with room for as many again, and a few."""
    larger = np.empty((2 * lines.shape[0] + 8, lines.shape[1]), np.int64)
    for line in range(lines.shape[0]):
        for column in range(lines.shape[1]):
            larger[line, column] = lines[line, column]
    return larger


@inlined
def put(out: Ints, count: int, rows: Ints, row: int, low: int, high: int) -> None:
    """Write a row with another interval as line number `count` of the output.

    Nothing is returned: handing arrays around costs more than the writing.
    """
    out[count, FROM] = low
    out[count, TO] = high
    for column in range(KEYS, rows.shape[1]):
        out[count, column] = rows[row, column]

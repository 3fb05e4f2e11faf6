"""Where things stand in the arrays that kernels share.

A *batch* holds rows with their evaluation times: `FROM`, `TO`, then the key columns.

A *store* keeps such rows in a ring, each with its links in the hash tables behind it, where one
look into memory finds both: new ones come to the tail, and what is over is dropped from the head. A
row is known by its place in the row of all rows there ever were; in hash tables and links stand the
32 lowest bits of that. Chains lead from newer to older rows, so a chain ends where it leads to a
place that is dropped, or that is not older. Nothing needs to be unlinked; whoever adds to a chain
takes out what is over, so that it stays short.

Kernels are handed the *sheet* of a store: its counters, and where its arrays are.
"""

import numpy as np
from numpy.typing import NDArray

from larspark.run.interval.kernels.compile import helper, inlined, maker
from larspark.run.interval.kernels.store_header import lines_at, numbers_at, places_at

Ints = NDArray[np.int64]
Places = NDArray[np.uint32]
Lines = NDArray[np.int32]

# Later than every time point; sums of two of them still fit 64 bits.
FOREVER = 1 << 60
# Stands for the end of a row that was taken out.
DEAD = -(1 << 61)

FROM, TO, KEYS = 0, 1, 2

# The sheet of a store begins with its counters: the places of its oldest row and of the next one,
# the place of the oldest lap of the ring, the time up to which time has passed, the place from
# which on rows were not looked at since then, the place from which on rows hold only what was added
# last, a time point after which no row holds, how many rows were read, the line of a batch at which
# reading had to stop (NONE: nowhere), a sum that nobody reads, the column in which links begin, the
# number of the next chunk that was never used (0: the store tells nothing), the first of those that
# are free again, how many places stand in chunks, and what adding lacked to go on: room in the
# store, lines to tell what is new, or room in a store that follows.
HEAD, TAIL, LAP, SETTLED, SEEN, FRESH, END, READ, UNREAD, TOUCHED = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
LINKS, CHUNKS, FREE, WAITING, LACKING = 10, 11, 12, 13, 14
NO_ROOM, NO_LINES, NO_ROOM_BEHIND = 0, 1, 2
# Then its arrays, each by its address and its shape: rows, heads of the chains in every hash table,
# the columns of those over some columns, lists of due rows, and the chunks of these.
ROWS, HEADS, COLUMNS, DUE, CHUNK_LINES = 15, 18, 21, 24, 26
STORE_SHEET = 29

# Rows are looked up so many together: waiting for memory overlaps, and what was waited for is
# still in the first-level cache when it is used.
BLOCK = 64
# So many rows of a chain are fetched ahead; most chains are shorter.
DEPTH = 4

NONE = -1

PLACE_MASK = (1 << 32) - 1

# How many time points ahead due rows are sorted; those due later wait in the last list. With a
# power of two the turn of a time point is found by masking.
RING = 256
TURNS = RING - 1

# A list of due rows is a chain of chunks, each as large as a line of the cache: the number of the
# next chunk, how many places of rows there are, and those. The number 0 stands for no chunk.
CHUNK_NEXT, CHUNK_COUNT, CHUNK_PLACES, CHUNK = 0, 1, 2, 16
IN_CHUNK = CHUNK - CHUNK_PLACES


@maker
def rows_of(store: Ints) -> Ints:
    """The rows of a store, with their links."""
    return lines_at(store[ROWS], store[ROWS + 1], store[ROWS + 2])


@maker
def heads_of(store: Ints) -> Places:
    """Where the chains of every hash table begin."""
    return places_at(store[HEADS], store[HEADS + 1], store[HEADS + 2])


@maker
def columns_of(store: Ints) -> Ints:
    """The columns of the hash tables over some columns."""
    return lines_at(store[COLUMNS], store[COLUMNS + 1], store[COLUMNS + 2])


@maker
def due_of(store: Ints) -> Ints:
    """The first chunk of the list of every turn."""
    return numbers_at(store[DUE], store[DUE + 1])


@maker
def chunks_of(store: Ints) -> Places:
    """The chunks of lists."""
    return places_at(store[CHUNK_LINES], store[CHUNK_LINES + 1], store[CHUNK_LINES + 2])


@inlined
def mix(state: int, value: int) -> int:
    """One step of the hash: multiply by the golden ratio, fold the high half onto the low."""
    state = (state ^ value) * -7046029254386353131
    return state ^ (state >> 32)


@inlined
def bucket_of(rows: Ints, row: int, links: int, mask: int) -> int:
    """Where in the hash table over all keys a row belongs; its keys end where links begin."""
    state = 0
    for column in range(KEYS, links):
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
def touch_chains(
    rows: Ints, counters: Ints, link: int, active: Ints, count: int, sum_of_reads: int
) -> None:
    """Read the first rows of `count` chains, which begin at these offsets from the head.

    One row of every chain is read before the next of any: waiting for memory overlaps, and the rows
    are at hand when they are looked at one chain after the other.
    """
    head = counters[HEAD]
    first, length = head - counters[LAP], counters[TAIL] - head
    for _ in range(DEPTH):
        for number in range(count):
            active[number] = slot_of(first, active[number], rows.shape[0])
        # The less there is to do in a loop besides reading, the more reads are under way at once.
        # A row may begin in one line of the cache and end in the next.
        for number in range(count):
            sum_of_reads += rows[active[number], FROM]
            active[number] = rows[active[number], link]
        kept = 0
        for number in range(count):
            older = follow(active[number], head, length)
            active[kept] = older
            kept += int(older != NONE)
        count = kept
    counters[TOUCHED] = sum_of_reads


@helper
def drop_ended(rows: Ints, counters: Ints, settled: int) -> None:
    """Give the room back of the oldest rows, as far as they ended before a time point.

    In a store that tells, they are there until that was told of them.
    """
    head, lap = counters[HEAD], counters[LAP]
    end = counters[SEEN] if counters[CHUNKS] > 0 else counters[TAIL]
    while head < end and rows[head - lap, TO] < settled:
        head += 1
        if head - lap == rows.shape[0]:
            lap = head
    counters[HEAD] = head
    counters[LAP] = lap


@maker
def enlarged(lines: Ints) -> Ints:
    """The same lines with room for as many again, and a few."""
    larger = np.empty((2 * lines.shape[0] + 8, lines.shape[1]), np.int64)
    for line in range(lines.shape[0]):
        for column in range(lines.shape[1]):
            larger[line, column] = lines[line, column]
    return larger


@inlined
def put(out: Ints, count: int, rows: Ints, row: int, low: int, high: int) -> None:
    """Write a row with another interval as line number `count` of the output, or an output in it.

    Nothing is returned: handing arrays around costs more than the writing.
    """
    out[count, FROM] = low
    out[count, TO] = high
    for column in range(KEYS, min(rows.shape[1], out.shape[1])):
        out[count, column] = rows[row, column]

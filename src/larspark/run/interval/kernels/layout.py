"""Memory layout of batches and stores, shared by all kernels.

A *batch* is a table of rows with their evaluation times: `FROM`, `TO`, then the key columns.

A *store* keeps such rows in a ring buffer, each with its hash chain links behind the key columns,
so that one memory access finds both. New rows are appended at the tail, expired rows are dropped
from the head. Every row has a monotonically increasing row id; hash tables and links hold its 32
lowest bits. Chains lead from newer to older rows: a chain ends at a link to a dropped row or to a
row that is not older. Nothing is unlinked when a row expires; adding to a chain removes the expired
rows it passes, so chains stay short.

Kernels receive the *header* of a store, an array of integers: counters, then the address and shape
of every other array. docs/development/kernels.md shows a store in memory.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from larspark.run.interval.kernels.addressing import array_at, row_ids_at, table_at
from larspark.run.interval.kernels.compile import helper, inlined, maker

Ints = NDArray[np.int64]
RowIds = NDArray[np.uint32]
EntryIds = NDArray[np.int32]

# Later than every time point; sums of two of them still fit 64 bits.
FOREVER = 1 << 60
# The end of a row that was removed.
DEAD = -(1 << 61)
NONE = -1

FROM, TO, KEYS = 0, 1, 2

# Counters in the header of a store.
HEAD = 0  # row id of the oldest row
TAIL = 1  # row id of the next row
LAP = 2  # row id of the row in slot 0 of the ring
EXPIRED_UPTO = 3  # time up to which rows are expired
UNSCHEDULED = 4  # first row id that is not on the timing wheel yet
FRESH = 5  # first row id of the rows that hold only what was added last
LAST_END = 6  # a time after which no row holds
ROWS_READ = 7  # rows added so far, duplicates included
STOPPED_AT = 8  # batch line at which a row program had to stop, or NONE
PREFETCHED = 9  # sink for prefetching reads, which the compiler would drop otherwise
LINK_COLUMN = 10  # column of the first hash chain link
CHUNKS_USED = 11  # next wheel chunk that was never used; 0: the store has no timing wheel
FREE_CHUNKS = 12  # first chunk of the free list
SCHEDULED = 13  # row ids on the wheel
SHORTAGE = 14  # why adding stopped: STORE_FULL, OUTPUT_FULL or FOLLOWER_FULL
RESUMED = 15  # 1: the next call goes on with a batch that stopped for lack of output
STORE_FULL, OUTPUT_FULL, FOLLOWER_FULL = 0, 1, 2
# Arrays in the header, each as address and shape.
ROWS = 16  # the ring of rows with their links
HEADS = 19  # for every hash table the newest row id of every bucket
COLUMNS = 22  # for every index its key columns, padded with NONE
WHEEL = 25  # for every slot of the timing wheel its newest chunk
CHUNK_TABLE = 27  # the chunks of the wheel
STORE_HEADER_SIZE = 30

# Rows are looked up in blocks: memory accesses overlap, and the fetched lines are still in the
# first-level cache when they are used.
BLOCK = 64
# How many rows of a chain are prefetched; most chains are shorter.
DEPTH = 4

ID_MASK = (1 << 32) - 1

# Slots of the timing wheel, one for each time point ahead; later ones share the last slot. A power
# of two, so that the slot of a time point is found by masking.
WHEEL_SIZE = 256
WHEEL_MASK = WHEEL_SIZE - 1

# A slot of the wheel is a list of chunks, each as large as a cache line: the number of the next
# chunk, how many row ids it holds, and these. Chunk 0 stands for the end of the list.
CHUNK_NEXT, CHUNK_COUNT, CHUNK_IDS, CHUNK = 0, 1, 2, 16
IN_CHUNK = CHUNK - CHUNK_IDS


class StoreArrays(NamedTuple):
    """The header of a store and the arrays it refers to."""

    header: Ints
    rows: Ints
    heads: RowIds
    columns: Ints
    wheel: Ints
    chunks: RowIds


@maker
def rows_of(header: Ints) -> Ints:
    """The ring of rows with their links."""
    return table_at(header[ROWS], header[ROWS + 1], header[ROWS + 2])


@maker
def arrays_of(header: Ints) -> StoreArrays:
    """All arrays of a store."""
    return StoreArrays(
        header,
        rows_of(header),
        row_ids_at(header[HEADS], header[HEADS + 1], header[HEADS + 2]),
        table_at(header[COLUMNS], header[COLUMNS + 1], header[COLUMNS + 2]),
        array_at(header[WHEEL], header[WHEEL + 1]),
        row_ids_at(header[CHUNK_TABLE], header[CHUNK_TABLE + 1], header[CHUNK_TABLE + 2]),
    )


@inlined
def slot_of(first: int, offset: int, capacity: int) -> int:
    """The ring slot of the row `offset` after the one in slot `first`."""
    return first + offset - capacity * int(first + offset >= capacity)


@helper
def drop_expired(rows: Ints, header: Ints, upto: int) -> None:
    """Drop the oldest rows that ended before a time point.

    A store with a timing wheel keeps a row until its end was emitted.
    """
    head, lap = header[HEAD], header[LAP]
    end = header[UNSCHEDULED] if header[CHUNKS_USED] > 0 else header[TAIL]
    while head < end and rows[head - lap, TO] < upto:
        head += 1
        if head - lap == rows.shape[0]:
            lap = head
    header[HEAD] = head
    header[LAP] = lap


@maker
def enlarged(lines: Ints) -> Ints:
    """The same lines in an array of twice the size, and a few."""
    larger = np.empty((2 * lines.shape[0] + 8, lines.shape[1]), np.int64)
    for line in range(lines.shape[0]):
        for column in range(lines.shape[1]):
            larger[line, column] = lines[line, column]
    return larger


@inlined
def put(out: Ints, line: int, rows: Ints, row: int, low: int, high: int) -> None:
    """Write a row with another interval as a line of the output.

    Nothing is returned: passing arrays around costs more than the writing.
    """
    out[line, FROM] = low
    out[line, TO] = high
    for column in range(KEYS, min(rows.shape[1], out.shape[1])):
        out[line, column] = rows[row, column]

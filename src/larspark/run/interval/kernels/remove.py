"""The kernel that takes intervals out of a cover.

    remove  [4,8] from {[1,9]}   gives {[1,3], [9,9]}

What is left before it stays where it was, what is left behind it becomes a row of its own.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, kernel
from larspark.run.interval.kernels.hash_lists import append, find_buckets, same_keys, wait_for_turn
from larspark.run.interval.kernels.layout import (
    BLOCK,
    CHUNKS,
    DEAD,
    FROM,
    HEAD,
    KEYS,
    LAP,
    NONE,
    SEEN,
    SETTLED,
    TAIL,
    TO,
    UNREAD,
    Ints,
    Places,
    chunks_of,
    columns_of,
    due_of,
    enlarged,
    follow,
    heads_of,
    put,
    rows_of,
    slot_of,
)
from larspark.run.interval.kernels.scan import PICKS, read_lines


@helper
def _remove_block(
    rows: Ints,
    heads: Places,
    chunks: Places,
    due: Ints,
    counters: Ints,
    block: Ints,
    source: int,
    stop: int,
    buckets: Ints,
    floor: int,
    pieces: Ints,
    count: int,
) -> tuple[int, int]:
    """Take rows [source, stop) of a block away; gives the row that was come to, and the pieces.

    It stops where there is no room to tell of a piece. The pieces of its row that were told are
    gone then, so that it can be come to again.
    """
    head, lap, capacity = counters[HEAD], counters[LAP], rows.shape[0]
    first, tail = head - lap, counters[TAIL]
    # Of the rows before this place something was told.
    told = counters[SEEN] if counters[CHUNKS] > 0 else head
    while source < stop:
        start, end = max(block[source, FROM], floor), block[source, TO]
        offset = NONE
        if start <= end:
            offset = follow(heads[0, buckets[source, 0]], head, tail - head)
        while offset != NONE:
            slot = slot_of(first, offset, capacity)
            began, ended = rows[slot, FROM], rows[slot, TO]
            if ended >= start and began <= end and same_keys(rows, slot, block, source):
                if count == pieces.shape[0]:
                    counters[TAIL] = tail
                    return source, count
                put(pieces, count, block, source, max(start, began), min(end, ended))
                count += 1
                if began >= start:
                    rows[slot, TO] = DEAD
                else:
                    rows[slot, TO] = start - 1
                    # It ends earlier than what it waits for.
                    if head + offset < told and began <= counters[SETTLED]:
                        wait_for_turn(
                            rows, slot, head + offset, chunks, due, counters, counters[SETTLED]
                        )
                if end < ended:
                    append(rows, heads, lap, tail, buckets, block, source, end + 1, ended)
                    tail += 1
            offset = follow(rows[slot, block.shape[1]], head, offset)
        source += 1
    counters[TAIL] = tail
    return source, count


@kernel
def cover_remove(store: Ints, batch: Ints, reading: Ints, floor: int) -> Ints:
    """Take away what is read off a batch from `floor` on; what was covered of it comes back.

    For every line of the batch the lists of due rows must have room for one place.
    """
    rows, heads, columns = rows_of(store), heads_of(store), columns_of(store)
    chunks, due = chunks_of(store), due_of(store)
    width = KEYS + reading[PICKS]
    pieces = np.empty((batch.shape[0], width), np.int64)
    block = np.empty((min(BLOCK, batch.shape[0]), width), np.int64)
    buckets = np.empty((block.shape[0], heads.shape[0]), np.int64)
    active = np.empty(block.shape[0], np.int64)
    store[UNREAD] = NONE
    count = 0
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        filled = read_lines(batch, begin, stop, reading, active, block)
        if filled == NONE:
            store[UNREAD] = begin
            break
        find_buckets(rows, heads, columns, store, block, filled, buckets, active)
        done = 0
        while done < filled:
            done, count = _remove_block(
                rows,
                heads,
                chunks,
                due,
                store,
                block,
                done,
                filled,
                buckets,
                floor,
                pieces,
                count,
            )
            if done < filled:
                pieces = enlarged(pieces)
    return pieces[:count]

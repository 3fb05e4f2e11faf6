"""The kernel that removes intervals from a store.

    remove  [4,8] from {[1,9]}   gives {[1,3], [9,9]}

What is left before the interval stays in its row, what is left after it becomes a row of its own.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, kernel, maker
from larspark.run.interval.kernels.hash_chains import append, find_buckets, follow, same_keys
from larspark.run.interval.kernels.layout import (
    BLOCK,
    CHUNKS_USED,
    DEAD,
    EXPIRED_UPTO,
    FROM,
    HEAD,
    KEYS,
    LAP,
    NONE,
    STOPPED_AT,
    TAIL,
    TO,
    UNSCHEDULED,
    Ints,
    StoreArrays,
    arrays_of,
    enlarged,
    put,
    slot_of,
)
from larspark.run.interval.kernels.scan import PICKS, run_program
from larspark.run.interval.kernels.timing_wheel import schedule


@helper
def _remove_block(
    store: StoreArrays,
    block: Ints,
    source: int,
    stop: int,
    buckets: Ints,
    floor: int,
    pieces: Ints,
    count: int,
) -> tuple[int, int]:
    """Remove rows [source, stop) of a block; returns the row reached, and the number of pieces.

    Stops where a piece does not fit. The pieces of its row that were written are removed by then,
    so the row can be started again.
    """
    header, rows = store.header, store.rows
    head, capacity = header[HEAD], rows.shape[0]
    first, tail = head - header[LAP], header[TAIL]
    # Rows before this id are on the timing wheel.
    unscheduled = header[UNSCHEDULED] if header[CHUNKS_USED] > 0 else head
    while source < stop:
        start, end = max(block[source, FROM], floor), block[source, TO]
        offset = NONE
        if start <= end:
            offset = follow(store.heads[0, buckets[source, 0]], head, tail - head)
        while offset != NONE:
            slot = slot_of(first, offset, capacity)
            began, ended = rows[slot, FROM], rows[slot, TO]
            if ended >= start and began <= end and same_keys(rows, slot, block, source):
                if count == pieces.shape[0]:
                    header[TAIL] = tail
                    return source, count
                put(pieces, count, block, source, max(start, began), min(end, ended))
                count += 1
                if began >= start:
                    rows[slot, TO] = DEAD
                else:
                    rows[slot, TO] = start - 1
                    # It ends earlier than it is scheduled for.
                    if head + offset < unscheduled and began <= header[EXPIRED_UPTO]:
                        schedule(store, slot, head + offset, header[EXPIRED_UPTO])
                if end < ended:
                    append(store, tail, buckets, block, source, end + 1, ended)
                    tail += 1
            offset = follow(rows[slot, block.shape[1]], head, offset)
        source += 1
    header[TAIL] = tail
    return source, count


@maker
def remove_from_store(
    header: Ints, batch: Ints, program: Ints, floor: int, pieces: Ints
) -> tuple[int, bool]:
    """Remove the result of a row program; returns how many lines were written, and if all fit.

    What was removed is not written again if the same batch is removed once more.
    """
    store = arrays_of(header)
    block = np.empty((min(BLOCK, batch.shape[0]), pieces.shape[1]), np.int64)
    buckets = np.empty((block.shape[0], store.heads.shape[0]), np.int64)
    active = np.empty(block.shape[0], np.int64)
    header[STOPPED_AT] = NONE
    count = 0
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        filled = run_program(batch, begin, stop, program, active, block)
        if filled == NONE:
            header[STOPPED_AT] = begin
            break
        find_buckets(store, block, filled, buckets, active)
        done, count = _remove_block(store, block, 0, filled, buckets, floor, pieces, count)
        if done < filled:
            return count, False
    return count, True


@kernel
def remove_rows(header: Ints, batch: Ints, program: Ints, floor: int) -> Ints:
    """Remove the result of a row program from `floor` on; returns what was covered of it.

    The wheel must have room for one row id for every line of the batch.
    """
    pieces = np.empty((batch.shape[0], KEYS + program[PICKS]), np.int64)
    count, complete = remove_from_store(header, batch, program, floor, pieces)
    while not complete:
        pieces = enlarged(pieces)
        more, complete = remove_from_store(header, batch, program, floor, pieces[count:])
        count += more
    return pieces[:count]

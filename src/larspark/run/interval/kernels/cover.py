"""Kernels of the cover: for every key the time it holds, as disjoint maximal intervals.

add  [3,5] to {[1,3], [8,9]}   gives {[1,5], [8,9]}, newly covered: [4,5]
"""

import numpy as np

from larspark.run.interval.kernels.buckets import (
    append,
    find_buckets,
    same_keys,
    without_repetitions,
)
from larspark.run.interval.kernels.compile import helper, inlined, kernel, maker
from larspark.run.interval.kernels.layout import (
    BLOCK,
    DEAD,
    END,
    FOREVER,
    FRESH,
    FROM,
    HEAD,
    KEYS,
    LAP,
    NONE,
    READ,
    TAIL,
    TO,
    UNREAD,
    Ints,
    Places,
    drop_ended,
    enlarged,
    follow,
    put,
    slot_of,
)
from larspark.run.interval.kernels.scan import read_lines


@helper
def _uncovered(
    rows: Ints,
    first: int,
    head: int,
    newest: int,
    block: Ints,
    source: int,
    position: int,
) -> tuple[int, int]:
    """The first stretch of a row from `position` on that its key does not hold yet.

    Without any, a stretch after the row comes back.
    """
    end = block[source, TO]
    while position <= end:
        # The covered stretch that comes next.
        begins, ends = end + 1, end
        offset = newest
        while offset != NONE:
            slot = slot_of(first, offset, rows.shape[0])
            if (
                rows[slot, TO] >= position
                and rows[slot, FROM] < begins
                and same_keys(rows, slot, block, source)
            ):
                begins, ends = rows[slot, FROM], rows[slot, TO]
            offset = follow(rows[slot, block.shape[1]], head, offset)
        if begins > position:
            return position, min(begins - 1, end)
        position = ends + 1
    return end + 1, end + 1


@helper
def _take_out(
    rows: Ints,
    first: int,
    head: int,
    newest: int,
    block: Ints,
    source: int,
    start: int,
    holder: int,
) -> None:
    """Take out the rows of a key that an interval touches, all but one."""
    end = block[source, TO]
    offset = newest
    while offset != NONE:
        slot = slot_of(first, offset, rows.shape[0])
        if (
            slot != holder
            and rows[slot, TO] >= start - 1
            and rows[slot, FROM] <= end + 1
            and same_keys(rows, slot, block, source)
        ):
            rows[slot, TO] = DEAD
        offset = follow(rows[slot, block.shape[1]], head, offset)


@inlined
def _tell(
    pieces: Ints, count: int, block: Ints, source: int, low: int, high: int, fills: int
) -> int:
    """Write a piece as far as it is not before `fills`; gives how many lines there are then."""
    if max(low, fills) > high:
        return count
    put(pieces, count, block, source, max(low, fills), high)
    return count + 1


@helper
def _add_block(
    rows: Ints,
    heads: Places,
    counters: Ints,
    block: Ints,
    begin: int,
    stop: int,
    buckets: Ints,
    floor: int,
    start_of_time: int,
    past: int,
    tells: bool,
    pieces: Ints,
    count: int,
) -> tuple[int, int]:
    """Add rows [begin, stop) of a block; gives the row that was come to, and the lines told.

    It stops where there might be no room to tell all of a row.
    """
    head, tail, lap, capacity = counters[HEAD], counters[TAIL], counters[LAP], rows.shape[0]
    first, latest = head - lap, counters[END]
    source = begin
    while source < stop:
        start, end = max(block[source, FROM], floor), block[source, TO]
        if start > end:
            source += 1
            continue
        newest = follow(heads[0, buckets[source, 0]], head, tail - head)
        # The rows of this key that the interval touches; most often there is one or none.
        touched, low, high, holder = 0, start, end, NONE
        offset = newest
        while offset != NONE:
            slot = slot_of(first, offset, capacity)
            if (
                rows[slot, TO] >= start - 1
                and rows[slot, FROM] <= end + 1
                and same_keys(rows, slot, block, source)
            ):
                touched += 1
                if rows[slot, FROM] <= low:
                    low, holder = rows[slot, FROM], slot
                high = max(high, rows[slot, TO])
            offset = follow(rows[slot, block.shape[1]], head, offset)
        if tells:
            if count + touched + 1 > pieces.shape[0]:
                break
            fills = -FOREVER if past == NONE or low <= start_of_time else low + past
            if touched == 0:
                count = _tell(pieces, count, block, source, start, end, fills)
            elif touched == 1 and holder != NONE:
                piece_from = max(start, rows[holder, TO] + 1)
                count = _tell(pieces, count, block, source, piece_from, end, fills)
            else:
                piece_from, piece_to = _uncovered(rows, first, head, newest, block, source, start)
                while piece_from <= end:
                    count = _tell(pieces, count, block, source, piece_from, piece_to, fills)
                    piece_from, piece_to = _uncovered(
                        rows, first, head, newest, block, source, piece_to + 1
                    )
        if touched > 1 or (touched == 1 and holder == NONE):
            _take_out(rows, first, head, newest, block, source, start, holder)
        latest = max(latest, high)
        if holder != NONE:
            rows[holder, TO] = high
        else:
            if touched > 0:
                # The new row takes over what others held.
                counters[FRESH] = FOREVER
            append(rows, heads, lap, tail, buckets, block, source, low, high)
            tail += 1
        source += 1
    counters[TAIL] = tail
    counters[END] = latest
    return source, count


@maker
def _add(
    rows: Ints,
    heads: Places,
    columns: Ints,
    counters: Ints,
    batch: Ints,
    tests: Ints,
    frame: Ints,
    pick: Ints,
    settled: int,
    floor: int,
    start_of_time: int,
    past: int,
    tells: bool,
) -> Ints:
    """Add what is read off a batch; gives what is new of it, if that is to be told."""
    # Room for one line more than most often comes, so that the last row seldom stops.
    width = KEYS + pick.shape[0]
    pieces = np.empty(((batch.shape[0] + 1) * int(tells), width), np.int64)
    block = np.empty((min(BLOCK, batch.shape[0]), width), np.int64)
    buckets = np.empty((block.shape[0], heads.shape[0]), np.int64)
    active = np.empty(block.shape[0], np.int64)
    drop_ended(rows, counters, settled)
    counters[FRESH] = counters[TAIL]
    counters[UNREAD] = NONE
    count = 0
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        filled = read_lines(batch, begin, stop, tests, frame, pick, active, block)
        if filled == NONE:
            counters[UNREAD] = begin
            break
        counters[READ] += filled
        filled = without_repetitions(block, filled)
        find_buckets(rows, heads, columns, counters, block, filled, buckets, active)
        done = 0
        while done < filled:
            done, count = _add_block(
                rows,
                heads,
                counters,
                block,
                done,
                filled,
                buckets,
                floor,
                start_of_time,
                past,
                tells,
                pieces,
                count,
            )
            if done < filled:
                pieces = enlarged(pieces)
    return pieces[:count]


@kernel
def cover_add(
    rows: Ints,
    heads: Places,
    columns: Ints,
    counters: Ints,
    batch: Ints,
    tests: Ints,
    frame: Ints,
    pick: Ints,
    settled: int,
    floor: int,
    start_of_time: int,
    past: int,
) -> Ints:
    """Add what is read off a batch, as far as it is not before `floor`; gives what is new of it.

    With a `past` that is not NONE this is told only as far as its key has held without a gap for so
    long, or since time started.
    """
    return _add(
        rows,
        heads,
        columns,
        counters,
        batch,
        tests,
        frame,
        pick,
        settled,
        floor,
        start_of_time,
        past,
        True,
    )


@kernel
def cover_keep(
    rows: Ints,
    heads: Places,
    columns: Ints,
    counters: Ints,
    batch: Ints,
    tests: Ints,
    frame: Ints,
    pick: Ints,
    settled: int,
    floor: int,
) -> None:
    """Add what is read off a batch, when nobody wants to know what is new."""
    _add(
        rows,
        heads,
        columns,
        counters,
        batch,
        tests,
        frame,
        pick,
        settled,
        floor,
        0,
        NONE,
        False,
    )

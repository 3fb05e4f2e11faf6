"""Kernels of the cover: for every key the time it holds, as disjoint maximal intervals.

add  [3,5] to {[1,3], [8,9]}   gives {[1,5], [8,9]}, newly covered: [4,5]
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel, maker
from larspark.run.interval.kernels.hash_lists import (
    append,
    find_buckets,
    same_keys,
    without_repetitions,
)
from larspark.run.interval.kernels.layout import (
    BLOCK,
    CHUNKS,
    DEAD,
    END,
    FOREVER,
    FRESH,
    FROM,
    HEAD,
    KEYS,
    LACKING,
    LAP,
    NO_LINES,
    NO_ROOM,
    NO_ROOM_BEHIND,
    NONE,
    READ,
    SETTLED,
    STORE_SHEET,
    TAIL,
    TO,
    UNREAD,
    Ints,
    Places,
    columns_of,
    drop_ended,
    follow,
    heads_of,
    put,
    rows_of,
    slot_of,
)
from larspark.run.interval.kernels.scan import PICKS, read_lines
from larspark.run.interval.kernels.store_header import numbers_at


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
    first, latest, settled = head - lap, counters[END], counters[SETTLED]
    source = begin
    while source < stop:
        start, end = max(block[source, FROM], floor), block[source, TO]
        if start > end:
            source += 1
            continue
        newest = follow(heads[0, buckets[source, 0]], head, tail - head)
        # The rows of this key that the interval touches; most often there is one or none.
        touched, low, high, holder = 0, start, end, NONE
        offset, newer, over = newest, NONE, 0
        while offset != NONE:
            slot = slot_of(first, offset, capacity)
            ended, older = rows[slot, TO], rows[slot, block.shape[1]]
            over += int(ended < settled)
            if over > 1 and ended < settled:
                # It is over, and not the only one: whoever comes this way again need not pass it.
                rows[newer, block.shape[1]] = older
            else:
                newer = slot
                if (
                    ended >= start - 1
                    and rows[slot, FROM] <= end + 1
                    and same_keys(rows, slot, block, source)
                ):
                    touched += 1
                    if rows[slot, FROM] <= low:
                        low, holder = rows[slot, FROM], slot
                    high = max(high, ended)
            offset = follow(older, head, offset)
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
    store: Ints,
    batch: Ints,
    reading: Ints,
    floor: int,
    start_of_time: int,
    past: int,
    tells: bool,
    again: bool,
    pieces: Ints,
) -> int:
    """Add what is read off a batch; gives how many lines were written of what is new.

    Where something lacks to go on, that is noted, and the complement of the number comes back. What
    was added until then can be added `again`, it is not told again.
    """
    rows, heads, columns = rows_of(store), heads_of(store), columns_of(store)
    if store[CHUNKS] == 0:
        # A store that tells is settled by those whom it tells.
        store[SETTLED] = max(store[SETTLED], floor - 1)
    drop_ended(rows, store, store[SETTLED])
    if rows.shape[0] - (store[TAIL] - store[HEAD]) < batch.shape[0]:
        store[LACKING] = NO_ROOM
        return ~0
    if not again:
        store[FRESH] = store[TAIL]
    store[UNREAD] = NONE
    block = np.empty((min(BLOCK, batch.shape[0]), KEYS + reading[PICKS]), np.int64)
    buckets = np.empty((block.shape[0], heads.shape[0]), np.int64)
    active = np.empty(block.shape[0], np.int64)
    count, read = 0, 0
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        filled = read_lines(batch, begin, stop, reading, active, block)
        if filled == NONE:
            store[UNREAD] = begin
            break
        read += filled
        filled = without_repetitions(block, filled)
        find_buckets(rows, heads, columns, store, block, filled, buckets, active)
        done, count = _add_block(
            rows,
            heads,
            store,
            block,
            0,
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
            store[LACKING] = NO_LINES
            return ~count
    store[READ] += read
    return count


@kernel
def cover_add(
    store: Ints,
    batch: Ints,
    reading: Ints,
    floor: int,
    start_of_time: int,
    past: int,
    again: bool,
    pieces: Ints,
    followers: Ints,
) -> int:
    """Add what is read off a batch, as far as it is not before `floor`; write what is new of it.

    With a `past` that is not NONE this is told only as far as its key has held without a gap for so
    long, or since time started. What is new is added to the stores that follow: each is a line with
    the address of its sheet, that of a reading, and how many numbers this has.

    Gives how many lines are new, or the complement if something lacked (see `_add`).
    """
    count = _add(store, batch, reading, floor, start_of_time, past, True, again, pieces)
    if count <= 0:
        return count
    for number in range(followers.shape[0]):
        other = numbers_at(followers[number, 0], STORE_SHEET)
        other_reading = numbers_at(followers[number, 1], followers[number, 2])
        if _add(other, pieces[:count], other_reading, floor, 0, NONE, False, False, pieces) < 0:
            # Adding to those before it once more does no harm.
            store[LACKING] = NO_ROOM_BEHIND
            return ~count
    return count


@kernel
def cover_keep(store: Ints, batch: Ints, reading: Ints, floor: int) -> int:
    """Add what is read off a batch, when nobody wants to know what is new.

    Gives something below 0 if there was no room, and nothing was added.
    """
    return _add(store, batch, reading, floor, 0, NONE, False, False, batch)

"""Kernels that add intervals to a store: for every key disjoint maximal intervals.

add  [3,5] to {[1,3], [8,9]}   gives {[1,5], [8,9]}, newly covered: [4,5]
"""

from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.addressing import array_at
from larspark.run.interval.kernels.compile import helper, inlined, kernel, maker
from larspark.run.interval.kernels.hash_chains import (
    append,
    drop_repeats,
    find_buckets,
    follow,
    same_keys,
)
from larspark.run.interval.kernels.layout import (
    BLOCK,
    CHUNKS_USED,
    DEAD,
    EXPIRED_UPTO,
    FOLLOWER_FULL,
    FOREVER,
    FRESH,
    FROM,
    HEAD,
    KEYS,
    LAP,
    LAST_END,
    NONE,
    OUTPUT_FULL,
    RESUMED,
    ROWS_READ,
    SHORTAGE,
    STOPPED_AT,
    STORE_FULL,
    STORE_HEADER_SIZE,
    TAIL,
    TO,
    Ints,
    StoreArrays,
    arrays_of,
    drop_expired,
    put,
    slot_of,
)
from larspark.run.interval.kernels.scan import PICKS, run_program


class Emission(NamedTuple):
    """What is added and what is emitted of it."""

    # Nothing is added before this time point.
    floor: int
    # With a `past` that is not NONE a new interval is emitted only where its key has held without a
    # gap for so long, or since the start of time.
    start_of_time: int
    past: int
    enabled: bool


@helper
def _uncovered(
    store: StoreArrays, newest: int, block: Ints, source: int, position: int
) -> tuple[int, int]:
    """The first stretch of a row from `position` on that its key does not hold yet.

    If there is none, a stretch after the row is returned.
    """
    rows, head = store.rows, store.header[HEAD]
    first, end = head - store.header[LAP], block[source, TO]
    while position <= end:
        # The next covered stretch.
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
def _remove_touched(
    store: StoreArrays, newest: int, block: Ints, source: int, start: int, holder: int
) -> None:
    """Remove the rows of a key that an interval touches, all but one."""
    rows, head = store.rows, store.header[HEAD]
    first, end = head - store.header[LAP], block[source, TO]
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
def _emit(
    pieces: Ints, count: int, block: Ints, source: int, low: int, high: int, from_time: int
) -> int:
    """Write a piece as far as it is not before a time; returns the number of lines then."""
    if max(low, from_time) > high:
        return count
    put(pieces, count, block, source, max(low, from_time), high)
    return count + 1


@helper
def _add_block(
    store: StoreArrays,
    block: Ints,
    stop: int,
    buckets: Ints,
    emission: Emission,
    pieces: Ints,
    count: int,
) -> tuple[int, int]:
    """Add the first rows of a block; returns the row reached, and the lines of output.

    Stops where the output of a row might not fit.
    """
    header, rows, floor, past = store.header, store.rows, emission.floor, emission.past
    head, tail, capacity = header[HEAD], header[TAIL], rows.shape[0]
    first, latest, expired_upto = head - header[LAP], header[LAST_END], header[EXPIRED_UPTO]
    source = 0
    while source < stop:
        start, end = max(block[source, FROM], floor), block[source, TO]
        if start > end:
            source += 1
            continue
        newest = follow(store.heads[0, buckets[source, 0]], head, tail - head)
        # The rows of this key that the interval touches; most often there is one or none.
        touched, low, high, holder = 0, start, end, NONE
        offset, newer, expired = newest, NONE, 0
        while offset != NONE:
            slot = slot_of(first, offset, capacity)
            ended, older = rows[slot, TO], rows[slot, block.shape[1]]
            expired += int(ended < expired_upto)
            if expired > 1 and ended < expired_upto:
                # Not the only expired row of the chain: it is unlinked.
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
        if emission.enabled:
            if count + touched + 1 > pieces.shape[0]:
                break
            full_from = -FOREVER
            if past != NONE and low > emission.start_of_time:
                full_from = low + past
            if touched == 0:
                count = _emit(pieces, count, block, source, start, end, full_from)
            elif touched == 1 and holder != NONE:
                piece_from = max(start, rows[holder, TO] + 1)
                count = _emit(pieces, count, block, source, piece_from, end, full_from)
            else:
                piece_from, piece_to = _uncovered(store, newest, block, source, start)
                while piece_from <= end:
                    count = _emit(pieces, count, block, source, piece_from, piece_to, full_from)
                    piece_from, piece_to = _uncovered(store, newest, block, source, piece_to + 1)
        if touched > 1 or (touched == 1 and holder == NONE):
            _remove_touched(store, newest, block, source, start, holder)
        latest = max(latest, high)
        if holder != NONE:
            rows[holder, TO] = high
        else:
            if touched > 0:
                # The new row takes over what older rows held.
                header[FRESH] = FOREVER
            append(store, tail, buckets, block, source, low, high)
            tail += 1
        source += 1
    header[TAIL] = tail
    header[LAST_END] = latest
    return source, count


@maker
def add_to_store(header: Ints, batch: Ints, program: Ints, emission: Emission, pieces: Ints) -> int:
    """Add the result of a row program; returns how many lines were emitted.

    If there is no room to go on, the header says why, and the complement of the number is returned.
    The same batch can then be added again: what was added before is not emitted a second time.
    """
    store = arrays_of(header)
    if header[CHUNKS_USED] == 0:
        # A store with a timing wheel is expired by those who read what it emits.
        header[EXPIRED_UPTO] = max(header[EXPIRED_UPTO], emission.floor - 1)
    drop_expired(store.rows, header, header[EXPIRED_UPTO])
    if store.rows.shape[0] - (header[TAIL] - header[HEAD]) < batch.shape[0]:
        header[SHORTAGE] = STORE_FULL
        return ~0
    if header[RESUMED] == 0:
        header[FRESH] = header[TAIL]
    header[STOPPED_AT] = NONE
    block = np.empty((min(BLOCK, batch.shape[0]), KEYS + program[PICKS]), np.int64)
    buckets = np.empty((block.shape[0], store.heads.shape[0]), np.int64)
    active = np.empty(block.shape[0], np.int64)
    count, read = 0, 0
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        filled = run_program(batch, begin, stop, program, active, block)
        if filled == NONE:
            header[STOPPED_AT] = begin
            break
        read += filled
        filled = drop_repeats(block, filled)
        find_buckets(store, block, filled, buckets, active)
        done, count = _add_block(store, block, filled, buckets, emission, pieces, count)
        if done < filled:
            header[SHORTAGE] = OUTPUT_FULL
            header[RESUMED] = 1
            return ~count
    header[ROWS_READ] += read
    header[RESUMED] = 0
    return count


@kernel
def add_rows(
    header: Ints,
    batch: Ints,
    program: Ints,
    floor: int,
    start_of_time: int,
    past: int,
    pieces: Ints,
    followers: Ints,
) -> int:
    """Add the result of a row program from `floor` on; what is newly covered is written.

    It is also added to the followers: each is a line with the address of a store's header, the
    address of a row program, and the size of that.

    Returns how many lines are new, or the complement if there was no room to go on.
    """
    count = add_to_store(header, batch, program, Emission(floor, start_of_time, past, True), pieces)
    if count <= 0:
        return count
    for number in range(followers.shape[0]):
        other = array_at(followers[number, 0], STORE_HEADER_SIZE)
        other_program = array_at(followers[number, 1], followers[number, 2])
        nothing = Emission(floor, 0, NONE, False)
        if add_to_store(other, pieces[:count], other_program, nothing, pieces) < 0:
            # Adding to the followers before it once more changes nothing.
            header[SHORTAGE] = FOLLOWER_FULL
            return ~count
    return count


@kernel
def keep_rows(header: Ints, batch: Ints, program: Ints, floor: int) -> int:
    """Add the result of a row program from `floor` on, and emit nothing.

    Returns a number below 0 if there was no room; nothing was added then.
    """
    return add_to_store(header, batch, program, Emission(floor, 0, NONE, False), batch)

"""Kernels that advance time over stores: emit what began and ended, and free room.

    expire_rows    emits the rows that began and those that ended up to a time point
    expire_stores  the same for several stores in one call
    drop_rows      drops the oldest expired rows, and moves live rows that are in the way
    link_rows      rebuilds the hash tables and the timing wheel

A row is on the timing wheel at its next event, and perhaps at a later one that is out of date; it
is emitted once. The id of a row that was dropped meanwhile is skipped.
"""

import numpy as np

from larspark.run.interval.kernels.addressing import array_at
from larspark.run.interval.kernels.compile import helper, inlined, kernel, maker
from larspark.run.interval.kernels.hash_chains import bucket_of, index_bucket
from larspark.run.interval.kernels.layout import (
    CHUNKS_USED,
    DEAD,
    EXPIRED_UPTO,
    FOREVER,
    FRESH,
    FROM,
    HEAD,
    ID_MASK,
    IN_CHUNK,
    LAP,
    LINK_COLUMN,
    NONE,
    PREFETCHED,
    SCHEDULED,
    STORE_HEADER_SIZE,
    TAIL,
    TO,
    UNSCHEDULED,
    WHEEL_SIZE,
    Ints,
    StoreArrays,
    arrays_of,
    drop_expired,
    put,
    slot_of,
)
from larspark.run.interval.kernels.timing_wheel import (
    chunks_needed,
    schedule,
    take_row_ids,
    take_slots,
)

# A store with more new rows than this is expired by itself.
_MANY_NEW = 128
# Row ids are worked off in groups of this size.
_TOGETHER = 5 * IN_CHUNK


@maker
def _wider(emitted: Ints, begun: int, ended: int) -> Ints:
    """The same lines at the beginning and at the end, with as much room again between them."""
    size = emitted.shape[0]
    wider = np.empty((2 * size, emitted.shape[1]), np.int64)
    for line in range(begun):
        put(wider, line, emitted, line, emitted[line, FROM], emitted[line, TO])
    for line in range(1, ended + 1):
        low, high = emitted[size - line, FROM], emitted[size - line, TO]
        put(wider, wider.shape[0] - line, emitted, size - line, low, high)
    return wider


@helper
def _emit(
    store: StoreArrays,
    upto: int,
    with_begun: bool,
    row_ids: Ints,
    count: int,
    emitted: Ints,
    begun: int,
    ended: int,
) -> tuple[int, int]:
    """Emit the first `count` rows by id, and schedule those that go on.

    There has to be room for all of them. Rows that were dropped or moved are skipped. Returns how
    many lines have begun and ended.
    """
    header, rows = store.header, store.rows
    head, before = header[HEAD], header[EXPIRED_UPTO]
    first, length, capacity = head - header[LAP], header[TAIL] - head, rows.shape[0]
    kept, sum_of_reads = 0, 0
    for number in range(count):
        offset = (row_ids[number] - head) & ID_MASK
        row_ids[kept] = offset
        kept += int(offset < length)
    # The rows lie anywhere: they are read together first, so that memory accesses overlap. A row
    # may begin in one cache line and end in the next.
    for number in range(kept):
        slot = slot_of(first, row_ids[number], capacity)
        sum_of_reads += rows[slot, FROM] + rows[slot, emitted.shape[1] - 1]
    header[PREFETCHED] = sum_of_reads
    for number in range(kept):
        offset = row_ids[number]
        slot = slot_of(first, offset, capacity)
        low, high = rows[slot, FROM], rows[slot, TO]
        if high == DEAD:
            continue
        if with_begun and before < low <= upto:
            put(emitted, begun, rows, slot, low, high)
            begun += 1
        if high < upto:
            ended += 1
            put(emitted, emitted.shape[0] - ended, rows, slot, low, high)
            # It may be scheduled twice: for this end, and for a later one that it had before.
            rows[slot, TO] = DEAD
        else:
            schedule(store, slot, head + offset, upto)
    return begun, ended


@maker
def expire_store(header: Ints, upto: int, with_begun: bool) -> tuple[Ints, int, int]:
    """Advance a store to a time point: the rows that began, and those that ended before it.

    Both come in one array, which is quicker to return than two, with their numbers: those that
    began at its beginning, those that ended at its end. A row that ends right at `upto` may still
    go on. Scheduled rows are on the wheel; rows added since the last call stand at the tail.

    Ids of rows that were dropped or moved fill the wheel up. If the chunks might not suffice,
    nothing happens, and NONE is returned as a number.
    """
    store = arrays_of(header)
    scheduled = header[SCHEDULED] + header[TAIL] - header[UNSCHEDULED]
    if chunks_needed(scheduled) > store.chunks.shape[0]:
        return store.rows, NONE, 0
    # Slots are emptied before rows are scheduled for the time to come.
    lists = np.empty(min(upto - header[EXPIRED_UPTO], WHEEL_SIZE), np.int64)
    take_slots(store, upto, lists)
    # All new rows may have begun, and at a steady rate about as many have ended.
    row_ids = np.empty(_TOGETHER, np.int64)
    following, tail, begun, ended = header[UNSCHEDULED], header[TAIL], 0, 0
    room = (2 * _TOGETHER + tail - following) * (1 + int(with_begun))
    emitted = np.empty((room, header[LINK_COLUMN]), np.int64)
    while following < tail:
        count = min(tail - following, _TOGETHER)
        for number in range(count):
            row_ids[number] = following + number
        following += count
        begun, ended = _emit(store, upto, with_begun, row_ids, count, emitted, begun, ended)
    for number in range(lists.shape[0]):
        chunk = lists[number]
        while chunk != 0:
            chunk, count = take_row_ids(store, chunk, row_ids)
            if begun + ended + 2 * count > emitted.shape[0]:
                emitted = _wider(emitted, begun, ended)
            begun, ended = _emit(store, upto, with_begun, row_ids, count, emitted, begun, ended)
    header[EXPIRED_UPTO] = upto
    header[UNSCHEDULED] = header[TAIL]
    return emitted, begun, ended


@kernel
def expire_rows(header: Ints, upto: int, with_begun: bool) -> tuple[Ints, int, int]:
    """Advance one store to a time point; see `expire_store`."""
    return expire_store(header, upto, with_begun)


@maker
def _with_room(numbers: Ints, count: int, more: int) -> Ints:
    """The same numbers, with room for so many more."""
    if count + more <= numbers.shape[0]:
        return numbers
    larger = np.empty(2 * (count + more), np.int64)
    larger[:count] = numbers[:count]
    return larger


@kernel
def expire_stores(headers: Ints, upto: int, counts: Ints) -> Ints:
    """Advance stores, given by the addresses of their headers, to a time point.

    The rows that began and those that ended before it are returned store by store in one array;
    `counts` receives how many lines each of both has. NONE marks a store that was left alone: its
    wheel has no room, or it has so many new rows that copying them takes longer than a call of its
    own.
    """
    out = np.empty(64, np.int64)
    size = 0
    for number in range(headers.shape[0]):
        header = array_at(headers[number], STORE_HEADER_SIZE)
        begun, ended = 0, 0
        if header[TAIL] - header[UNSCHEDULED] > _MANY_NEW:
            begun = NONE
        elif header[EXPIRED_UPTO] < upto:
            emitted, begun, ended = expire_store(header, upto, True)
            width = header[LINK_COLUMN]
            out = _with_room(out, size, max(begun + ended, 0) * width)
            for line in range(begun + ended):
                source = line if line < begun else emitted.shape[0] - begun - ended + line
                for column in range(width):
                    out[size + column] = emitted[source, column]
                size += width
        counts[number, 0] = begun
        counts[number, 1] = ended
    return out[:size]


@inlined
def _link(store: StoreArrays, slot: int, row_id: int) -> None:
    """Put a row in front of its chain in every hash table."""
    rows, heads, links = store.rows, store.heads, store.header[LINK_COLUMN]
    mask = heads.shape[1] - 1
    for table in range(heads.shape[0]):
        if table == 0:
            bucket = bucket_of(rows, slot, links, mask)
        else:
            bucket = index_bucket(rows, slot, store.columns, table - 1, mask)
        rows[slot, links + table] = heads[table, bucket]
        heads[table, bucket] = row_id & ID_MASK


@helper
def _drop(store: StoreArrays, wanted: int) -> int:
    """Drop and move rows, see `drop_rows`."""
    header, rows = store.header, store.rows
    upto = header[EXPIRED_UPTO]
    drop_expired(rows, header, upto)
    head, tail, lap, capacity = header[HEAD], header[TAIL], header[LAP], rows.shape[0]
    links, end = header[LINK_COLUMN], tail
    unscheduled = header[UNSCHEDULED] if header[CHUNKS_USED] > 0 else tail
    most = end + wanted // 4
    while head < end and tail <= most and capacity - (tail - head) < wanted:
        slot, other = head - lap, slot_of(0, tail - lap, capacity)
        head += 1
        if head - lap == capacity:
            lap = head
        if rows[slot, TO] == DEAD or (rows[slot, TO] < upto and head <= unscheduled):
            continue
        # A moved row has a new id, but nothing in it was added last.
        header[FRESH] = FOREVER
        for column in range(links):
            rows[other, column] = rows[slot, column]
        _link(store, other, tail)
        tail += 1
    header[HEAD] = head
    header[TAIL] = tail
    header[LAP] = lap
    return tail - end


@kernel
def drop_rows(header: Ints, wanted: int) -> int:
    """Drop the oldest expired rows until there is room for so many more.

    Live rows that are in the way move to the tail, none more than once and not too many. Returns
    how many were moved.
    """
    return _drop(arrays_of(header), wanted)


@helper
def _link_all(store: StoreArrays) -> None:
    header, heads, wheel = store.header, store.heads, store.wheel
    for table in range(heads.shape[0]):
        for bucket in range(heads.shape[1]):
            heads[table, bucket] = (header[HEAD] - 1) & ID_MASK
    for wheel_slot in range(wheel.shape[0]):
        wheel[wheel_slot] = 0
    for slot in range(header[TAIL] - header[HEAD]):
        _link(store, slot, header[HEAD] + slot)
        if wheel.shape[0] > 0:
            schedule(store, slot, header[HEAD] + slot, header[EXPIRED_UPTO])


@kernel
def link_rows(header: Ints) -> None:
    """Rebuild the hash tables and the wheel of a store whose rows begin at slot 0."""
    _link_all(arrays_of(header))

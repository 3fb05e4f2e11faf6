"""Kernels that let time pass over a store: what began, what ended, and whose room is free again.

    settle  up to 7    tells what began and what ended until 7
    drop               gives the room of the oldest rows back, and moves those that are not over
    link               builds the hash tables of all rows anew

A row is on the list of the time when it becomes due, and perhaps on later ones: what is told of
once is not told again. A place on a list that was dropped since stands for nothing.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel, maker
from larspark.run.interval.kernels.hash_lists import chunks_needed, wait_for_turn
from larspark.run.interval.kernels.layout import (
    CHUNK_COUNT,
    CHUNK_NEXT,
    CHUNK_PLACES,
    CHUNKS,
    DEAD,
    FOREVER,
    FREE,
    FRESH,
    FROM,
    HEAD,
    IN_CHUNK,
    LAP,
    LINKS,
    NONE,
    PLACE_MASK,
    RING,
    SEEN,
    SETTLED,
    STORE_SHEET,
    TAIL,
    TO,
    TOUCHED,
    TURNS,
    WAITING,
    Ints,
    Places,
    bucket_of,
    chunks_of,
    columns_of,
    drop_ended,
    due_of,
    heads_of,
    index_bucket,
    put,
    rows_of,
    slot_of,
)
from larspark.run.interval.kernels.store_header import numbers_at

# A store with more new rows than this is settled by itself.
_MANY_NEW = 128
# Places on lists are looked at so many together.
_TOGETHER = 5 * IN_CHUNK


@maker
def _wider(told: Ints, begun: int, gone: int) -> Ints:
    """The same lines at the beginning and at the end, with room for as many again between them."""
    size = told.shape[0]
    wider = np.empty((2 * size, told.shape[1]), np.int64)
    for line in range(begun):
        put(wider, line, told, line, told[line, FROM], told[line, TO])
    for line in range(1, gone + 1):
        low, high = told[size - line, FROM], told[size - line, TO]
        put(wider, wider.shape[0] - line, told, size - line, low, high)
    return wider


@helper
def _take_places(chunks: Places, counters: Ints, chunk: int, places: Ints) -> tuple[int, int]:
    """Take places out of a chain of chunks, as many chunks as fit, and free these.

    Gives the chunk that was come to, and how many places there are.
    """
    count = 0
    while chunk != 0 and count + IN_CHUNK <= places.shape[0]:
        size = chunks[chunk, CHUNK_COUNT]
        for number in range(size):
            places[count + number] = chunks[chunk, CHUNK_PLACES + number]
        count += size
        following = chunks[chunk, CHUNK_NEXT]
        chunks[chunk, CHUNK_NEXT] = counters[FREE]
        counters[FREE] = chunk
        chunk = following
    counters[WAITING] -= count
    return chunk, count


@helper
def _tell(
    rows: Ints,
    chunks: Places,
    due: Ints,
    counters: Ints,
    upto: int,
    tells_begun: bool,
    places: Ints,
    count: int,
    told: Ints,
    begun: int,
    gone: int,
) -> tuple[int, int]:
    """Tell of the rows at the first `count` places, and let wait what goes on.

    There has to be room for all of them. What was dropped or moved away is not told of. Gives how
    many began and ended.
    """
    head, settled = counters[HEAD], counters[SETTLED]
    first, length, capacity = head - counters[LAP], counters[TAIL] - head, rows.shape[0]
    kept, sum_of_reads = 0, 0
    for number in range(count):
        offset = (places[number] - head) & PLACE_MASK
        places[kept] = offset
        kept += int(offset < length)
    # They stand anywhere: they are read together first, so that waiting for memory overlaps. A row
    # may begin in one line of the cache and end in the next.
    for number in range(kept):
        slot = slot_of(first, places[number], capacity)
        sum_of_reads += rows[slot, FROM] + rows[slot, told.shape[1] - 1]
    counters[TOUCHED] = sum_of_reads
    for number in range(kept):
        offset = places[number]
        slot = slot_of(first, offset, capacity)
        low, high = rows[slot, FROM], rows[slot, TO]
        if high == DEAD:
            continue
        if tells_begun and settled < low <= upto:
            put(told, begun, rows, slot, low, high)
            begun += 1
        if high < upto:
            gone += 1
            put(told, told.shape[0] - gone, rows, slot, low, high)
            # It may be on another list, where it was when it lasted longer.
            rows[slot, TO] = DEAD
        else:
            wait_for_turn(rows, slot, head + offset, chunks, due, counters, upto)
    return begun, gone


@maker
def _settle(store: Ints, upto: int, tells_begun: bool) -> tuple[Ints, int, int]:
    """Let time pass over a store up to a time point: what began, and what ended before it.

    Both come back in one array, which is quicker to hand over than two, with their numbers: those
    that began at its beginning, those that ended at its end. A row that ends right there is not
    over: it may still go on. Rows wait on the lists of the time points that pass; those that were
    added since time passed last stand together at the tail.

    Places of rows that were dropped or moved fill the lists up. When there might be no room in them
    nothing happens, and NONE comes back as a number.
    """
    rows, chunks, due = rows_of(store), chunks_of(store), due_of(store)
    waiting = store[WAITING] + store[TAIL] - store[SEEN]
    if chunks_needed(waiting) > chunks.shape[0]:
        return rows, NONE, 0
    # The lists that were passed are taken before rows are put on others for the time to come.
    lists = np.empty(min(upto - store[SETTLED], RING), np.int64)
    for number in range(lists.shape[0]):
        turn = (store[SETTLED] + 1 + number) & TURNS
        lists[number] = due[turn]
        due[turn] = 0
    # As many may have begun as came, and when time passes evenly about as many have ended.
    places = np.empty(_TOGETHER, np.int64)
    seen, tail, begun, gone = store[SEEN], store[TAIL], 0, 0
    room = (2 * _TOGETHER + tail - seen) * (1 + int(tells_begun))
    told = np.empty((room, store[LINKS]), np.int64)
    while seen < tail:
        count = min(tail - seen, _TOGETHER)
        for number in range(count):
            places[number] = seen + number
        seen += count
        begun, gone = _tell(
            rows, chunks, due, store, upto, tells_begun, places, count, told, begun, gone
        )
    for number in range(lists.shape[0]):
        chunk = lists[number]
        while chunk != 0:
            chunk, count = _take_places(chunks, store, chunk, places)
            if begun + gone + 2 * count > told.shape[0]:
                told = _wider(told, begun, gone)
            begun, gone = _tell(
                rows, chunks, due, store, upto, tells_begun, places, count, told, begun, gone
            )
    store[SETTLED] = upto
    store[SEEN] = store[TAIL]
    return told, begun, gone


@kernel
def cover_settle(store: Ints, upto: int, tells_begun: bool) -> tuple[Ints, int, int]:
    """Let time pass over one store; see `_settle`."""
    return _settle(store, upto, tells_begun)


@maker
def _with_room(numbers: Ints, count: int, more: int) -> Ints:
    """The same numbers, with room for so many more."""
    if count + more <= numbers.shape[0]:
        return numbers
    larger = np.empty(2 * (count + more), np.int64)
    larger[:count] = numbers[:count]
    return larger


@kernel
def settle_stores(stores: Ints, upto: int, counts: Ints) -> Ints:
    """Let time pass over stores, given by the addresses of their sheets, up to a time point.

    What began, and what ended before it, comes back store by store as rows in one piece; `counts`
    tells how many lines each of both has. NONE stands there for a store to which nothing has
    happened: its lists have no room, or it has so many new rows that copying them takes longer than
    handing them over by themselves.
    """
    out = np.empty(64, np.int64)
    size = 0
    for number in range(stores.shape[0]):
        store = numbers_at(stores[number], STORE_SHEET)
        begun, gone = 0, 0
        if store[TAIL] - store[SEEN] > _MANY_NEW:
            begun = NONE
        elif store[SETTLED] < upto:
            told, begun, gone = _settle(store, upto, True)
            width = store[LINKS]
            out = _with_room(out, size, max(begun + gone, 0) * width)
            for line in range(begun + gone):
                source = line if line < begun else told.shape[0] - begun - gone + line
                for column in range(width):
                    out[size + column] = told[source, column]
                size += width
        counts[number, 0] = begun
        counts[number, 1] = gone
    return out[:size]


@inlined
def _link(rows: Ints, slot: int, place: int, heads: Places, columns: Ints, links: int) -> None:
    """Put a row in front of its chain in every hash table."""
    mask = heads.shape[1] - 1
    for table in range(heads.shape[0]):
        if table == 0:
            bucket = bucket_of(rows, slot, links, mask)
        else:
            bucket = index_bucket(rows, slot, columns, table - 1, mask)
        rows[slot, links + table] = heads[table, bucket]
        heads[table, bucket] = place & PLACE_MASK


@helper
def _drop(rows: Ints, heads: Places, columns: Ints, counters: Ints, wanted: int) -> int:
    """Drop and move rows, as `cover_drop` tells."""
    settled = counters[SETTLED]
    drop_ended(rows, counters, settled)
    head, tail, lap, capacity = counters[HEAD], counters[TAIL], counters[LAP], rows.shape[0]
    links, end = counters[LINKS], tail
    unseen = counters[SEEN] if counters[CHUNKS] > 0 else tail
    most = end + wanted // 4
    while head < end and tail <= most and capacity - (tail - head) < wanted:
        slot, other = head - lap, slot_of(0, tail - lap, capacity)
        head += 1
        if head - lap == capacity:
            lap = head
        if rows[slot, TO] == DEAD or (rows[slot, TO] < settled and head <= unseen):
            continue
        # Nothing in it holds only what was added last, but that cannot be read off its place.
        counters[FRESH] = FOREVER
        for column in range(links):
            rows[other, column] = rows[slot, column]
        _link(rows, other, tail, heads, columns, links)
        tail += 1
    counters[HEAD] = head
    counters[TAIL] = tail
    counters[LAP] = lap
    return tail - end


@kernel
def cover_drop(store: Ints, wanted: int) -> int:
    """Drop the oldest rows that ended before what is settled, until so many more have room.

    Rows that stand in the way, because they still hold, move to the tail; none more than once, and
    not too many. Gives how many that were.
    """
    return _drop(rows_of(store), heads_of(store), columns_of(store), store, wanted)


@helper
def _link_all(
    rows: Ints, heads: Places, columns: Ints, chunks: Places, due: Ints, counters: Ints
) -> None:
    for table in range(heads.shape[0]):
        for bucket in range(heads.shape[1]):
            heads[table, bucket] = (counters[HEAD] - 1) & PLACE_MASK
    for turn in range(due.shape[0]):
        due[turn] = 0
    for slot in range(counters[TAIL] - counters[HEAD]):
        place = counters[HEAD] + slot
        _link(rows, slot, place, heads, columns, counters[LINKS])
        if due.shape[0] > 0:
            wait_for_turn(rows, slot, place, chunks, due, counters, counters[SETTLED])


@kernel
def cover_link(store: Ints) -> None:
    """Link all rows anew; they stand at the beginning of the ring."""
    _link_all(
        rows_of(store),
        heads_of(store),
        columns_of(store),
        chunks_of(store),
        due_of(store),
        store,
    )

"""Kernels that let time pass over a store: what began, what ended, and whose room is free again.

    settle  up to 7    tells what began and what ended until 7
    drop               gives the room of the oldest rows back, and moves those that are not over
    link               builds the hash tables of all rows anew

A row is on the list of the time when it becomes due, and perhaps on later ones: what is told of
once is not told again. A place on a list that was dropped since stands for nothing.
"""

import numpy as np

from larspark.run.interval.kernels.compile import filling, helper, inlined, kernel, maker
from larspark.run.interval.kernels.due import chunks_needed, wait_for_turn
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
    TAIL,
    TO,
    TOUCHED,
    TURNS,
    WAITING,
    Ints,
    Places,
    bucket_of,
    drop_ended,
    index_bucket,
    put,
    slot_of,
)


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
def _tell(
    rows: Ints,
    chunks: Places,
    due: Ints,
    counters: Ints,
    upto: int,
    tells_begun: bool,
    chunk: int,
    first: int,
    last: int,
    told: Ints,
    begun: int,
    gone: int,
) -> tuple[int, int]:
    """Tell of the rows whose places stand in [first, last) of a chunk, and let wait what goes on.

    Without a chunk these are the places themselves. There has to be room for all of them. What was
    dropped or moved away is not told of. Gives how many began and ended.
    """
    head, lap, settled = counters[HEAD], counters[LAP], counters[SETTLED]
    length, capacity = counters[TAIL] - head, rows.shape[0]
    if chunk != 0:
        # Those in a chunk stand anywhere: they are read together first, so that waiting for memory
        # overlaps.
        sum_of_reads = 0
        for number in range(first, last):
            offset = (chunks[chunk, number] - head) & PLACE_MASK
            if offset < length:
                sum_of_reads += rows[slot_of(head - lap, offset, capacity), TO]
        counters[TOUCHED] = sum_of_reads
    for number in range(first, last):
        place = number if chunk == 0 else chunks[chunk, number]
        offset = (place - head) & PLACE_MASK
        if offset >= length:
            continue
        slot = slot_of(head - lap, offset, capacity)
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


@helper
def _tell_due(
    rows: Ints,
    chunks: Places,
    due: Ints,
    counters: Ints,
    upto: int,
    tells_begun: bool,
    chunk: int,
    told: Ints,
    begun: int,
    gone: int,
) -> tuple[int, int, int]:
    """Tell of the rows in a chain of chunks, as long as there is room for those of a whole chunk.

    Gives the chunk that was come to, and how many began and ended.
    """
    while chunk != 0 and begun + gone + 2 * IN_CHUNK <= told.shape[0]:
        last = CHUNK_PLACES + chunks[chunk, CHUNK_COUNT]
        begun, gone = _tell(
            rows,
            chunks,
            due,
            counters,
            upto,
            tells_begun,
            chunk,
            CHUNK_PLACES,
            last,
            told,
            begun,
            gone,
        )
        counters[WAITING] -= last - CHUNK_PLACES
        following = chunks[chunk, CHUNK_NEXT]
        chunks[chunk, CHUNK_NEXT] = counters[FREE]
        counters[FREE] = chunk
        chunk = following
    return chunk, begun, gone


@kernel
def cover_settle(
    rows: Ints, chunks: Places, due: Ints, counters: Ints, upto: int, tells_begun: bool
) -> tuple[Ints | None, int, int]:
    """Let time pass up to a time point: the rows that began, and those that ended before it.

    They come back in one array, which is quicker to hand over than two, with their numbers: those
    that began at its beginning, those that ended at its end; without any, there is none. A row
    that ends right there is not over: it may still go on. Rows wait on the lists of the time points
    that pass; those that were added since time passed last stand together at the tail.

    Places of rows that were dropped or moved fill the lists up. When there might be no room in them
    nothing happens, and NONE comes back as a number.
    """
    waiting = counters[WAITING] + counters[TAIL] - counters[SEEN]
    if chunks_needed(waiting) > chunks.shape[0]:
        return None, NONE, 0
    # The lists that were passed are taken before rows are put on others for the time to come.
    lists = np.empty(min(upto - counters[SETTLED], RING), np.int64)
    for number in range(lists.shape[0]):
        turn = (counters[SETTLED] + 1 + number) & TURNS
        lists[number] = due[turn]
        due[turn] = 0
    # As many may have begun as came, and when time passes evenly about as many have ended.
    seen, tail = counters[SEEN], counters[TAIL]
    room = (2 * IN_CHUNK + tail - seen) * (1 + int(tells_begun))
    told = np.empty((room, counters[LINKS]), np.int64)
    begun, gone = _tell(rows, chunks, due, counters, upto, tells_begun, 0, seen, tail, told, 0, 0)
    for number in range(lists.shape[0]):
        chunk = lists[number]
        while chunk != 0:
            if begun + gone + 2 * IN_CHUNK > told.shape[0]:
                told = _wider(told, begun, gone)
            chunk, begun, gone = _tell_due(
                rows, chunks, due, counters, upto, tells_begun, chunk, told, begun, gone
            )
    counters[SETTLED] = upto
    counters[SEEN] = counters[TAIL]
    if begun + gone == 0:
        return None, 0, 0
    return told, begun, gone


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


@filling
def cover_drop(
    rows: Ints, heads: Places, columns: Ints, counters: Ints, settled: int, wanted: int
) -> int:
    """Drop the oldest rows that ended before what is settled, until so many more have room.

    Rows that stand in the way, because they still hold, move to the tail; none more than once, and
    not too many. Gives how many that were.
    """
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


@filling
def cover_link(
    rows: Ints, heads: Places, columns: Ints, chunks: Places, due: Ints, counters: Ints
) -> None:
    """Link all rows anew; they stand at the beginning of the ring."""
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

"""Kernels that let time pass over a store: what began, what ended, and whose room is free again.

    settle  up to 7    tells what began and what ended until 7
    drop               gives the room of the oldest rows back that are over
    link               builds the hash tables of all rows anew

A row never becomes due earlier than the list of due rows it waits in: intervals only ever grow in
place.
"""

import numpy as np

from larspark.run.interval.kernels.compile import filling, helper, inlined, kernel, maker
from larspark.run.interval.kernels.layout import (
    CHUNK_COUNT,
    CHUNK_NEXT,
    CHUNK_PLACES,
    CHUNKS,
    DEAD,
    FREE,
    FROM,
    HEAD,
    IN_CHUNK,
    LAP,
    LINKS,
    PLACE_MASK,
    RELEASED,
    RING,
    SEEN,
    SETTLED,
    TAIL,
    TO,
    TOUCHED,
    TURNS,
    Ints,
    Places,
    bucket_of,
    drop_ended,
    index_bucket,
    put,
    slot_of,
)


@inlined
def _wait(
    rows: Ints, slot: int, place: int, chunks: Places, due: Ints, counters: Ints, settled: int
) -> None:
    """Put a row on the list of the time point when it begins or, if it has, when it has ended.

    What lies too far ahead for the lists waits in the last one, to be put on another.
    """
    begun = int(rows[slot, FROM] <= settled)
    at = rows[slot, FROM] + begun * (rows[slot, TO] + 1 - rows[slot, FROM])
    turn = min(at, settled + RING) & TURNS
    chunk = due[turn]
    if chunk == 0 or chunks[chunk, CHUNK_COUNT] == IN_CHUNK:
        chunk = counters[FREE]
        if chunk != 0:
            counters[FREE] = chunks[chunk, CHUNK_NEXT]
        else:
            chunk = counters[CHUNKS]
            counters[CHUNKS] = chunk + 1
        chunks[chunk, CHUNK_NEXT] = due[turn]
        chunks[chunk, CHUNK_COUNT] = 0
        due[turn] = chunk
    count = chunks[chunk, CHUNK_COUNT]
    chunks[chunk, CHUNK_PLACES + count] = place & PLACE_MASK
    chunks[chunk, CHUNK_COUNT] = count + 1


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
    places: Places,
    line: int,
    first: int,
    last: int,
    told: Ints,
    begun: int,
    gone: int,
) -> tuple[int, int]:
    """Tell of the rows whose places stand in [first, last) of a line, and let wait what goes on.

    There has to be room for all of them. Gives how many began and ended.
    """
    lap, settled, capacity = counters[LAP], counters[SETTLED], rows.shape[0]
    # They are read together first, so that waiting for memory overlaps.
    sum_of_reads = 0
    for number in range(first, last):
        offset = (places[line, number] - lap) & PLACE_MASK
        sum_of_reads += rows[slot_of(0, offset, capacity), TO]
    counters[TOUCHED] = sum_of_reads
    for number in range(first, last):
        offset = (places[line, number] - lap) & PLACE_MASK
        slot = slot_of(0, offset, capacity)
        low, high = rows[slot, FROM], rows[slot, TO]
        if high == DEAD:
            rows[slot, FROM] = RELEASED
            continue
        if tells_begun and settled < low <= upto:
            put(told, begun, rows, slot, low, high)
            begun += 1
        if high < upto:
            gone += 1
            put(told, told.shape[0] - gone, rows, slot, low, high)
        else:
            _wait(rows, slot, lap + offset, chunks, due, counters, upto)
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
            chunks,
            chunk,
            CHUNK_PLACES,
            last,
            told,
            begun,
            gone,
        )
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
    """
    # The lists that were passed are taken before rows are put on others for the time to come.
    lists = np.empty(min(upto - counters[SETTLED], RING), np.int64)
    for number in range(lists.shape[0]):
        turn = (counters[SETTLED] + 1 + number) & TURNS
        lists[number] = due[turn]
        due[turn] = 0
    new = np.empty((1, counters[TAIL] - counters[SEEN]), np.uint32)
    for number in range(new.shape[1]):
        new[0, number] = (counters[SEEN] + number) & PLACE_MASK
    # As many may have begun as came, and when time passes evenly about as many have ended.
    room = (2 * IN_CHUNK + new.shape[1]) * (1 + int(tells_begun))
    told = np.empty((room, counters[LINKS]), np.int64)
    begun, gone = _tell(
        rows,
        chunks,
        due,
        counters,
        upto,
        tells_begun,
        new,
        0,
        0,
        new.shape[1],
        told,
        0,
        0,
    )
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


@filling
def cover_drop(rows: Ints, counters: Ints, settled: int) -> None:
    """Give the room back of the oldest rows, as far as they ended before what is settled."""
    drop_ended(rows, counters, settled)


@filling
def cover_link(
    rows: Ints, heads: Places, columns: Ints, chunks: Places, due: Ints, counters: Ints
) -> None:
    """Link all rows anew; they stand at the beginning of the ring."""
    mask, links = heads.shape[1] - 1, counters[LINKS]
    for table in range(heads.shape[0]):
        for bucket in range(heads.shape[1]):
            heads[table, bucket] = (counters[HEAD] - 1) & PLACE_MASK
    for turn in range(due.shape[0]):
        due[turn] = 0
    for slot in range(counters[TAIL] - counters[HEAD]):
        place = counters[HEAD] + slot
        for table in range(heads.shape[0]):
            if table == 0:
                bucket = bucket_of(rows, slot, links, mask)
            else:
                bucket = index_bucket(rows, slot, columns, table - 1, mask)
            rows[slot, links + table] = heads[table, bucket]
            heads[table, bucket] = place & PLACE_MASK
        if due.shape[0] > 0:
            _wait(rows, slot, place, chunks, due, counters, counters[SETTLED])

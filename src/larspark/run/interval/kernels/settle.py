"""Kernels that let time pass over a store: what began, what ended, and whose room is free again.

    settle  up to 7    tells what began and what ended until 7
    drop               gives the room of the oldest rows back that are over
    link               builds the hash tables of all rows anew

A row never becomes due earlier than the list of due rows it waits in: intervals only ever grow in
place.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel
from larspark.run.interval.kernels.layout import (
    DEAD,
    FOREVER,
    FROM,
    HEAD,
    LAP,
    NONE,
    PLACE_MASK,
    RING,
    SEEN,
    SETTLED,
    TAIL,
    TO,
    TURNS,
    Ints,
    Places,
    bucket_of,
    index_bucket,
    put,
    slot_of,
)

# Stands for the start of a row that was taken out and waits in no list of due rows.
RELEASED = FOREVER + 1


@inlined
def _wait(
    rows: Ints, slot: int, place: int, waits: Ints, due: Ints, settled: int, horizon: int
) -> None:
    """Put a row on the list of the time point when it begins or, if it has, when it has ended.

    Beyond the horizon there are no lists: the row waits there to be put on another.
    """
    begun = int(rows[slot, FROM] <= settled)
    at = rows[slot, FROM] + begun * (rows[slot, TO] + 1 - rows[slot, FROM])
    turn = min(at, horizon) & TURNS
    waits[slot] = due[turn]
    due[turn] = place


@helper
def _gather(waits: Ints, due: Ints, lap: int, capacity: int, turn: int) -> None:
    """Put everything that waits on one list."""
    gathered = NONE
    for other in range(RING):
        place = due[other]
        due[other] = NONE
        while place != NONE:
            slot = slot_of(0, place - lap, capacity)
            following = waits[slot]
            waits[slot] = gathered
            gathered = place
            place = following
    due[turn] = gathered


@helper
def _wider(told: Ints, begun: int, gone: int) -> Ints:
    """The same lines at the beginning and at the end, with room for as many again between them."""
    size = told.shape[0]
    wider = np.empty((2 * size + 8, told.shape[1]), np.int64)
    for line in range(begun):
        put(wider, line, told, line, told[line, FROM], told[line, TO])
    for line in range(1, gone + 1):
        low, high = told[size - line, FROM], told[size - line, TO]
        put(wider, wider.shape[0] - line, told, size - line, low, high)
    return wider


@helper
def _tell_due(
    rows: Ints,
    waits: Ints,
    due: Ints,
    lap: int,
    settled: int,
    upto: int,
    horizon: int,
    place: int,
    tells_begun: bool,
    told: Ints,
    begun: int,
    gone: int,
) -> tuple[int, int, int]:
    """Tell of the rows on a list from a place on, as long as there is room for two lines.

    Gives the place that was come to, and how many began and ended.
    """
    room, capacity = told.shape[0], rows.shape[0]
    while place != NONE and begun + gone + 2 <= room:
        slot = slot_of(0, place - lap, capacity)
        following = waits[slot]
        low, high = rows[slot, FROM], rows[slot, TO]
        if high == DEAD:
            rows[slot, FROM] = RELEASED
        else:
            if tells_begun and settled < low <= upto:
                put(told, begun, rows, slot, low, high)
                begun += 1
            if high < upto:
                gone += 1
                put(told, room - gone, rows, slot, low, high)
            else:
                _wait(rows, slot, place, waits, due, upto, horizon)
        place = following
    return place, begun, gone


@kernel
def cover_settle(
    rows: Ints, waits: Ints, due: Ints, counters: Ints, upto: int, tells_begun: bool
) -> tuple[Ints | None, int, int]:
    """Let time pass up to a time point: the rows that began, and those that ended before it.

    They come back in one array, which is quicker to hand over than two, with their numbers: those
    that began at its beginning, those that ended at its end; without any, there is none. A row
    that ends right there is not over: it may still go on. Rows wait on the lists of the time points
    that pass; those that were added since time passed last stand together at the tail.
    """
    # As many may have begun as came, and when time passes evenly about as many have ended.
    room = 8 + counters[TAIL] - counters[SEEN]
    told = np.empty((room * (1 + int(tells_begun)), rows.shape[1]), np.int64)
    begun, gone = 0, 0
    settled, lap, capacity = counters[SETTLED], counters[LAP], rows.shape[0]
    first, horizon = settled + 1, settled + RING
    if upto >= horizon:
        _gather(waits, due, lap, capacity, upto & TURNS)
        first, horizon = upto, upto + RING
    for place in range(counters[SEEN], counters[TAIL]):
        waits[slot_of(0, place - lap, capacity)] = due[upto & TURNS]
        due[upto & TURNS] = place
    for time in range(first, upto + 1):
        place = due[time & TURNS]
        due[time & TURNS] = NONE
        while place != NONE:
            if begun + gone + 2 > told.shape[0]:
                told = _wider(told, begun, gone)
            place, begun, gone = _tell_due(
                rows,
                waits,
                due,
                lap,
                settled,
                upto,
                horizon,
                place,
                tells_begun,
                told,
                begun,
                gone,
            )
    counters[SETTLED] = upto
    counters[SEEN] = counters[TAIL]
    if begun + gone == 0:
        return None, 0, 0
    return told, begun, gone


@kernel
def cover_drop(rows: Ints, due: Ints, counters: Ints) -> None:
    """Give the room back of the oldest rows, as far as they ended before what is settled."""
    capacity, settled = rows.shape[0], counters[SETTLED]
    head, lap = counters[HEAD], counters[LAP]
    end = counters[TAIL] if due.shape[0] == 0 else counters[SEEN]
    while head < end:
        slot = head - lap
        if rows[slot, TO] >= settled:
            break
        if rows[slot, TO] == DEAD and due.shape[0] > 0 and rows[slot, FROM] != RELEASED:
            break
        head += 1
        if head - lap == capacity:
            lap = head
    counters[HEAD] = head
    counters[LAP] = lap


@kernel
def cover_link(
    rows: Ints,
    links: Places,
    heads: Places,
    columns: Ints,
    waits: Ints,
    due: Ints,
    counters: Ints,
) -> None:
    """Link all rows anew; they stand at the beginning of the ring."""
    mask = heads.shape[1] - 1
    for table in range(heads.shape[0]):
        for bucket in range(heads.shape[1]):
            heads[table, bucket] = (counters[HEAD] - 1) & PLACE_MASK
    for turn in range(due.shape[0]):
        due[turn] = NONE
    for slot in range(counters[TAIL] - counters[HEAD]):
        place = counters[HEAD] + slot
        for table in range(heads.shape[0]):
            if table == 0:
                bucket = bucket_of(rows, slot, mask)
            else:
                bucket = index_bucket(rows, slot, columns, table - 1, mask)
            links[slot, table] = heads[table, bucket]
            heads[table, bucket] = place & PLACE_MASK
        if due.shape[0] > 0:
            settled = counters[SETTLED]
            _wait(rows, slot, place, waits, due, settled, settled + RING)

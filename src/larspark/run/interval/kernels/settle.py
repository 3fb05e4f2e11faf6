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
    enlarged,
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


@kernel
def cover_settle(
    rows: Ints, waits: Ints, due: Ints, counters: Ints, upto: int, tells_begun: bool
) -> tuple[Ints, Ints]:
    """Let time pass up to a time point: the rows that began, and those that ended before it.

    A row that ends right there is not over: it may still go on. Rows wait on the lists of the time
    points that pass; those that were added since time passed last stand together at the tail.
    """
    # As many may have begun as came, and when time passes evenly about as many have ended.
    room = 8 + counters[TAIL] - counters[SEEN]
    began = np.empty((room * int(tells_begun), rows.shape[1]), np.int64)
    ended = np.empty((room, rows.shape[1]), np.int64)
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
            slot = slot_of(0, place - lap, capacity)
            following = waits[slot]
            low, high = rows[slot, FROM], rows[slot, TO]
            if high == DEAD:
                rows[slot, FROM] = RELEASED
            else:
                if tells_begun and settled < low <= upto:
                    if begun == began.shape[0]:
                        began = enlarged(began)
                    put(began, begun, rows, slot, low, high)
                    begun += 1
                if high < upto:
                    if gone == ended.shape[0]:
                        ended = enlarged(ended)
                    put(ended, gone, rows, slot, low, high)
                    gone += 1
                else:
                    _wait(rows, slot, place, waits, due, upto, horizon)
            place = following
    counters[SETTLED] = upto
    counters[SEEN] = counters[TAIL]
    return began[:begun], ended[:gone]


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

"""Kernels of the cover: for every key the time it holds, as disjoint maximal intervals.

    add     [3,5] to {[1,3], [8,9]}   gives {[1,5], [8,9]}, newly covered: [4,5]
    remove  [4,8] from {[1,9]}        gives {[1,3], [9,9]}
    settle  up to 7                   tells what began and what ended until 7
    drop                              gives the room of the oldest rows back that are over

Intervals only ever grow in place. To shrink one, its row is taken out and new rows take over, so
that a row never becomes due earlier than the list of due rows it waits in.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel
from larspark.run.interval.kernels.layout import (
    DEAD,
    END,
    FOREVER,
    FRESH,
    FROM,
    HEAD,
    KEYS,
    LAP,
    NONE,
    PLACE_MASK,
    RING,
    SEEN,
    SETTLED,
    TAIL,
    TO,
    TOUCHED,
    TURNS,
    Ints,
    Places,
    enlarged,
    enlarged_line,
    follow,
    mix,
    put,
    slot_of,
)

# Stands for the start of a row that was taken out and waits in no list of due rows.
RELEASED = FOREVER + 1


@inlined
def _bucket(rows: Ints, row: int, mask: int) -> int:
    state = 0
    for column in range(KEYS, rows.shape[1]):
        state = mix(state, rows[row, column])
    return state & mask


@inlined
def _index_bucket(rows: Ints, row: int, columns: Ints, index: int, mask: int) -> int:
    state = 0
    for number in range(columns.shape[1]):
        if columns[index, number] == NONE:
            break
        state = mix(state, rows[row, columns[index, number]])
    return state & mask


@inlined
def _same(rows: Ints, row: int, batch: Ints, source: int) -> bool:
    for column in range(KEYS, rows.shape[1]):
        if rows[row, column] != batch[source, column]:
            return False
    return True


@helper
def _buckets(
    rows: Ints, links: Places, heads: Places, columns: Ints, counters: Ints, batch: Ints
) -> Ints:
    """The bucket of every batch row in every hash table.

    What stands there is read already here, all together, so that waiting for memory overlaps.
    """
    mask = heads.shape[1] - 1
    buckets = np.empty((batch.shape[0], heads.shape[0]), np.int64)
    for source in range(batch.shape[0]):
        buckets[source, 0] = _bucket(batch, source, mask)
        for index in range(columns.shape[0]):
            buckets[source, index + 1] = _index_bucket(batch, source, columns, index, mask)
    head = counters[HEAD]
    first, length = head - counters[LAP], counters[TAIL] - head
    sum_of_reads = 0
    for source in range(batch.shape[0]):
        offset = follow(heads[0, buckets[source, 0]], head, length)
        if offset != NONE:
            slot = slot_of(first, offset, rows.shape[0])
            sum_of_reads += rows[slot, TO] + links[slot, 0]
        for index in range(columns.shape[0]):
            sum_of_reads += heads[index + 1, buckets[source, index + 1]]
    counters[TOUCHED] = sum_of_reads
    return buckets


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


@inlined
def _append(
    rows: Ints,
    links: Places,
    heads: Places,
    counters: Ints,
    buckets: Ints,
    batch: Ints,
    source: int,
    low: int,
    high: int,
) -> None:
    """Add a row of its own; the caller has made sure that there is room."""
    place = counters[TAIL]
    counters[TAIL] = place + 1
    slot = slot_of(0, place - counters[LAP], rows.shape[0])
    put(rows, slot, batch, source, low, high)
    for table in range(heads.shape[0]):
        bucket = buckets[source, table]
        links[slot, table] = heads[table, bucket]
        heads[table, bucket] = place & PLACE_MASK


@helper
def _uncovered(
    rows: Ints,
    links: Places,
    counters: Ints,
    newest: int,
    batch: Ints,
    source: int,
    position: int,
) -> tuple[int, int]:
    """The first stretch of a batch row from `position` on that its key does not hold yet.

    Without any, a stretch after the batch row comes back.
    """
    head, end = counters[HEAD], batch[source, TO]
    first = head - counters[LAP]
    while position <= end:
        # The covered stretch that comes next.
        begins, ends = end + 1, end
        offset = newest
        while offset != NONE:
            slot = slot_of(first, offset, rows.shape[0])
            if (
                rows[slot, TO] >= position
                and rows[slot, FROM] < begins
                and _same(rows, slot, batch, source)
            ):
                begins, ends = rows[slot, FROM], rows[slot, TO]
            offset = follow(links[slot, 0], head, offset)
        if begins > position:
            return position, min(begins - 1, end)
        position = ends + 1
    return end + 1, end + 1


@helper
def _take_out(
    rows: Ints,
    links: Places,
    counters: Ints,
    newest: int,
    batch: Ints,
    source: int,
    start: int,
    holder: int,
) -> None:
    """Take out the rows of a key that an interval touches, all but one."""
    head, end = counters[HEAD], batch[source, TO]
    first = head - counters[LAP]
    offset = newest
    while offset != NONE:
        slot = slot_of(first, offset, rows.shape[0])
        if (
            slot != holder
            and rows[slot, TO] >= start - 1
            and rows[slot, FROM] <= end + 1
            and _same(rows, slot, batch, source)
        ):
            rows[slot, TO] = DEAD
        offset = follow(links[slot, 0], head, offset)


@kernel
def cover_add(
    rows: Ints,
    links: Places,
    heads: Places,
    columns: Ints,
    counters: Ints,
    batch: Ints,
    floor: int,
) -> tuple[Ints, Ints]:
    """Add intervals, as far as they are not before `floor`; what is newly covered comes back.

    For each piece of it also comes back since when its key has held without a gap.
    """
    pieces = np.empty(batch.shape, np.int64)
    since = np.empty(batch.shape[0], np.int64)
    count = 0
    buckets = _buckets(rows, links, heads, columns, counters, batch)
    head, capacity = counters[HEAD], rows.shape[0]
    first = head - counters[LAP]
    counters[FRESH] = counters[TAIL]
    for source in range(batch.shape[0]):
        start, end = max(batch[source, FROM], floor), batch[source, TO]
        if start > end:
            continue
        newest = follow(heads[0, buckets[source, 0]], head, counters[TAIL] - head)
        # The rows of this key that the interval touches; most often there is one or none.
        touched, low, high, holder = 0, start, end, NONE
        offset = newest
        while offset != NONE:
            slot = slot_of(first, offset, capacity)
            if (
                rows[slot, TO] >= start - 1
                and rows[slot, FROM] <= end + 1
                and _same(rows, slot, batch, source)
            ):
                touched += 1
                if rows[slot, FROM] <= low:
                    low, holder = rows[slot, FROM], slot
                high = max(high, rows[slot, TO])
            offset = follow(links[slot, 0], head, offset)
        piece_from, piece_to = start, end
        if touched == 1 and holder != NONE:
            piece_from = max(start, rows[holder, TO] + 1)
        elif touched > 0:
            piece_from, piece_to = _uncovered(rows, links, counters, newest, batch, source, start)
        while piece_from <= end:
            if count == since.shape[0]:
                pieces, since = enlarged(pieces), enlarged_line(since)
            since[count] = low
            put(pieces, count, batch, source, piece_from, piece_to)
            count += 1
            if piece_to == end:
                break
            piece_from, piece_to = _uncovered(
                rows, links, counters, newest, batch, source, piece_to + 1
            )
        if touched > 1 or (touched == 1 and holder == NONE):
            _take_out(rows, links, counters, newest, batch, source, start, holder)
        counters[END] = max(counters[END], high)
        if holder != NONE:
            rows[holder, TO] = high
        else:
            if touched > 0:
                # The new row takes over what others held.
                counters[FRESH] = FOREVER
            _append(rows, links, heads, counters, buckets, batch, source, low, high)
    return pieces[:count], since[:count]


@kernel
def cover_remove(
    rows: Ints,
    links: Places,
    heads: Places,
    columns: Ints,
    counters: Ints,
    batch: Ints,
    floor: int,
) -> Ints:
    """Take intervals away, as far as they are not before `floor`; what was covered comes back."""
    pieces = np.empty(batch.shape, np.int64)
    count = 0
    buckets = _buckets(rows, links, heads, columns, counters, batch)
    head, capacity = counters[HEAD], rows.shape[0]
    first = head - counters[LAP]
    for source in range(batch.shape[0]):
        start, end = max(batch[source, FROM], floor), batch[source, TO]
        if start > end:
            continue
        offset = follow(heads[0, buckets[source, 0]], head, counters[TAIL] - head)
        while offset != NONE:
            slot = slot_of(first, offset, capacity)
            began, ended = rows[slot, FROM], rows[slot, TO]
            if ended >= start and began <= end and _same(rows, slot, batch, source):
                if count == len(pieces):
                    pieces = enlarged(pieces)
                put(pieces, count, batch, source, max(start, began), min(end, ended))
                count += 1
                rows[slot, TO] = DEAD
                for low, high in ((began, start - 1), (end + 1, ended)):
                    if low <= high:
                        _append(rows, links, heads, counters, buckets, batch, source, low, high)
            offset = follow(links[slot, 0], head, offset)
    return pieces[:count]


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
                bucket = _bucket(rows, slot, mask)
            else:
                bucket = _index_bucket(rows, slot, columns, table - 1, mask)
            links[slot, table] = heads[table, bucket]
            heads[table, bucket] = place & PLACE_MASK
        if due.shape[0] > 0:
            settled = counters[SETTLED]
            _wait(rows, slot, place, waits, due, settled, settled + RING)

"""Kernels of the cover: for every key the time it holds, as disjoint maximal intervals.

    add     [3,5] to {[1,3], [8,9]}   gives {[1,5], [8,9]}, newly covered: [4,5]
    remove  [4,8] from {[1,9]}        gives {[1,3], [9,9]}
    settle  up to 7                   tells what began and ended until 7, and frees what ended

Intervals only ever grow in place. To shrink one, its row dies and new rows take over, so that a
row never becomes due earlier than the list of due rows it waits in.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, kernel
from larspark.run.interval.kernels.layout import (
    BATCH_KEYS,
    DEAD,
    DUE,
    FREE,
    FROM,
    IDLE,
    KEYS,
    LIVE,
    NEXT,
    NONE,
    RING,
    SETTLED,
    TO,
    USED,
    Ints,
    enlarged,
    enlarged_line,
    mix,
    put,
)


@helper
def _bucket(rows: Ints, row: int, width: int, mask: int) -> int:
    state = 0
    for column in range(KEYS, KEYS + width):
        state = mix(state, rows[row, column])
    return state & mask


@helper
def _index_bucket(rows: Ints, row: int, columns: Ints, mask: int) -> int:
    state = 0
    for column in columns:
        if column == NONE:
            break
        state = mix(state, rows[row, column])
    return state & mask


@helper
def _link(rows: Ints, row: int, width: int, heads: Ints, indexes: Ints, columns: Ints) -> None:
    """Enter a row into the hash table of keys and into all indexes."""
    bucket = _bucket(rows, row, width, heads.shape[0] - 1)
    rows[row, NEXT] = heads[bucket]
    heads[bucket] = row
    for number in range(columns.shape[0]):
        link = KEYS + width + 2 * number
        bucket = _index_bucket(rows, row, columns[number], indexes.shape[1] - 1)
        following = indexes[number, bucket]
        rows[row, link] = NONE
        rows[row, link + 1] = following
        if following != NONE:
            rows[following, link] = row
        indexes[number, bucket] = row


@helper
def _unlink(rows: Ints, row: int, width: int, heads: Ints, indexes: Ints, columns: Ints) -> None:
    bucket = _bucket(rows, row, width, heads.shape[0] - 1)
    if heads[bucket] == row:
        heads[bucket] = rows[row, NEXT]
    else:
        before = heads[bucket]
        while rows[before, NEXT] != row:
            before = rows[before, NEXT]
        rows[before, NEXT] = rows[row, NEXT]
    for number in range(columns.shape[0]):
        link = KEYS + width + 2 * number
        previous, following = rows[row, link], rows[row, link + 1]
        if following != NONE:
            rows[following, link] = previous
        if previous != NONE:
            rows[previous, link + 1] = following
        else:
            bucket = _index_bucket(rows, row, columns[number], indexes.shape[1] - 1)
            indexes[number, bucket] = following


@helper
def _wait(rows: Ints, row: int, due: Ints, settled: int) -> None:
    """Put a row on the list of the time point when it begins or, if it has, when it has ended."""
    at = rows[row, FROM] if rows[row, FROM] > settled else rows[row, TO] + 1
    slot = min(at, settled + RING - 1) % RING
    rows[row, DUE] = due[slot]
    due[slot] = row


@helper
def _bury(
    rows: Ints, row: int, width: int, heads: Ints, indexes: Ints, columns: Ints, counters: Ints
) -> None:
    _unlink(rows, row, width, heads, indexes, columns)
    rows[row, TO] = DEAD
    counters[LIVE] -= 1


@helper
def _take(rows: Ints, counters: Ints) -> int:
    """A free row; the caller has made sure that there is one."""
    row = counters[FREE]
    if row != NONE:
        counters[FREE] = rows[row, NEXT]
        counters[IDLE] -= 1
    else:
        row = counters[USED]
        counters[USED] += 1
    counters[LIVE] += 1
    return row


@helper
def _free(rows: Ints, row: int, counters: Ints) -> None:
    rows[row, NEXT] = counters[FREE]
    counters[FREE] = row
    counters[IDLE] += 1


@helper
def _same(rows: Ints, row: int, batch: Ints, source: int, width: int) -> bool:
    for column in range(width):
        if rows[row, KEYS + column] != batch[source, BATCH_KEYS + column]:
            return False
    return True


@helper
def _fill(rows: Ints, row: int, batch: Ints, source: int, low: int, high: int) -> None:
    rows[row, FROM] = low
    rows[row, TO] = high
    for column in range(batch.shape[1] - BATCH_KEYS):
        rows[row, KEYS + column] = batch[source, BATCH_KEYS + column]


@kernel
def cover_add(
    rows: Ints,
    heads: Ints,
    indexes: Ints,
    columns: Ints,
    due: Ints,
    counters: Ints,
    batch: Ints,
    floor: int,
) -> tuple[Ints, Ints]:
    """Add intervals, as far as they are not before `floor`; what is newly covered comes back.

    For each piece of it also comes back since when its key has held without a gap.
    """
    width = batch.shape[1] - BATCH_KEYS
    pieces = np.empty(batch.shape, np.int64)
    since = np.empty(batch.shape[0], np.int64)
    count = 0
    for source in range(batch.shape[0]):
        start, end = max(batch[source, FROM], floor), batch[source, TO]
        if start > end:
            continue
        state = 0
        for column in range(BATCH_KEYS, BATCH_KEYS + width):
            state = mix(state, batch[source, column])
        first = heads[state & (heads.shape[0] - 1)]
        # The rows of this key that the interval touches; most often there is one or none.
        touched, low, high, holder = 0, start, end, NONE
        row = first
        while row != NONE:
            if (
                rows[row, FROM] <= end + 1
                and rows[row, TO] >= start - 1
                and _same(rows, row, batch, source, width)
            ):
                touched += 1
                if rows[row, FROM] <= low:
                    low, holder = rows[row, FROM], row
                high = max(high, rows[row, TO])
            row = rows[row, NEXT]
        if touched > 0:
            position = start
            while position <= end:
                # The covered stretch that comes next, from `position` on.
                begins, ends = end + 1, end
                row = first
                while row != NONE:
                    if (
                        rows[row, TO] >= position
                        and rows[row, FROM] < begins
                        and _same(rows, row, batch, source, width)
                    ):
                        begins, ends = rows[row, FROM], rows[row, TO]
                    row = rows[row, NEXT]
                if begins > position:
                    if count == since.shape[0]:
                        pieces, since = enlarged(pieces), enlarged_line(since)
                    since[count] = low
                    put(pieces, count, batch, source, position, min(begins - 1, end))
                    count += 1
                position = ends + 1
            if touched > 1 or holder == NONE:
                row = first
                while row != NONE:
                    following = rows[row, NEXT]
                    if (
                        row != holder
                        and rows[row, FROM] <= end + 1
                        and rows[row, TO] >= start - 1
                        and _same(rows, row, batch, source, width)
                    ):
                        _bury(rows, row, width, heads, indexes, columns, counters)
                    row = following
        else:
            if count == since.shape[0]:
                pieces, since = enlarged(pieces), enlarged_line(since)
            since[count] = start
            put(pieces, count, batch, source, start, end)
            count += 1
        if holder != NONE:
            rows[holder, TO] = high
        else:
            row = _take(rows, counters)
            _fill(rows, row, batch, source, low, high)
            _link(rows, row, width, heads, indexes, columns)
            _wait(rows, row, due, counters[SETTLED])
    return pieces[:count], since[:count]


@kernel
def cover_remove(
    rows: Ints,
    heads: Ints,
    indexes: Ints,
    columns: Ints,
    due: Ints,
    counters: Ints,
    batch: Ints,
    floor: int,
) -> Ints:
    """Take intervals away, as far as they are not before `floor`; what was covered comes back."""
    width = batch.shape[1] - BATCH_KEYS
    pieces = np.empty(batch.shape, np.int64)
    count = 0
    for source in range(batch.shape[0]):
        start, end = max(batch[source, FROM], floor), batch[source, TO]
        if start > end:
            continue
        state = 0
        for column in range(BATCH_KEYS, BATCH_KEYS + width):
            state = mix(state, batch[source, column])
        row = heads[state & (heads.shape[0] - 1)]
        while row != NONE:
            following = rows[row, NEXT]
            began, ended = rows[row, FROM], rows[row, TO]
            if began <= end and ended >= start and _same(rows, row, batch, source, width):
                low, high = max(start, began), min(end, ended)
                if count == pieces.shape[0]:
                    pieces = enlarged(pieces)
                put(pieces, count, batch, source, low, high)
                count += 1
                _bury(rows, row, width, heads, indexes, columns, counters)
                for low, high in ((began, start - 1), (end + 1, ended)):
                    if low > high:
                        continue
                    rest = _take(rows, counters)
                    _fill(rows, rest, batch, source, low, high)
                    _link(rows, rest, width, heads, indexes, columns)
                    _wait(rows, rest, due, counters[SETTLED])
            row = following
    return pieces[:count]


@helper
def _copy(out: Ints, count: int, rows: Ints, row: int) -> None:
    out[count, FROM] = rows[row, FROM]
    out[count, TO] = rows[row, TO]
    for column in range(out.shape[1] - BATCH_KEYS):
        out[count, BATCH_KEYS + column] = rows[row, KEYS + column]


@kernel
def cover_settle(
    rows: Ints,
    heads: Ints,
    indexes: Ints,
    columns: Ints,
    due: Ints,
    counters: Ints,
    width: int,
    upto: int,
) -> tuple[Ints, Ints]:
    """Let time pass up to a time point: the rows that began, and those that ended before it.

    A row that ended is freed; one that ends right there stays, because it may still go on.
    """
    began = np.empty((8, BATCH_KEYS + width), np.int64)
    ended = np.empty((8, BATCH_KEYS + width), np.int64)
    begun, gone = 0, 0
    settled = counters[SETTLED]
    waiting = NONE
    for time in range(settled + 1, min(upto, settled + RING) + 1):
        row = due[time % RING]
        due[time % RING] = NONE
        while row != NONE:
            following = rows[row, DUE]
            rows[row, DUE] = waiting
            waiting = row
            row = following
    counters[SETTLED] = max(settled, upto)
    row = waiting
    while row != NONE:
        following = rows[row, DUE]
        if rows[row, TO] == DEAD:
            _free(rows, row, counters)
            row = following
            continue
        if settled < rows[row, FROM] <= upto:
            if begun == began.shape[0]:
                began = enlarged(began)
            _copy(began, begun, rows, row)
            begun += 1
        if rows[row, TO] < upto:
            if gone == ended.shape[0]:
                ended = enlarged(ended)
            _copy(ended, gone, rows, row)
            gone += 1
            _bury(rows, row, width, heads, indexes, columns, counters)
            _free(rows, row, counters)
        else:
            _wait(rows, row, due, upto)
        row = following
    return began[:begun], ended[:gone]


@kernel
def cover_rebuild(
    rows: Ints, heads: Ints, indexes: Ints, columns: Ints, counters: Ints, width: int
) -> None:
    """Enter all rows anew into hash tables that have grown."""
    heads[:] = NONE
    indexes[:, :] = NONE
    for row in range(counters[USED]):
        if rows[row, TO] != DEAD:
            _link(rows, row, width, heads, indexes, columns)

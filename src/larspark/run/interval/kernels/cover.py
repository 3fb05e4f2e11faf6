"""Kernels of the cover: for every key the time it holds, as disjoint maximal intervals.

    add     [3,5] to {[1,3], [8,9]}   gives {[1,5], [8,9]}, newly covered: [4,5]
    remove  [4,8] from {[1,9]}        gives {[1,3], [9,9]}
    settle  up to 7                   tells what began and what ended until 7
    compact                           throws out what is over

Intervals only ever grow in place. To shrink one, its row is taken out and new rows take over, so
that a row never becomes due earlier than the list of due rows it waits in.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, kernel
from larspark.run.interval.kernels.layout import (
    BURIED,
    DEAD,
    FROM,
    KEYS,
    NONE,
    RING,
    SETTLED,
    TO,
    TOUCHED,
    USED,
    Ints,
    Links,
    enlarged,
    enlarged_line,
    mix,
    put,
)


@helper
def _bucket(rows: Ints, row: int, mask: int) -> int:
    state = 0
    for column in range(KEYS, rows.shape[1]):
        state = mix(state, rows[row, column])
    return state & mask


@helper
def _index_bucket(rows: Ints, row: int, columns: Ints, index: int, mask: int) -> int:
    state = 0
    for number in range(columns.shape[1]):
        if columns[index, number] == NONE:
            break
        state = mix(state, rows[row, columns[index, number]])
    return state & mask


@helper
def _same(rows: Ints, row: int, batch: Ints, source: int) -> bool:
    for column in range(KEYS, rows.shape[1]):
        if rows[row, column] != batch[source, column]:
            return False
    return True


@helper
def _link(rows: Ints, row: int, links: Links, heads: Links, columns: Ints) -> None:
    """Enter a row into the hash table of keys and into all indexes."""
    mask = heads.shape[1] - 1
    bucket = _bucket(rows, row, mask)
    links[row, 0] = heads[0, bucket]
    heads[0, bucket] = row
    for index in range(columns.shape[0]):
        bucket = _index_bucket(rows, row, columns, index, mask)
        links[row, index + 1] = heads[index + 1, bucket]
        heads[index + 1, bucket] = row


@helper
def _wait(rows: Ints, row: int, links: Links, due: Links, settled: int) -> None:
    """Put a row on the list of the time point when it begins or, if it has, when it has ended."""
    at = rows[row, FROM] if rows[row, FROM] > settled else rows[row, TO] + 1
    slot = min(at, settled + RING - 1) % RING
    links[row, links.shape[1] - 1] = due[slot]
    due[slot] = row


@helper
def _append(
    rows: Ints,
    links: Links,
    heads: Links,
    due: Links,
    counters: Ints,
    buckets: Ints,
    batch: Ints,
    source: int,
    low: int,
    high: int,
) -> None:
    """Add a row of its own; the caller has made sure that there is room."""
    row = counters[USED]
    counters[USED] = row + 1
    put(rows, row, batch, source, low, high)
    for table in range(heads.shape[0]):
        bucket = buckets[source, table]
        links[row, table] = heads[table, bucket]
        heads[table, bucket] = row
    if due.shape[0] > 0:
        _wait(rows, row, links, due, counters[SETTLED])


@helper
def _buckets(rows: Ints, heads: Links, columns: Ints, counters: Ints, batch: Ints) -> Ints:
    """The bucket of every batch row in every hash table.

    What stands there is read already here, all together, so that waiting for memory overlaps.
    """
    mask = heads.shape[1] - 1
    buckets = np.empty((batch.shape[0], heads.shape[0]), np.int64)
    for source in range(batch.shape[0]):
        buckets[source, 0] = _bucket(batch, source, mask)
        for index in range(columns.shape[0]):
            buckets[source, index + 1] = _index_bucket(batch, source, columns, index, mask)
    sum_of_reads = 0
    for source in range(batch.shape[0]):
        row = heads[0, buckets[source, 0]]
        if row != NONE:
            sum_of_reads += rows[row, TO]
        for index in range(columns.shape[0]):
            sum_of_reads += heads[index + 1, buckets[source, index + 1]]
    counters[TOUCHED] = sum_of_reads
    return buckets


@kernel
def cover_add(
    rows: Ints,
    links: Links,
    heads: Links,
    columns: Ints,
    due: Links,
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
    buckets = _buckets(rows, heads, columns, counters, batch)
    for source in range(batch.shape[0]):
        start, end = max(batch[source, FROM], floor), batch[source, TO]
        if start > end:
            continue
        first = heads[0, buckets[source, 0]]
        # The rows of this key that the interval touches; most often there is one or none.
        touched, low, high, holder = 0, start, end, NONE
        row = first
        while row != NONE:
            if (
                rows[row, TO] >= start - 1
                and rows[row, FROM] <= end + 1
                and _same(rows, row, batch, source)
            ):
                touched += 1
                if rows[row, FROM] <= low:
                    low, holder = rows[row, FROM], row
                high = max(high, rows[row, TO])
            row = links[row, 0]
        position = start
        while position <= end:
            # The covered stretch that comes next, from `position` on.
            begins, ends = end + 1, end
            row = first if touched > 0 else NONE
            while row != NONE:
                if (
                    rows[row, TO] >= position
                    and rows[row, FROM] < begins
                    and _same(rows, row, batch, source)
                ):
                    begins, ends = rows[row, FROM], rows[row, TO]
                row = links[row, 0]
            if begins > position:
                if count == since.shape[0]:
                    pieces, since = enlarged(pieces), enlarged_line(since)
                since[count] = low
                put(pieces, count, batch, source, position, min(begins - 1, end))
                count += 1
            position = ends + 1
        if touched > 1 or (touched == 1 and holder == NONE):
            row = first
            while row != NONE:
                if (
                    row != holder
                    and rows[row, TO] >= start - 1
                    and rows[row, FROM] <= end + 1
                    and _same(rows, row, batch, source)
                ):
                    rows[row, TO] = DEAD
                    counters[BURIED] += 1
                row = links[row, 0]
        if holder != NONE:
            rows[holder, TO] = high
        else:
            _append(rows, links, heads, due, counters, buckets, batch, source, low, high)
    return pieces[:count], since[:count]


@kernel
def cover_remove(
    rows: Ints,
    links: Links,
    heads: Links,
    columns: Ints,
    due: Links,
    counters: Ints,
    batch: Ints,
    floor: int,
) -> Ints:
    """Take intervals away, as far as they are not before `floor`; what was covered comes back."""
    pieces = np.empty(batch.shape, np.int64)
    count = 0
    buckets = _buckets(rows, heads, columns, counters, batch)
    for source in range(batch.shape[0]):
        start, end = max(batch[source, FROM], floor), batch[source, TO]
        if start > end:
            continue
        row = heads[0, buckets[source, 0]]
        while row != NONE:
            following = links[row, 0]
            began, ended = rows[row, FROM], rows[row, TO]
            if ended >= start and began <= end and _same(rows, row, batch, source):
                if count == pieces.shape[0]:
                    pieces = enlarged(pieces)
                put(pieces, count, batch, source, max(start, began), min(end, ended))
                count += 1
                rows[row, TO] = DEAD
                counters[BURIED] += 1
                if began < start:
                    _append(
                        rows, links, heads, due, counters, buckets, batch, source, began, start - 1
                    )
                if ended > end:
                    _append(
                        rows, links, heads, due, counters, buckets, batch, source, end + 1, ended
                    )
            row = following
    return pieces[:count]


@kernel
def cover_settle(
    rows: Ints, links: Links, due: Links, counters: Ints, upto: int
) -> tuple[Ints, Ints]:
    """Let time pass up to a time point: the rows that began, and those that ended before it.

    A row that ends right there is not over: it may still go on.
    """
    began = np.empty((8, rows.shape[1]), np.int64)
    ended = np.empty((8, rows.shape[1]), np.int64)
    begun, gone = 0, 0
    settled = counters[SETTLED]
    waiting = NONE
    chain = links.shape[1] - 1
    for time in range(settled + 1, min(upto, settled + RING) + 1):
        row = due[time % RING]
        due[time % RING] = NONE
        while row != NONE:
            following = links[row, chain]
            links[row, chain] = waiting
            waiting = row
            row = following
    counters[SETTLED] = max(settled, upto)
    row = waiting
    while row != NONE:
        following = links[row, chain]
        low, high = rows[row, FROM], rows[row, TO]
        if high != DEAD:
            if settled < low <= upto:
                if begun == began.shape[0]:
                    began = enlarged(began)
                put(began, begun, rows, row, low, high)
                begun += 1
            if high < upto:
                if gone == ended.shape[0]:
                    ended = enlarged(ended)
                put(ended, gone, rows, row, low, high)
                gone += 1
            else:
                _wait(rows, row, links, due, upto)
        row = following
    return began[:begun], ended[:gone]


@kernel
def cover_compact(
    rows: Ints, links: Links, heads: Links, columns: Ints, due: Links, counters: Ints, keep: int
) -> None:
    """Throw out the rows that ended before `keep`, and link the others anew."""
    used = 0
    for row in range(counters[USED]):
        if rows[row, TO] >= keep:
            if used < row:
                for column in range(rows.shape[1]):
                    rows[used, column] = rows[row, column]
            used += 1
    counters[USED] = used
    counters[BURIED] = 0
    heads[:, :] = NONE
    due[:] = NONE
    for row in range(used):
        _link(rows, row, links, heads, columns)
        if due.shape[0] > 0:
            _wait(rows, row, links, due, counters[SETTLED])

"""Kernels that look rows up: joins intersect intervals, subtraction leaves what is not covered."""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel
from larspark.run.interval.kernels.layout import (
    FRESH,
    FROM,
    HEAD,
    KEYS,
    LAP,
    NONE,
    TAIL,
    TO,
    TOUCHED,
    Ints,
    Places,
    enlarged,
    follow,
    mix,
    put,
    slot_of,
)


@inlined
def _matches(rows: Ints, row: int, row_keys: Ints, batch: Ints, source: int, keys: Ints) -> bool:
    for number in range(keys.shape[0]):
        if rows[row, row_keys[number]] != batch[source, keys[number]]:
            return False
    return True


@helper
def _newest(
    rows: Ints,
    links: Places,
    heads: Places,
    index: int,
    counters: Ints,
    batch: Ints,
    keys: Ints,
) -> Ints:
    """The newest row in the bucket of every batch row, by its offset from the head.

    They are read together, so that waiting for memory overlaps.
    """
    newest = np.empty(batch.shape[0], np.int64)
    mask = heads.shape[1] - 1
    head = counters[HEAD]
    first, length = head - counters[LAP], counters[TAIL] - head
    for source in range(batch.shape[0]):
        state = 0
        for number in range(keys.shape[0]):
            state = mix(state, batch[source, keys[number]])
        newest[source] = follow(heads[index, state & mask], head, length)
    sum_of_reads = 0
    for source in range(batch.shape[0]):
        if newest[source] != NONE:
            slot = slot_of(first, newest[source], rows.shape[0])
            sum_of_reads += rows[slot, TO] + links[slot, index]
    counters[TOUCHED] = sum_of_reads
    return newest


@kernel
def join(
    rows: Ints,
    links: Places,
    heads: Places,
    counters: Ints,
    index: int,
    row_keys: Ints,
    batch: Ints,
    keys: Ints,
    picks: Ints,
    old: bool,
) -> Ints:
    """Every batch row with every stored row of equal keys, as long as both hold.

    `index` is the number of the hash table over `row_keys`. `picks` are the columns that come out:
    those of the batch row by their numbers, those of the stored row by the complements of theirs.
    With `old` rows are left out that hold only what was added last.
    """
    out = np.empty((batch.shape[0], KEYS + picks.shape[0]), np.int64)
    count = 0
    newest = _newest(rows, links, heads, index, counters, batch, keys)
    head = counters[HEAD]
    first = head - counters[LAP]
    fresh = counters[FRESH] - head if old else counters[TAIL]
    for source in range(batch.shape[0]):
        offset = newest[source]
        while offset != NONE:
            slot = slot_of(first, offset, rows.shape[0])
            if offset >= fresh:
                offset = follow(links[slot, index], head, offset)
                continue
            start = max(batch[source, FROM], rows[slot, FROM])
            end = min(batch[source, TO], rows[slot, TO])
            if start <= end and _matches(rows, slot, row_keys, batch, source, keys):
                if count == out.shape[0]:
                    out = enlarged(out)
                out[count, FROM] = start
                out[count, TO] = end
                for number in range(picks.shape[0]):
                    pick = picks[number]
                    if pick >= 0:
                        out[count, KEYS + number] = batch[source, pick]
                    else:
                        out[count, KEYS + number] = rows[slot, ~pick]
                count += 1
            offset = follow(links[slot, index], head, offset)
    return out[:count]


@kernel
def subtract(
    rows: Ints,
    links: Places,
    heads: Places,
    counters: Ints,
    index: int,
    row_keys: Ints,
    batch: Ints,
    keys: Ints,
) -> Ints:
    """Every batch row for the times at which no stored row of equal keys holds."""
    out = np.empty(batch.shape, np.int64)
    count = 0
    newest = _newest(rows, links, heads, index, counters, batch, keys)
    head = counters[HEAD]
    first = head - counters[LAP]
    for source in range(batch.shape[0]):
        position, end = batch[source, FROM], batch[source, TO]
        while position <= end:
            # The covered stretch that comes next, from `position` on.
            begins, ends = end + 1, end
            offset = newest[source]
            while offset != NONE:
                slot = slot_of(first, offset, rows.shape[0])
                if (
                    rows[slot, TO] >= position
                    and rows[slot, FROM] < begins
                    and _matches(rows, slot, row_keys, batch, source, keys)
                ):
                    begins, ends = rows[slot, FROM], rows[slot, TO]
                offset = follow(links[slot, index], head, offset)
            if begins > position:
                if count == len(out):
                    out = enlarged(out)
                put(out, count, batch, source, position, min(begins - 1, end))
                count += 1
            position = ends + 1
    return out[:count]


@kernel
def project(batch: Ints, picks: Ints) -> Ints:
    """The batch with only some of its columns, in another order."""
    out = np.empty((batch.shape[0], KEYS + picks.shape[0]), np.int64)
    for source in range(batch.shape[0]):
        out[source, FROM] = batch[source, FROM]
        out[source, TO] = batch[source, TO]
        for number in range(picks.shape[0]):
            out[source, KEYS + number] = batch[source, picks[number]]
    return out

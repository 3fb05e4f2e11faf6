"""Kernels that look rows up: joins intersect intervals, subtraction leaves what is not covered."""

import numpy as np

from larspark.run.interval.kernels.compile import helper, kernel
from larspark.run.interval.kernels.layout import (
    FROM,
    KEYS,
    NONE,
    TO,
    TOUCHED,
    Ints,
    Links,
    enlarged,
    mix,
    put,
)


@helper
def _matches(rows: Ints, row: int, row_keys: Ints, batch: Ints, source: int, keys: Ints) -> bool:
    for number in range(keys.shape[0]):
        if rows[row, row_keys[number]] != batch[source, keys[number]]:
            return False
    return True


@helper
def _firsts(
    rows: Ints, heads: Links, index: int, counters: Ints, batch: Ints, keys: Ints
) -> Ints:
    """The first row of every batch row's bucket, read together so that waiting overlaps."""
    first = np.empty(batch.shape[0], np.int64)
    mask = heads.shape[1] - 1
    for source in range(batch.shape[0]):
        state = 0
        for column in keys:
            state = mix(state, batch[source, column])
        first[source] = heads[index, state & mask]
    sum_of_reads = 0
    for source in range(batch.shape[0]):
        if first[source] != NONE:
            sum_of_reads += rows[first[source], TO]
    counters[TOUCHED] = sum_of_reads
    return first


@kernel
def join(
    rows: Ints,
    links: Links,
    heads: Links,
    counters: Ints,
    index: int,
    row_keys: Ints,
    batch: Ints,
    keys: Ints,
    taken: Ints,
) -> Ints:
    """Every batch row with every stored row of equal keys, as long as both hold.

    `index` is the number of the hash table over `row_keys`; the columns `taken` of the stored row
    come after those of the batch row.
    """
    width = batch.shape[1]
    out = np.empty((batch.shape[0], width + taken.shape[0]), np.int64)
    count = 0
    first = _firsts(rows, heads, index, counters, batch, keys)
    for source in range(batch.shape[0]):
        row = first[source]
        while row != NONE:
            start = max(batch[source, FROM], rows[row, FROM])
            end = min(batch[source, TO], rows[row, TO])
            if start <= end and _matches(rows, row, row_keys, batch, source, keys):
                if count == out.shape[0]:
                    out = enlarged(out)
                out[count, FROM] = start
                out[count, TO] = end
                for column in range(KEYS, width):
                    out[count, column] = batch[source, column]
                for number in range(taken.shape[0]):
                    out[count, width + number] = rows[row, taken[number]]
                count += 1
            row = links[row, index]
    return out[:count]


@kernel
def subtract(
    rows: Ints,
    links: Links,
    heads: Links,
    counters: Ints,
    index: int,
    row_keys: Ints,
    batch: Ints,
    keys: Ints,
) -> Ints:
    """Every batch row for the times at which no stored row of equal keys holds."""
    out = np.empty(batch.shape, np.int64)
    count = 0
    first = _firsts(rows, heads, index, counters, batch, keys)
    for source in range(batch.shape[0]):
        position, end = batch[source, FROM], batch[source, TO]
        while position <= end:
            # The covered stretch that comes next, from `position` on.
            begins, ends = end + 1, end
            row = first[source]
            while row != NONE:
                if (
                    rows[row, TO] >= position
                    and rows[row, FROM] < begins
                    and _matches(rows, row, row_keys, batch, source, keys)
                ):
                    begins, ends = rows[row, FROM], rows[row, TO]
                row = links[row, index]
            if begins > position:
                if count == out.shape[0]:
                    out = enlarged(out)
                put(out, count, batch, source, position, min(begins - 1, end))
                count += 1
            position = ends + 1
    return out[:count]

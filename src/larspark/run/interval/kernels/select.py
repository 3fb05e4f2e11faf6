"""Kernels that copy, cut and encode rows, and drop duplicates."""

import numpy as np

from larspark.run.interval.kernels.compile import filling, helper, inlined, kernel
from larspark.run.interval.kernels.hash_chains import mix
from larspark.run.interval.kernels.layout import (
    FOREVER,
    FROM,
    HEAD,
    LAP,
    LINK_COLUMN,
    NONE,
    TAIL,
    TO,
    EntryIds,
    Ints,
    put,
    rows_of,
    slot_of,
)
from larspark.run.interval.kernels.scan import TIME

# The two lowest bits of a code say what kind of constant it is; 0 is an integer.
_TAG_BITS = 2


@filling
def cut(batch: Ints, first: int, last: int, out: Ints, count: int) -> int:
    """Write the rows that hold within [first, last], cut to it, to the output from `count` on.

    Returns how many lines the output has then; the caller has checked that there is room.
    """
    for source in range(batch.shape[0]):
        low, high = max(batch[source, FROM], first), min(batch[source, TO], last)
        if low <= high:
            put(out, count, batch, source, low, high)
            count += 1
    return count


@helper
def _copy_rows(rows: Ints, header: Ints, since: int, out: Ints) -> int:
    head, lap, capacity = header[HEAD], header[LAP], rows.shape[0]
    count = 0
    for offset in range(header[TAIL] - head):
        slot = slot_of(head - lap, offset, capacity)
        if rows[slot, TO] >= since:
            for column in range(out.shape[1]):
                out[count, column] = rows[slot, column]
            count += 1
    return count


@kernel
def live_rows(header: Ints, since: int) -> Ints:
    """The rows of a store that did not end before a time point."""
    out = np.empty((header[TAIL] - header[HEAD], header[LINK_COLUMN]), np.int64)
    return out[: _copy_rows(rows_of(header), header, since, out)]


@filling
def pin(times: Ints, rows: Ints) -> None:
    """Write time points into the rows of elements, which hold from then on, forever."""
    for line in range(times.shape[0]):
        rows[line, FROM] = times[line]
        rows[line, TO] = FOREVER
        rows[line, TIME] = times[line]


@filling
def code_integers(numbers: Ints, rows: Ints, column: int, limit: int) -> bool:
    """Write the codes of integers into a column; False if one is not below the limit."""
    for line in range(numbers.shape[0]):
        number = numbers[line]
        if number >= limit or number <= -limit:
            return False
        rows[line, column] = number << _TAG_BITS
    return True


@inlined
def _same(rows: Ints, row: int, found: Ints, line: int) -> bool:
    for column in range(TIME, rows.shape[1]):
        if rows[row, column] != found[line, column]:
            return False
    return True


@helper
def pass_first(rows: Ints, places: EntryIds, found: Ints, lines: Ints) -> int:
    """Write each element once, with the number of its line; returns how many there are."""
    mask = places.shape[0] - 1
    # Until it is known how many lines there are, their array holds the buckets.
    for row in range(rows.shape[0]):
        state = 0
        for column in range(TIME, rows.shape[1]):
            state = mix(state, rows[row, column])
        lines[row] = state & mask
    count = 0
    for row in range(rows.shape[0]):
        bucket = lines[row]
        line = places[bucket]
        while line != NONE and not _same(rows, row, found, line):
            bucket = (bucket + 1) & mask
            line = places[bucket]
        if line == NONE:
            places[bucket] = count
            put(found, count, rows, row, rows[row, FROM], rows[row, TO])
            lines[count] = row
            count += 1
    return count


@kernel
def first_arrivals(rows: Ints, found: Ints, lines: Ints) -> int:
    """Write the rows of elements without duplicates, and the numbers of their lines.

    Returns how many there are.
    """
    size = 16
    while size < 2 * rows.shape[0]:
        size *= 2
    return pass_first(rows, np.full(size, NONE, np.int32), found, lines)

"""Kernels that look rows up: joins intersect intervals, subtraction leaves what is not covered."""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel
from larspark.run.interval.kernels.layout import (
    BLOCK,
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
def _find_newest(
    rows: Ints,
    links: Places,
    heads: Places,
    index: int,
    counters: Ints,
    batch: Ints,
    begin: int,
    stop: int,
    keys: Ints,
    newest: Ints,
) -> None:
    """The newest row in the bucket of batch rows [begin, stop), by its offset from the head.

    They are read together, so that waiting for memory overlaps.
    """
    mask = heads.shape[1] - 1
    head = counters[HEAD]
    first, length = head - counters[LAP], counters[TAIL] - head
    for source in range(begin, stop):
        state = 0
        for number in range(keys.shape[0]):
            state = mix(state, batch[source, keys[number]])
        newest[source - begin] = follow(heads[index, state & mask], head, length)
    sum_of_reads = 0
    for source in range(stop - begin):
        if newest[source] != NONE:
            slot = slot_of(first, newest[source], rows.shape[0])
            sum_of_reads += rows[slot, TO] + links[slot, index]
    # And the one before it, which is there often enough.
    for source in range(stop - begin):
        if newest[source] != NONE:
            slot = slot_of(first, newest[source], rows.shape[0])
            offset = follow(links[slot, index], head, newest[source])
            if offset != NONE:
                slot = slot_of(first, offset, rows.shape[0])
                sum_of_reads += rows[slot, TO] + links[slot, index]
    counters[TOUCHED] = sum_of_reads


@helper
def _join_rows(
    rows: Ints,
    links: Places,
    counters: Ints,
    index: int,
    row_keys: Ints,
    batch: Ints,
    source: int,
    begin: int,
    stop: int,
    newest: Ints,
    keys: Ints,
    picks: Ints,
    fresh: int,
    out: Ints,
    count: int,
) -> tuple[int, int]:
    """Join batch rows [source, stop); gives the row that was come to, and the lines of output.

    It stops before a row whose matches do not fit. `begin` is the row that `newest` begins with.
    """
    head = counters[HEAD]
    first = head - counters[LAP]
    while source < stop:
        found = count
        offset = newest[source - begin]
        while offset != NONE:
            slot = slot_of(first, offset, rows.shape[0])
            start = max(batch[source, FROM], rows[slot, FROM])
            end = min(batch[source, TO], rows[slot, TO])
            if (
                offset < fresh
                and start <= end
                and _matches(rows, slot, row_keys, batch, source, keys)
            ):
                if found == out.shape[0]:
                    return source, count
                out[found, FROM] = start
                out[found, TO] = end
                for number in range(picks.shape[0]):
                    pick = picks[number]
                    if pick >= 0:
                        out[found, KEYS + number] = batch[source, pick]
                    else:
                        out[found, KEYS + number] = rows[slot, ~pick]
                found += 1
            offset = follow(links[slot, index], head, offset)
        count = found
        source += 1
    return source, count


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
    newest = np.empty(min(BLOCK, batch.shape[0]), np.int64)
    fresh = counters[FRESH] - counters[HEAD] if old else counters[TAIL]
    count = 0
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        _find_newest(rows, links, heads, index, counters, batch, begin, stop, keys, newest)
        done = begin
        while done < stop:
            done, count = _join_rows(
                rows,
                links,
                counters,
                index,
                row_keys,
                batch,
                done,
                begin,
                stop,
                newest,
                keys,
                picks,
                fresh,
                out,
                count,
            )
            if done < stop:
                out = enlarged(out)
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
    newest = np.empty(min(BLOCK, batch.shape[0]), np.int64)
    count = 0
    head = counters[HEAD]
    first = head - counters[LAP]
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        _find_newest(rows, links, heads, index, counters, batch, begin, stop, keys, newest)
        for source in range(begin, stop):
            position, end = batch[source, FROM], batch[source, TO]
            while position <= end:
                # The covered stretch that comes next, from `position` on.
                begins, ends = end + 1, end
                offset = newest[source - begin]
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

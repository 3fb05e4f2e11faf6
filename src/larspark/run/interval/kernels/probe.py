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
    LINKS,
    NONE,
    TAIL,
    TO,
    Ints,
    Places,
    enlarged,
    follow,
    heads_of,
    mix,
    put,
    rows_of,
    slot_of,
    touch_chains,
)

# How rows are looked up: the number of the hash table, whether only by what is old, where the
# columns begin that are compared with those of the store, where those begin that come out; then the
# columns of the store, and these.
TABLE, OLD, PAIRED, PICKED, FIRST_KEY = 0, 1, 2, 3, 4


@inlined
def _matches(rows: Ints, row: int, row_keys: Ints, batch: Ints, source: int, keys: Ints) -> bool:
    for number in range(keys.shape[0]):
        if rows[row, row_keys[number]] != batch[source, keys[number]]:
            return False
    return True


@helper
def _find_newest(
    rows: Ints,
    heads: Places,
    index: int,
    counters: Ints,
    batch: Ints,
    begin: int,
    stop: int,
    keys: Ints,
    newest: Ints,
    active: Ints,
) -> None:
    """The newest row in the bucket of batch rows [begin, stop), by its offset from the head.

    The chains there are read already here, all together.
    """
    mask = heads.shape[1] - 1
    head = counters[HEAD]
    length, chains = counters[TAIL] - head, 0
    for source in range(begin, stop):
        state = 0
        for number in range(keys.shape[0]):
            state = mix(state, batch[source, keys[number]])
        newest[source - begin] = state & mask
    for number in range(stop - begin):
        newest[number] = heads[index, newest[number]]
    for number in range(stop - begin):
        newest[number] = follow(newest[number], head, length)
        active[chains] = newest[number]
        chains += int(newest[number] != NONE)
    touch_chains(rows, counters, counters[LINKS] + index, active, chains, 0)


@helper
def _join_rows(
    rows: Ints,
    counters: Ints,
    link: int,
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

    It stops before a row whose matches do not fit. `begin` is the row that `newest` begins with,
    `link` the column of the links to older rows.
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
            offset = follow(rows[slot, link], head, offset)
        count = found
        source += 1
    return source, count


@kernel
def join(store: Ints, batch: Ints, how: Ints) -> Ints:
    """Every batch row with every stored row of equal keys, as long as both hold.

    `how` says by which hash table, and which columns come out: those of the batch row by their
    numbers, those of the stored row by the complements of theirs. Asked for `OLD` rows, it leaves
    out those that hold only what was added last.
    """
    rows, heads = rows_of(store), heads_of(store)
    row_keys, keys, picks = (
        how[FIRST_KEY : how[PAIRED]],
        how[how[PAIRED] : how[PICKED]],
        how[how[PICKED] :],
    )
    out = np.empty((batch.shape[0], KEYS + picks.shape[0]), np.int64)
    newest = np.empty(min(BLOCK, batch.shape[0]), np.int64)
    active = np.empty(newest.shape[0], np.int64)
    fresh = store[FRESH] - store[HEAD] if how[OLD] != 0 else store[TAIL]
    count = 0
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        _find_newest(rows, heads, how[TABLE], store, batch, begin, stop, keys, newest, active)
        done = begin
        while done < stop:
            done, count = _join_rows(
                rows,
                store,
                store[LINKS] + how[TABLE],
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


@helper
def _subtract_rows(
    rows: Ints,
    counters: Ints,
    link: int,
    row_keys: Ints,
    batch: Ints,
    source: int,
    begin: int,
    stop: int,
    newest: Ints,
    keys: Ints,
    out: Ints,
    count: int,
) -> tuple[int, int]:
    """What is left of batch rows [source, stop), told as in `_join_rows`."""
    head = counters[HEAD]
    first = head - counters[LAP]
    while source < stop:
        found = count
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
                offset = follow(rows[slot, link], head, offset)
            if begins > position:
                if found == out.shape[0]:
                    return source, count
                put(out, found, batch, source, position, min(begins - 1, end))
                found += 1
            position = ends + 1
        count = found
        source += 1
    return source, count


@kernel
def subtract(store: Ints, batch: Ints, how: Ints) -> Ints:
    """Every batch row for the times at which no stored row of equal keys holds."""
    rows, heads = rows_of(store), heads_of(store)
    row_keys, keys = how[FIRST_KEY : how[PAIRED]], how[how[PAIRED] : how[PICKED]]
    out = np.empty(batch.shape, np.int64)
    newest = np.empty(min(BLOCK, batch.shape[0]), np.int64)
    active = np.empty(newest.shape[0], np.int64)
    count = 0
    for begin in range(0, batch.shape[0], BLOCK):
        stop = min(begin + BLOCK, batch.shape[0])
        _find_newest(rows, heads, how[TABLE], store, batch, begin, stop, keys, newest, active)
        done = begin
        while done < stop:
            done, count = _subtract_rows(
                rows,
                store,
                store[LINKS] + how[TABLE],
                row_keys,
                batch,
                done,
                begin,
                stop,
                newest,
                keys,
                out,
                count,
            )
            if done < stop:
                out = enlarged(out)
    return out[:count]

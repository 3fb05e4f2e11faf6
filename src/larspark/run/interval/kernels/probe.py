"""The kernel that looks batch rows up in a store: join and subtract.

join      [3,9] with {[1,4], [8,12]}   gives [3,4], [8,9]
subtract  {[1,4], [8,12]} from [3,9]   gives [5,7]
"""

from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined, kernel, maker
from larspark.run.interval.kernels.hash_chains import follow, mix, prefetch_chains
from larspark.run.interval.kernels.layout import (
    BLOCK,
    FRESH,
    FROM,
    HEAD,
    KEYS,
    LAP,
    LINK_COLUMN,
    NONE,
    TAIL,
    TO,
    Ints,
    StoreArrays,
    arrays_of,
    enlarged,
    put,
    slot_of,
)

# A lookup as kernels receive it: JOIN, JOIN_OLD or SUBTRACT; the number of the hash table; where
# the batch columns that are compared and the picked columns begin; then the key columns of the
# store, the batch columns, and the picks. Subtracting keeps all columns and needs no picks.
HOW, TABLE, PAIRED, PICKED, FIRST_KEY = 0, 1, 2, 3, 4
# JOIN_OLD leaves out the rows that hold only what was added last.
JOIN, JOIN_OLD, SUBTRACT = 0, 1, 2


class Lookup(NamedTuple):
    """A batch, and how its rows are looked up."""

    batch: Ints
    row_keys: Ints
    keys: Ints
    # Columns of the output: of the batch by number, of the store by the complement of the number.
    picks: Ints
    table: int
    # Rows at this offset from the head or after it are left out.
    fresh: int


@inlined
def _matches(rows: Ints, row: int, lookup: Lookup, source: int) -> bool:
    for number in range(lookup.keys.shape[0]):
        if rows[row, lookup.row_keys[number]] != lookup.batch[source, lookup.keys[number]]:
            return False
    return True


@helper
def _find_newest(
    store: StoreArrays, lookup: Lookup, begin: int, stop: int, newest: Ints, active: Ints
) -> None:
    """Write the offset of the newest row in the bucket of batch rows [begin, stop).

    The chains are prefetched.
    """
    header, heads, batch, keys = store.header, store.heads, lookup.batch, lookup.keys
    mask = heads.shape[1] - 1
    head = header[HEAD]
    length, chains = header[TAIL] - head, 0
    for source in range(begin, stop):
        state = 0
        for number in range(keys.shape[0]):
            state = mix(state, batch[source, keys[number]])
        newest[source - begin] = state & mask
    for number in range(stop - begin):
        newest[number] = heads[lookup.table, newest[number]]
    for number in range(stop - begin):
        newest[number] = follow(newest[number], head, length)
        active[chains] = newest[number]
        chains += int(newest[number] != NONE)
    link = header[LINK_COLUMN] + lookup.table
    prefetch_chains(store.rows, header, link, active, chains, 0)


@helper
def _join_rows(
    store: StoreArrays,
    lookup: Lookup,
    begin: int,
    source: int,
    stop: int,
    newest: Ints,
    out: Ints,
    count: int,
) -> tuple[int, int]:
    """Join batch rows [source, stop); returns the row reached, and the lines of output.

    Stops before a row whose matches do not fit. `newest` begins with batch row `begin`.
    """
    rows, batch, picks = store.rows, lookup.batch, lookup.picks
    head, link = store.header[HEAD], store.header[LINK_COLUMN] + lookup.table
    first, fresh = head - store.header[LAP], lookup.fresh
    while source < stop:
        found = count
        offset = newest[source - begin]
        while offset != NONE:
            slot = slot_of(first, offset, rows.shape[0])
            start = max(batch[source, FROM], rows[slot, FROM])
            end = min(batch[source, TO], rows[slot, TO])
            if offset < fresh and start <= end and _matches(rows, slot, lookup, source):
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


@helper
def _subtract_rows(
    store: StoreArrays,
    lookup: Lookup,
    begin: int,
    source: int,
    stop: int,
    newest: Ints,
    out: Ints,
    count: int,
) -> tuple[int, int]:
    """Subtract from batch rows [source, stop); returns the same as `_join_rows`."""
    rows, batch = store.rows, lookup.batch
    head, link = store.header[HEAD], store.header[LINK_COLUMN] + lookup.table
    first = head - store.header[LAP]
    while source < stop:
        found = count
        position, end = batch[source, FROM], batch[source, TO]
        while position <= end:
            # The next covered stretch from `position` on.
            begins, ends = end + 1, end
            offset = newest[source - begin]
            while offset != NONE:
                slot = slot_of(first, offset, rows.shape[0])
                if (
                    rows[slot, TO] >= position
                    and rows[slot, FROM] < begins
                    and _matches(rows, slot, lookup, source)
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


@inlined
def probe_width(batch: Ints, how: Ints) -> int:
    """The columns of the result of a lookup."""
    return batch.shape[1] if how[HOW] == SUBTRACT else KEYS + how.shape[0] - how[PICKED]


@maker
def look_up(
    header: Ints, batch: Ints, how: Ints, begin: int, out: Ints, count: int
) -> tuple[int, int]:
    """Look batch rows up from `begin` on; returns the row reached, and the lines of output.

    Stops before a row whose result does not fit.
    """
    store = arrays_of(header)
    paired, picked = how[PAIRED], how[PICKED]
    fresh = header[FRESH] - header[HEAD] if how[HOW] == JOIN_OLD else header[TAIL]
    lookup = Lookup(
        batch, how[FIRST_KEY:paired], how[paired:picked], how[picked:], how[TABLE], fresh
    )
    newest = np.empty(min(BLOCK, batch.shape[0]), np.int64)
    active = np.empty(newest.shape[0], np.int64)
    while begin < batch.shape[0]:
        stop = min(begin + BLOCK, batch.shape[0])
        _find_newest(store, lookup, begin, stop, newest, active)
        if how[HOW] == SUBTRACT:
            done, count = _subtract_rows(store, lookup, begin, begin, stop, newest, out, count)
        else:
            done, count = _join_rows(store, lookup, begin, begin, stop, newest, out, count)
        begin = done
        if done < stop:
            break
    return begin, count


@kernel
def probe(header: Ints, batch: Ints, how: Ints) -> Ints:
    """Look every batch row up.

    A join gives the row with every stored row of equal keys while both hold; subtracting gives the
    row for the times at which no stored row of equal keys holds.
    """
    out = np.empty((batch.shape[0], probe_width(batch, how)), np.int64)
    done, count = look_up(header, batch, how, 0, out, 0)
    while done < batch.shape[0]:
        out = enlarged(out)
        done, count = look_up(header, batch, how, done, out, count)
    return out[:count]

"""Hash chains through the rows of a store: hashing, following, prefetching and appending."""

from larspark.run.interval.kernels.compile import helper, inlined
from larspark.run.interval.kernels.layout import (
    DEPTH,
    FROM,
    HEAD,
    ID_MASK,
    KEYS,
    LAP,
    NONE,
    PREFETCHED,
    TAIL,
    Ints,
    StoreArrays,
    put,
    slot_of,
)


@inlined
def mix(state: int, value: int) -> int:
    """One step of the hash: multiply by the golden ratio, fold the high half onto the low."""
    state = (state ^ value) * -7046029254386353131
    return state ^ (state >> 32)


@inlined
def bucket_of(rows: Ints, row: int, links: int, mask: int) -> int:
    """The bucket of a row in the hash table over all keys, which end at column `links`."""
    state = 0
    for column in range(KEYS, links):
        state = mix(state, rows[row, column])
    return state & mask


@inlined
def index_bucket(rows: Ints, row: int, columns: Ints, index: int, mask: int) -> int:
    """The bucket of a row in the hash table of an index."""
    state = 0
    for number in range(columns.shape[1]):
        if columns[index, number] == NONE:
            break
        state = mix(state, rows[row, columns[index, number]])
    return state & mask


@inlined
def follow(row_id: int, head: int, limit: int) -> int:
    """The offset of a row id from the head; NONE unless it is below the limit."""
    offset = (row_id - head) & ID_MASK
    return (offset + 1) * int(offset < limit) - 1


@inlined
def same_keys(rows: Ints, row: int, block: Ints, source: int) -> bool:
    """Does a row of the store have the keys of a row of the block?"""
    for column in range(KEYS, block.shape[1]):
        if rows[row, column] != block[source, column]:
            return False
    return True


@helper
def prefetch_chains(
    rows: Ints, header: Ints, link: int, active: Ints, count: int, sum_of_reads: int
) -> None:
    """Read the first rows of `count` chains, which begin at these offsets from the head.

    One row of every chain is read before the next row of any: memory accesses overlap, and the rows
    are in the cache when the chains are followed one after another.
    """
    head = header[HEAD]
    first, length = head - header[LAP], header[TAIL] - head
    for _ in range(DEPTH):
        for number in range(count):
            active[number] = slot_of(first, active[number], rows.shape[0])
        # A loop that does little besides reading keeps more reads in flight. A row may begin in one
        # cache line and end in the next.
        for number in range(count):
            sum_of_reads += rows[active[number], FROM]
            active[number] = rows[active[number], link]
        kept = 0
        for number in range(count):
            older = follow(active[number], head, length)
            active[kept] = older
            kept += int(older != NONE)
        count = kept
    header[PREFETCHED] = sum_of_reads


@helper
def find_buckets(store: StoreArrays, block: Ints, count: int, buckets: Ints, active: Ints) -> None:
    """Write the bucket of the first `count` rows of a block in every hash table.

    The chains of the table over all keys are prefetched.
    """
    header, heads, columns = store.header, store.heads, store.columns
    mask = heads.shape[1] - 1
    sum_of_reads = 0
    for source in range(count):
        buckets[source, 0] = bucket_of(block, source, block.shape[1], mask)
        for index in range(columns.shape[0]):
            buckets[source, index + 1] = index_bucket(block, source, columns, index, mask)
    for table in range(heads.shape[0]):
        for source in range(count):
            sum_of_reads += heads[table, buckets[source, table]]
    head = header[HEAD]
    length, chains = header[TAIL] - head, 0
    for source in range(count):
        active[chains] = follow(heads[0, buckets[source, 0]], head, length)
        chains += int(active[chains] != NONE)
    prefetch_chains(store.rows, header, block.shape[1], active, chains, sum_of_reads)


@inlined
def append(
    store: StoreArrays,
    row_id: int,
    buckets: Ints,
    block: Ints,
    source: int,
    low: int,
    high: int,
) -> None:
    """Append a row of a block with another interval; the caller has checked that there is room."""
    slot = slot_of(0, row_id - store.header[LAP], store.rows.shape[0])
    put(store.rows, slot, block, source, low, high)
    for table in range(store.heads.shape[0]):
        bucket = buckets[source, table]
        store.rows[slot, block.shape[1] + table] = store.heads[table, bucket]
        store.heads[table, bucket] = row_id & ID_MASK


@helper
def drop_repeats(block: Ints, count: int) -> int:
    """Drop rows that equal the row before; returns how many of the first `count` are left.

    Where a formula projects variables away, the same row often comes many times in a row.
    """
    kept = min(count, 1)
    for source in range(1, count):
        same = True
        for column in range(block.shape[1]):
            if block[source, column] != block[kept - 1, column]:
                same = False
                break
        if same:
            continue
        if kept < source:
            for column in range(block.shape[1]):
                block[kept, column] = block[source, column]
        kept += 1
    return kept

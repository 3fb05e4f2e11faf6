"""Lists of rows by the time when there is something to tell of them: that they begin, or ended."""

from larspark.run.interval.kernels.compile import helper, inlined
from larspark.run.interval.kernels.layout import (
    CHUNK_COUNT,
    CHUNK_NEXT,
    CHUNK_PLACES,
    CHUNKS,
    FOREVER,
    FREE,
    FROM,
    HEAD,
    IN_CHUNK,
    KEYS,
    NONE,
    PLACE_MASK,
    RING,
    TAIL,
    TO,
    TURNS,
    WAITING,
    Ints,
    Places,
    bucket_of,
    follow,
    index_bucket,
    put,
    slot_of,
    touch_chains,
)


@inlined
def chunks_needed(waiting: int) -> int:
    """So many chunks are enough for so many places: of every list, one may not be full."""
    return waiting // IN_CHUNK + RING + 2


@inlined
def wait_for_turn(
    rows: Ints, slot: int, place: int, chunks: Places, due: Ints, counters: Ints, settled: int
) -> None:
    """Put a row on the list of the time point when it begins or, if it has, when it has ended.

    What lies too far ahead for the lists waits in the last one, to be put on another; and what has
    begun and never ends is on none.
    """
    at = rows[slot, FROM]
    if at <= settled:
        at = rows[slot, TO] + 1
        if at > FOREVER:
            return
    counters[WAITING] += 1
    turn = min(max(at, settled + 1), settled + RING) & TURNS
    chunk = due[turn]
    if chunk == 0 or chunks[chunk, CHUNK_COUNT] == IN_CHUNK:
        chunk = counters[FREE]
        if chunk != 0:
            counters[FREE] = chunks[chunk, CHUNK_NEXT]
        else:
            chunk = counters[CHUNKS]
            counters[CHUNKS] = chunk + 1
        chunks[chunk, CHUNK_NEXT] = due[turn]
        chunks[chunk, CHUNK_COUNT] = 0
        due[turn] = chunk
    count = chunks[chunk, CHUNK_COUNT]
    chunks[chunk, CHUNK_PLACES + count] = place & PLACE_MASK
    chunks[chunk, CHUNK_COUNT] = count + 1


@inlined
def same_keys(rows: Ints, row: int, block: Ints, source: int) -> bool:
    """Has a row of the store the keys of one of the block?"""
    for column in range(KEYS, block.shape[1]):
        if rows[row, column] != block[source, column]:
            return False
    return True


@helper
def without_repetitions(block: Ints, count: int) -> int:
    """Leave out rows that equal the one before; gives how many of the first `count` are left.

    Where a formula leaves variables out, the same row often comes many times in a row.
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


@helper
def find_buckets(
    rows: Ints,
    heads: Places,
    columns: Ints,
    counters: Ints,
    block: Ints,
    count: int,
    buckets: Ints,
    active: Ints,
) -> None:
    """The bucket of the first `count` rows of a block in every hash table.

    The chains there are read already here, all together.
    """
    mask = heads.shape[1] - 1
    sum_of_reads = 0
    for source in range(count):
        buckets[source, 0] = bucket_of(block, source, block.shape[1], mask)
        for index in range(columns.shape[0]):
            buckets[source, index + 1] = index_bucket(block, source, columns, index, mask)
    for table in range(heads.shape[0]):
        for source in range(count):
            sum_of_reads += heads[table, buckets[source, table]]
    head = counters[HEAD]
    length, chains = counters[TAIL] - head, 0
    for source in range(count):
        active[chains] = follow(heads[0, buckets[source, 0]], head, length)
        chains += int(active[chains] != NONE)
    touch_chains(rows, counters, block.shape[1], active, chains, sum_of_reads)


@inlined
def append(
    rows: Ints,
    heads: Places,
    lap: int,
    place: int,
    buckets: Ints,
    block: Ints,
    source: int,
    low: int,
    high: int,
) -> None:
    """Add a row of its own at a place; the caller has made sure that there is room."""
    slot = slot_of(0, place - lap, rows.shape[0])
    put(rows, slot, block, source, low, high)
    for table in range(heads.shape[0]):
        bucket = buckets[source, table]
        rows[slot, block.shape[1] + table] = heads[table, bucket]
        heads[table, bucket] = place & PLACE_MASK

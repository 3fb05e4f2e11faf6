"""The timing wheel of a store: row ids by the time point at which they begin or have ended."""

from larspark.run.interval.kernels.compile import helper, inlined
from larspark.run.interval.kernels.layout import (
    CHUNK_COUNT,
    CHUNK_IDS,
    CHUNK_NEXT,
    CHUNKS_USED,
    EXPIRED_UPTO,
    FOREVER,
    FREE_CHUNKS,
    FROM,
    ID_MASK,
    IN_CHUNK,
    SCHEDULED,
    TO,
    WHEEL_MASK,
    WHEEL_SIZE,
    Ints,
    StoreArrays,
)


@inlined
def chunks_needed(scheduled: int) -> int:
    """Enough chunks for so many row ids: in every slot, one chunk may not be full."""
    return scheduled // IN_CHUNK + WHEEL_SIZE + 2


@inlined
def schedule(store: StoreArrays, slot: int, row_id: int, now: int) -> None:
    """Schedule a row for the time point at which it begins or, if it has begun, has ended.

    What lies beyond the wheel goes into the last slot, to be scheduled again from there. A row that
    has begun and never ends is not scheduled.
    """
    header, chunks, wheel = store.header, store.chunks, store.wheel
    at = store.rows[slot, FROM]
    if at <= now:
        at = store.rows[slot, TO] + 1
        if at > FOREVER:
            return
    header[SCHEDULED] += 1
    wheel_slot = min(max(at, now + 1), now + WHEEL_SIZE) & WHEEL_MASK
    chunk = wheel[wheel_slot]
    if chunk == 0 or chunks[chunk, CHUNK_COUNT] == IN_CHUNK:
        chunk = header[FREE_CHUNKS]
        if chunk != 0:
            header[FREE_CHUNKS] = chunks[chunk, CHUNK_NEXT]
        else:
            chunk = header[CHUNKS_USED]
            header[CHUNKS_USED] = chunk + 1
        chunks[chunk, CHUNK_NEXT] = wheel[wheel_slot]
        chunks[chunk, CHUNK_COUNT] = 0
        wheel[wheel_slot] = chunk
    count = chunks[chunk, CHUNK_COUNT]
    chunks[chunk, CHUNK_IDS + count] = row_id & ID_MASK
    chunks[chunk, CHUNK_COUNT] = count + 1


@helper
def take_row_ids(store: StoreArrays, chunk: int, row_ids: Ints) -> tuple[int, int]:
    """Move row ids out of a list of chunks, as many chunks as fit, and free these.

    Returns the chunk reached, and how many row ids there are.
    """
    header, chunks = store.header, store.chunks
    count = 0
    while chunk != 0 and count + IN_CHUNK <= row_ids.shape[0]:
        size = chunks[chunk, CHUNK_COUNT]
        for number in range(size):
            row_ids[count + number] = chunks[chunk, CHUNK_IDS + number]
        count += size
        following = chunks[chunk, CHUNK_NEXT]
        chunks[chunk, CHUNK_NEXT] = header[FREE_CHUNKS]
        header[FREE_CHUNKS] = chunk
        chunk = following
    header[SCHEDULED] -= count
    return chunk, count


@helper
def take_slots(store: StoreArrays, upto: int, lists: Ints) -> None:
    """Empty the slots of the time points up to `upto`; their lists of chunks are written."""
    for number in range(lists.shape[0]):
        wheel_slot = (store.header[EXPIRED_UPTO] + 1 + number) & WHEEL_MASK
        lists[number] = store.wheel[wheel_slot]
        store.wheel[wheel_slot] = 0

"""Lists of rows by the time when there is something to tell of them: that they begin, or ended."""

from larspark.run.interval.kernels.compile import inlined
from larspark.run.interval.kernels.layout import (
    CHUNK_COUNT,
    CHUNK_NEXT,
    CHUNK_PLACES,
    CHUNKS,
    FOREVER,
    FREE,
    FROM,
    IN_CHUNK,
    PLACE_MASK,
    RING,
    TO,
    TURNS,
    WAITING,
    Ints,
    Places,
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

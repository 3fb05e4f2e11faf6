"""Kernels that find texts by their bytes in a hash table, and copy texts out of it.

A table is an arena of bytes, a line for every place of the table of constants (the hash of the
text, where it begins in the arena and where it ends), and slots that hold places.
"""

import numpy as np
from numpy.typing import NDArray

from larspark.run.interval.kernels.addressing import word_at
from larspark.run.interval.kernels.coded_numbers import TABLE_TAG, TAG_BITS
from larspark.run.interval.kernels.compile import filling, helper, inlined
from larspark.run.interval.kernels.hash_chains import mix
from larspark.run.interval.kernels.layout import BLOCK, EntryIds, Ints

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int32]

# Columns of lines. A place without a text begins NOWHERE.
HASH, BEGIN, END = 0, 1, 2
LINE_SIZE = 3
NOWHERE = -1
# The state of a table: the bytes used, the next place, how many places are free, a secret, and what
# prefetching reads.
USED, NEXT, FREE, SECRET, PREFETCHED = 0, 1, 2, 3, 4
STATE_SIZE = 5


@inlined
def _word(data: Bytes, place: int, end: int) -> int:
    """Up to eight bytes from a place on, as an integer."""
    if place + 8 <= end:
        return word_at(data, place)
    if place + 8 <= data.shape[0]:
        # What follows the text is cut off.
        return word_at(data, place) & ((1 << 8 * int(end - place)) - 1)
    word, shift = 0, 0
    for each in range(place, end):
        word |= int(data[each]) << shift
        shift += 8
    return word


@helper
def _hash(data: Bytes, begin: int, end: int, secret: int) -> int:
    state = secret ^ (end - begin)
    # Eight bytes at a time, because a step of the hash waits for the one before.
    for place in range(begin, end, 8):
        state = mix(state, _word(data, place, end))
    return state


@helper
def _is_at(line: Ints, arena: Bytes, data: Bytes, begin: int, end: int) -> bool:
    first = line[BEGIN]
    if line[END] - first != end - begin:
        return False
    for offset in range(0, end - begin, 8):
        if _word(arena, first + offset, line[END]) != _word(data, begin + offset, end):
            return False
    return True


@helper
def _keep(
    line: Ints, arena: Bytes, data: Bytes, begin: int, end: int, found: int, state: Ints
) -> None:
    """Write a text into the arena, and where it is into its line."""
    first = state[USED]
    for offset in range(end - begin):
        arena[first + offset] = data[begin + offset]
    state[USED] = first + end - begin
    line[HASH], line[BEGIN], line[END] = found, first, first + end - begin


@helper
def _vacant(slots: EntryIds, found: int) -> int:
    mask = slots.shape[0] - 1
    slot = found & mask
    while slots[slot] != NOWHERE:
        slot = (slot + 1) & mask
    return slot


@helper
def _hash_block(
    offsets: Offsets,
    data: Bytes,
    slots: EntryIds,
    lines: Ints,
    secret: int,
    begin: int,
    stop: int,
    hashes: Ints,
) -> int:
    """Write the hashes of texts, and read where these lead: memory accesses overlap.

    A sum of what was read is returned, so that it is not left out.
    """
    mask, sum_of_reads = slots.shape[0] - 1, 0
    for text in range(begin, stop):
        hashes[text] = _hash(data, offsets[text], offsets[text + 1], secret)
    for text in range(begin, stop):
        sum_of_reads += slots[hashes[text] & mask]
    for text in range(begin, stop):
        place = slots[hashes[text] & mask]
        if place != NOWHERE:
            sum_of_reads += lines[place, HASH]
    return sum_of_reads


@helper
def _code_block(
    offsets: Offsets,
    data: Bytes,
    arena: Bytes,
    slots: EntryIds,
    lines: Ints,
    free: Ints,
    state: Ints,
    first: int,
    stop: int,
    codes: Ints,
) -> None:
    """Write the codes of texts over their hashes."""
    mask = slots.shape[0] - 1
    for text in range(first, stop):
        begin, end = offsets[text], offsets[text + 1]
        found = codes[text]
        slot = found & mask
        place = slots[slot]
        while place != NOWHERE:
            if lines[place, HASH] == found and _is_at(lines[place], arena, data, begin, end):
                break
            slot = (slot + 1) & mask
            place = slots[slot]
        if place == NOWHERE:
            if state[FREE]:
                state[FREE] -= 1
                place = free[state[FREE]]
            else:
                place = state[NEXT]
                state[NEXT] += 1
            _keep(lines[place], arena, data, begin, end, found, state)
            slots[slot] = place
        codes[text] = place << TAG_BITS | TABLE_TAG


@filling
def code_texts(
    offsets: Offsets,
    data: Bytes,
    arena: Bytes,
    slots: EntryIds,
    lines: Ints,
    free: Ints,
    state: Ints,
    codes: Ints,
) -> None:
    """Write the code of every text; new texts get places, free ones first."""
    count = codes.shape[0]
    for begin in range(0, count, BLOCK):
        stop = min(begin + BLOCK, count)
        state[PREFETCHED] += _hash_block(
            offsets, data, slots, lines, state[SECRET], begin, stop, codes
        )
        _code_block(offsets, data, arena, slots, lines, free, state, begin, stop, codes)


@filling
def keep_texts(
    offsets: Offsets,
    data: Bytes,
    arena: Bytes,
    slots: EntryIds,
    lines: Ints,
    places: Ints,
    state: Ints,
) -> None:
    """Take in texts that have places already and that are not in the table yet."""
    for text in range(offsets.shape[0] - 1):
        begin, end = offsets[text], offsets[text + 1]
        found = _hash(data, begin, end, state[SECRET])
        _keep(lines[places[text]], arena, data, begin, end, found, state)
        slots[_vacant(slots, found)] = places[text]


@filling
def fill_slots(slots: EntryIds, lines: Ints, count: int) -> None:
    """Let new slots hold the places below `count` that have a text."""
    for place in range(count):
        if lines[place, BEGIN] != NOWHERE:
            slots[_vacant(slots, lines[place, HASH])] = place


@filling
def copy_texts(arena: Bytes, lines: Ints, places: Ints, offsets: Offsets, data: Bytes) -> None:
    """Write the texts at places one after another, from where `offsets` says."""
    for number in range(places.shape[0]):
        begin, end = lines[places[number], BEGIN], lines[places[number], END]
        to = offsets[number]
        for offset in range(end - begin):
            data[to + offset] = arena[begin + offset]

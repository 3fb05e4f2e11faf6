"""Kernels that find texts by their bytes in a hash table, and copy texts out of it.

A table is an arena of bytes, a line for every place of the table of constants (the hash of the
text, where it begins in the arena and where it ends), and slots that hold places.
"""

import numpy as np
from numpy.typing import NDArray

from larspark.run.interval.kernels.coded_numbers import TABLE_TAG, TAG_BITS
from larspark.run.interval.kernels.compile import filling, helper
from larspark.run.interval.kernels.hash_chains import mix
from larspark.run.interval.kernels.layout import EntryIds, Ints

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int32]

# Columns of lines. A place without a text begins NOWHERE.
HASH, BEGIN, END = 0, 1, 2
LINE_SIZE = 3
NOWHERE = -1
# The state of a table: the bytes used, the next place, how many places are free, a secret.
USED, NEXT, FREE, SECRET = 0, 1, 2, 3
STATE_SIZE = 4


@helper
def _hash(data: Bytes, begin: int, end: int, secret: int) -> int:
    state = secret ^ (end - begin)
    while begin < end:
        # Eight bytes at a time, because a step of the hash waits for the one before.
        word, shift = 0, 0
        for place in range(begin, min(begin + 8, end)):
            word |= int(data[place]) << shift
            shift += 8
        state = mix(state, word)
        begin += 8
    return state


@helper
def _is_at(line: Ints, arena: Bytes, data: Bytes, begin: int, end: int) -> bool:
    first = line[BEGIN]
    if line[END] - first != end - begin:
        return False
    for offset in range(end - begin):
        if arena[first + offset] != data[begin + offset]:
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
    mask = slots.shape[0] - 1
    for text in range(offsets.shape[0] - 1):
        begin, end = offsets[text], offsets[text + 1]
        found = _hash(data, begin, end, state[SECRET])
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

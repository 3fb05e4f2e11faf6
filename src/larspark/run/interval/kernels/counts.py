"""Entries and steps of a profile: for every key a count that changes over time."""

from typing import NamedTuple

from larspark.run.interval.kernels.addressing import array_at, entry_ids_at, table_at
from larspark.run.interval.kernels.compile import helper, inlined, maker
from larspark.run.interval.kernels.hash_chains import mix
from larspark.run.interval.kernels.layout import (
    FOREVER,
    KEYS,
    NONE,
    WHEEL_SIZE,
    EntryIds,
    Ints,
)

# What is asked of every count, one line of integers: whether it is at least 1 (COUNT_ONE) or the
# number of time points in a window (COUNT_WINDOW). A `PAST` or `FUTURE` of NONE is without bound;
# an `END` of NONE is the evaluation time.
KIND, START, PAST, FUTURE, EVERY, END = 0, 1, 2, 3, 4, 5
COUNT_ONE, COUNT_WINDOW = 0, 1

# Columns of an entry, one for each key; its steps are a list that ascends in time.
ENTRY_NEXT = 0  # next entry of the bucket, or of the free list
ENTRY_SCHEDULE = 1  # next entry of the same wheel slot, or UNSCHEDULED_ENTRY
FIRST, LAST = 2, 3  # its first and last step
BASE = 4  # the count before the first step
LAST_RISE = 5  # a time after which the count does not rise
ENTRY_KEYS = 6
# In place of the next entry of a wheel slot: no slot has the entry, as nothing is known to end it.
UNSCHEDULED_ENTRY = -2
# The first step of an entry on the free list.
FREE_ENTRY = -2
# Columns of a step.
TIME, CHANGE, STEP_NEXT = 0, 1, 2

# Counters in the header of a profile.
ENTRIES_USED = 0  # entries ever used
FREE_ENTRIES = 1  # first entry of the free list
FREE_ENTRY_COUNT = 2
LIVE_ENTRIES = 3
EXPIRED_UPTO = 4  # time up to which entries are expired
STEPS_USED = 5  # steps ever used
FREE_STEPS = 6  # first step of the free list
FREE_STEP_COUNT = 7
PREFETCHED = 8  # sink for prefetching reads
# Arrays in the header, each as address and shape.
ENTRIES = 9  # an entry for every key
HEADS = 12  # the first entry of every bucket
WHEEL = 14  # the first entry of every slot of the timing wheel
STEPS = 16  # the steps of all entries
QUESTION = 19  # what is asked of every count
PROFILE_HEADER_SIZE = 21


class ProfileArrays(NamedTuple):
    """The header of a profile and the arrays it refers to."""

    header: Ints
    entries: Ints
    heads: EntryIds
    wheel: Ints
    steps: Ints
    question: Ints


@maker
def profile_arrays(header: Ints) -> ProfileArrays:
    """All arrays of a profile."""
    return ProfileArrays(
        header,
        table_at(header[ENTRIES], header[ENTRIES + 1], header[ENTRIES + 2]),
        entry_ids_at(header[HEADS], header[HEADS + 1]),
        array_at(header[WHEEL], header[WHEEL + 1]),
        table_at(header[STEPS], header[STEPS + 1], header[STEPS + 2]),
        array_at(header[QUESTION], header[QUESTION + 1]),
    )


@helper
def window_bounds(question: Ints, t: int) -> tuple[int, int]:
    """The first and the last time point of the window at t; the last may lie before the first."""
    pivot = t // question[EVERY] * question[EVERY]
    low = question[START]
    if question[PAST] != NONE:
        low = max(low, pivot - question[PAST])
    high = t if question[END] == NONE else question[END]
    if question[FUTURE] != NONE:
        high = min(high, pivot + question[FUTURE])
    return low, high


@helper
def first_of_size(question: Ints, wanted: int, low: int, high: int) -> tuple[int, int]:
    """The first stretch of [low, high] where the window has `wanted` time points.

    There may be more after it. If there is none, a stretch after `high` is returned.
    """
    if question[EVERY] > 1:
        for t in range(low, high + 1):
            first, last = window_bounds(question, t)
            if last - first + 1 == wanted:
                return t, t
        return high + 1, high + 1
    # The size of a sliding window is linear in t between the time point at which it leaves the
    # start of the timeline and the one at which it reaches the end.
    leaves = question[START] + question[PAST] if question[PAST] != NONE else FOREVER
    reaches = FOREVER
    if question[END] != NONE:
        reaches = question[END] - question[FUTURE] if question[FUTURE] != NONE else -FOREVER
    position = low
    while position <= high:
        until = high
        if position <= leaves:
            until = min(until, leaves)
        if position <= reaches:
            until = min(until, reaches)
        slope = int(position <= reaches) - int(position > leaves)
        first, last = window_bounds(question, position)
        missing = wanted - (last - first + 1)
        if missing == 0:
            return (position, until) if slope == 0 else (position, position)
        if 0 < missing * slope <= until - position:
            return position + missing * slope, position + missing * slope
        position = until + 1
    return high + 1, high + 1


@inlined
def _new_step(steps: Ints, header: Ints, time: int, change: int, following: int) -> int:
    step = header[FREE_STEPS]
    if step != NONE:
        header[FREE_STEPS] = steps[step, STEP_NEXT]
        header[FREE_STEP_COUNT] -= 1
    else:
        step = header[STEPS_USED]
        header[STEPS_USED] += 1
    steps[step, TIME] = time
    steps[step, CHANGE] = change
    steps[step, STEP_NEXT] = following
    return step


@inlined
def _free_step(steps: Ints, header: Ints, step: int) -> None:
    steps[step, STEP_NEXT] = header[FREE_STEPS]
    header[FREE_STEPS] = step
    header[FREE_STEP_COUNT] += 1


@inlined
def add_step(profile: ProfileArrays, entry: int, after: int, time: int, change: int) -> int:
    """Add a change at a time; `after` is a step before it, or NONE. Returns such a step again."""
    header, entries, steps = profile.header, profile.entries, profile.steps
    last = entries[entry, LAST]
    if last != NONE and steps[last, TIME] < time:
        step = _new_step(steps, header, time, change, NONE)
        steps[last, STEP_NEXT] = step
        entries[entry, LAST] = step
        return last
    previous = after
    step = entries[entry, FIRST] if previous == NONE else steps[previous, STEP_NEXT]
    while step != NONE and steps[step, TIME] < time:
        previous, step = step, steps[step, STEP_NEXT]
    if step != NONE and steps[step, TIME] == time:
        steps[step, CHANGE] += change
        if steps[step, CHANGE] == 0:
            following = steps[step, STEP_NEXT]
            if previous == NONE:
                entries[entry, FIRST] = following
            else:
                steps[previous, STEP_NEXT] = following
            if following == NONE:
                entries[entry, LAST] = previous
            _free_step(steps, header, step)
        return previous
    added = _new_step(steps, header, time, change, step)
    if previous == NONE:
        entries[entry, FIRST] = added
    else:
        steps[previous, STEP_NEXT] = added
    if step == NONE:
        entries[entry, LAST] = added
    return previous


@inlined
def fold(profile: ProfileArrays, entry: int, upto: int) -> None:
    """Fold the steps up to a time into the base."""
    entries, steps = profile.entries, profile.steps
    step = entries[entry, FIRST]
    while step != NONE and steps[step, TIME] <= upto:
        entries[entry, BASE] += steps[step, CHANGE]
        following = steps[step, STEP_NEXT]
        _free_step(steps, profile.header, step)
        step = following
    entries[entry, FIRST] = step
    if step == NONE:
        entries[entry, LAST] = NONE


@inlined
def schedule_entry(profile: ProfileArrays, entry: int, now: int) -> None:
    """Schedule an entry for its last step; a count without steps stays unscheduled."""
    entries, wheel = profile.entries, profile.wheel
    last = entries[entry, LAST]
    if last == NONE and entries[entry, BASE] != 0:
        entries[entry, ENTRY_SCHEDULE] = UNSCHEDULED_ENTRY
        return
    at = now + 1
    if last != NONE:
        at = min(max(profile.steps[last, TIME], at), now + WHEEL_SIZE - 1)
    wheel_slot = at % WHEEL_SIZE
    entries[entry, ENTRY_SCHEDULE] = wheel[wheel_slot]
    wheel[wheel_slot] = entry


@helper
def find_entries(profile: ProfileArrays, batch: Ints, buckets: Ints, active: Ints) -> None:
    """Write the bucket of every batch row.

    The first entries there and their first steps are prefetched.
    """
    entries, heads, steps = profile.entries, profile.heads, profile.steps
    for source in range(batch.shape[0]):
        state = 0
        for column in range(KEYS, batch.shape[1]):
            state = mix(state, batch[source, column])
        buckets[source] = state & (heads.shape[0] - 1)
    count = 0
    for source in range(batch.shape[0]):
        active[count] = heads[buckets[source]]
        count += int(active[count] != NONE)
    sum_of_reads, last = 0, entries.shape[1] - 1
    for _ in range(2):
        for number in range(count):
            sum_of_reads += entries[active[number], last]
        kept = 0
        for number in range(count):
            step = entries[active[number], FIRST]
            if step != NONE:
                sum_of_reads += steps[step, STEP_NEXT]
            active[kept] = entries[active[number], ENTRY_NEXT]
            kept += int(active[kept] != NONE)
        count = kept
    profile.header[PREFETCHED] = sum_of_reads


@inlined
def find_entry(profile: ProfileArrays, batch: Ints, source: int, bucket: int) -> int:
    """The entry of a key; a new one is unscheduled."""
    header, entries, heads = profile.header, profile.entries, profile.heads
    width = batch.shape[1] - KEYS
    entry = heads[bucket]
    while entry != NONE:
        same = True
        for column in range(width):
            if entries[entry, ENTRY_KEYS + column] != batch[source, KEYS + column]:
                same = False
                break
        if same:
            return entry
        entry = entries[entry, ENTRY_NEXT]
    entry = header[FREE_ENTRIES]
    if entry != NONE:
        header[FREE_ENTRIES] = entries[entry, ENTRY_NEXT]
        header[FREE_ENTRY_COUNT] -= 1
    else:
        entry = header[ENTRIES_USED]
        header[ENTRIES_USED] += 1
    header[LIVE_ENTRIES] += 1
    entries[entry, ENTRY_NEXT] = heads[bucket]
    heads[bucket] = entry
    entries[entry, ENTRY_SCHEDULE] = UNSCHEDULED_ENTRY
    entries[entry, FIRST] = NONE
    entries[entry, LAST] = NONE
    entries[entry, BASE] = 0
    entries[entry, LAST_RISE] = -FOREVER
    for column in range(width):
        entries[entry, ENTRY_KEYS + column] = batch[source, KEYS + column]
    return entry

"""How many time points a window has: what a count has to reach for `always`."""

from larspark.run.interval.kernels.compile import helper, inlined, maker
from larspark.run.interval.kernels.layout import (
    FOREVER,
    KEYS,
    NONE,
    RING,
    Ints,
    Lines,
    mix,
)
from larspark.run.interval.kernels.store_header import entries_at, lines_at, numbers_at

# The question: one line of numbers. `PAST` and `FUTURE` of NONE are without bound; an `END` of NONE
# is the evaluation time itself.
KIND, START, PAST, FUTURE, EVERY, END = 0, 1, 2, 3, 4, 5
COUNT_ONE, COUNT_WINDOW = 0, 1


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

    There may be more after it. Without any, a stretch after `high` comes back.
    """
    if question[EVERY] > 1:
        for t in range(low, high + 1):
            first, last = window_bounds(question, t)
            if last - first + 1 == wanted:
                return t, t
        return high + 1, high + 1
    # The size of a sliding window is linear in t between the time point where it leaves the start
    # of the timeline behind, and the one where it reaches the end.
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


# Columns of an entry, one for each key.
ENTRY_NEXT, ENTRY_DUE, FIRST, LAST, BASE, LAST_RISE, ENTRY_KEYS = 0, 1, 2, 3, 4, 5, 6
# Columns of a step.
TIME, CHANGE, STEP_NEXT = 0, 1, 2
# Stands as the first step of an entry that is free.
DEAD_ENTRY = -2
# The sheet of a profile begins with its counters: entries ever used, the first free one of them,
# how many are free, how many are in use, the time up to which everything due has happened; the
# first three for steps; and a sum that nobody reads.
USED, FREE, IDLE, LIVE, SETTLED, STEPS_USED, STEPS_FREE, STEPS_IDLE = 0, 1, 2, 3, 4, 5, 6, 7
TOUCHED = 8
# Then its arrays, each by its address and its shape: entries, the first of them in every bucket,
# the first that is due at every turn, and steps; and the question that is asked.
ENTRIES, HEADS, DUE, STEPS, QUESTION = 9, 12, 14, 16, 19
PROFILE_SHEET = 21
# Stands in place of the next entry on a list for one that is on none: nothing is known to end it.
RESTING = -2


@maker
def entries_of(profile: Ints) -> Ints:
    """An entry for every key."""
    return lines_at(profile[ENTRIES], profile[ENTRIES + 1], profile[ENTRIES + 2])


@maker
def heads_of(profile: Ints) -> Lines:
    """The first entry in every bucket."""
    return entries_at(profile[HEADS], profile[HEADS + 1])


@maker
def due_of(profile: Ints) -> Ints:
    """The first entry on the list of every turn."""
    return numbers_at(profile[DUE], profile[DUE + 1])


@maker
def steps_of(profile: Ints) -> Ints:
    """The steps of all entries."""
    return lines_at(profile[STEPS], profile[STEPS + 1], profile[STEPS + 2])


@maker
def question_of(profile: Ints) -> Ints:
    """What is asked of every count."""
    return numbers_at(profile[QUESTION], profile[QUESTION + 1])


@inlined
def _new_step(steps: Ints, counters: Ints, time: int, change: int, following: int) -> int:
    step = counters[STEPS_FREE]
    if step != NONE:
        counters[STEPS_FREE] = steps[step, STEP_NEXT]
        counters[STEPS_IDLE] -= 1
    else:
        step = counters[STEPS_USED]
        counters[STEPS_USED] += 1
    steps[step, TIME] = time
    steps[step, CHANGE] = change
    steps[step, STEP_NEXT] = following
    return step


@inlined
def _free_step(steps: Ints, counters: Ints, step: int) -> None:
    steps[step, STEP_NEXT] = counters[STEPS_FREE]
    counters[STEPS_FREE] = step
    counters[STEPS_IDLE] += 1


@inlined
def add_step(
    entries: Ints, entry: int, steps: Ints, counters: Ints, after: int, time: int, change: int
) -> int:
    """Add a change at a time; `after` is a step before it, or NONE. Gives such a step again."""
    last = entries[entry, LAST]
    if last != NONE and steps[last, TIME] < time:
        step = _new_step(steps, counters, time, change, NONE)
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
            _free_step(steps, counters, step)
        return previous
    added = _new_step(steps, counters, time, change, step)
    if previous == NONE:
        entries[entry, FIRST] = added
    else:
        steps[previous, STEP_NEXT] = added
    if step == NONE:
        entries[entry, LAST] = added
    return previous


@inlined
def fold(entries: Ints, entry: int, steps: Ints, counters: Ints, upto: int) -> None:
    """Move the steps up to a time into the base."""
    step = entries[entry, FIRST]
    while step != NONE and steps[step, TIME] <= upto:
        entries[entry, BASE] += steps[step, CHANGE]
        following = steps[step, STEP_NEXT]
        _free_step(steps, counters, step)
        step = following
    entries[entry, FIRST] = step
    if step == NONE:
        entries[entry, LAST] = NONE


@inlined
def wait_for_end(entries: Ints, entry: int, steps: Ints, due: Ints, settled: int) -> None:
    """Let an entry be looked at when its last step is over; a count without steps may rest."""
    last = entries[entry, LAST]
    if last == NONE and entries[entry, BASE] != 0:
        entries[entry, ENTRY_DUE] = RESTING
        return
    at = settled + 1
    if last != NONE:
        at = min(max(steps[last, TIME], at), settled + RING - 1)
    slot = at % RING
    entries[entry, ENTRY_DUE] = due[slot]
    due[slot] = entry


@helper
def find_entries(
    entries: Ints,
    heads: Lines,
    steps: Ints,
    counters: Ints,
    batch: Ints,
    buckets: Ints,
    active: Ints,
) -> None:
    """The bucket of every batch row.

    The first entries there and their first steps are read already here, all together, so that
    waiting for memory overlaps.
    """
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
    counters[TOUCHED] = sum_of_reads


@inlined
def find_entry(
    entries: Ints, heads: Lines, counters: Ints, batch: Ints, source: int, bucket: int
) -> int:
    """The entry of a key; if it has to be made, it rests."""
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
    entry = counters[FREE]
    if entry != NONE:
        counters[FREE] = entries[entry, ENTRY_NEXT]
        counters[IDLE] -= 1
    else:
        entry = counters[USED]
        counters[USED] += 1
    counters[LIVE] += 1
    entries[entry, ENTRY_NEXT] = heads[bucket]
    heads[bucket] = entry
    entries[entry, ENTRY_DUE] = RESTING
    entries[entry, FIRST] = NONE
    entries[entry, LAST] = NONE
    entries[entry, BASE] = 0
    entries[entry, LAST_RISE] = -FOREVER
    for column in range(width):
        entries[entry, ENTRY_KEYS + column] = batch[source, KEYS + column]
    return entry

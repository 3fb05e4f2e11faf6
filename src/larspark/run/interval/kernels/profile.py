"""Kernels of the profile: for every key a count that changes over time.

The count of a key is a step function, kept as a sorted list of steps (time, change); what lies
before the present is folded into a base. Adding an interval adds a step up at its start and a step
down after its end. Two questions are asked of it:

- where does the count become 1, or stop to be? That turns bags of intervals into sets;
- where does the count reach the number of time points in a window? That is `always`.
"""

import numpy as np

from larspark.run.interval.kernels.compile import filling, helper, inlined, kernel
from larspark.run.interval.kernels.layout import (
    FOREVER,
    FROM,
    KEYS,
    NONE,
    RING,
    TO,
    Ints,
    Lines,
    enlarged,
    mix,
    put,
)
from larspark.run.interval.kernels.scan import read_lines

# Columns of an entry, one for each key.
ENTRY_NEXT, ENTRY_DUE, FIRST, LAST, BASE, LAST_RISE, ENTRY_KEYS = 0, 1, 2, 3, 4, 5, 6
# Columns of a step.
TIME, CHANGE, STEP_NEXT = 0, 1, 2
# Stands as the first step of an entry that is free.
DEAD_ENTRY = -2
# Counters: entries ever used, the first free one of them, how many are free, how many are in use,
# the time up to which everything due has happened; the first three for steps; and a sum that nobody
# reads.
USED, FREE, IDLE, LIVE, SETTLED, STEPS_USED, STEPS_FREE, STEPS_IDLE = 0, 1, 2, 3, 4, 5, 6, 7
TOUCHED = 8
# The question: one line of numbers. `PAST` and `FUTURE` of NONE are without bound; an `END` of NONE
# is the evaluation time itself.
KIND, START, PAST, FUTURE, EVERY, END = 0, 1, 2, 3, 4, 5
COUNT_ONE, COUNT_WINDOW = 0, 1

# Stands in place of the next entry on a list for one that is on none: nothing is known to end it.
RESTING = -2


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
def _first_of_size(question: Ints, wanted: int, low: int, high: int) -> tuple[int, int]:
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
def _change(
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
def _fold(entries: Ints, entry: int, steps: Ints, counters: Ints, upto: int) -> None:
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
def _wait(entries: Ints, entry: int, steps: Ints, due: Ints, settled: int) -> None:
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
def _find_buckets(
    entries: Ints, heads: Lines, steps: Ints, counters: Ints, batch: Ints, buckets: Ints
) -> None:
    """The bucket of every batch row.

    What stands there is read already here, all together, so that waiting for memory overlaps.
    """
    sum_of_reads = 0
    for source in range(batch.shape[0]):
        state = 0
        for column in range(KEYS, batch.shape[1]):
            state = mix(state, batch[source, column])
        buckets[source] = state & (heads.shape[0] - 1)
        sum_of_reads += heads[buckets[source]]
    last = entries.shape[1] - 1
    for source in range(batch.shape[0]):
        entry = heads[buckets[source]]
        if entry != NONE:
            sum_of_reads += entries[entry, last]
            if entries[entry, FIRST] != NONE:
                sum_of_reads += steps[entries[entry, FIRST], STEP_NEXT]
            if entries[entry, ENTRY_NEXT] != NONE:
                sum_of_reads += entries[entries[entry, ENTRY_NEXT], last]
    counters[TOUCHED] = sum_of_reads


@inlined
def _find_entry(
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


@helper
def _count_lines(
    entries: Ints,
    heads: Lines,
    due: Ints,
    steps: Ints,
    counters: Ints,
    question: Ints,
    lines: Ints,
    source: int,
    buckets: Ints,
    sign: int,
    floor: int,
    out: Ints,
    count: int,
) -> tuple[int, int]:
    """Count the lines from `source` on; gives the line that was come to, and what was told.

    It stops before a line of which not everything can be told.
    """
    while source < lines.shape[0]:
        start, end = max(lines[source, FROM], floor), lines[source, TO]
        if start > end:
            source += 1
            continue
        entry = _find_entry(entries, heads, counters, lines, source, buckets[source])
        _fold(entries, entry, steps, counters, floor)
        height = entries[entry, BASE]
        before = NONE
        step = entries[entry, FIRST]
        while step != NONE and steps[step, TIME] <= start:
            height += steps[step, CHANGE]
            if steps[step, TIME] < start:
                before = step
            step = steps[step, STEP_NEXT]
        if sign > 0:
            entries[entry, LAST_RISE] = max(entries[entry, LAST_RISE], start)
        else:
            entries[entry, LAST_RISE] = FOREVER
        found = count
        position = start
        while position <= end:
            until = end
            if step != NONE and steps[step, TIME] <= end:
                until = steps[step, TIME] - 1
            wanted = height + 1 if sign > 0 else height
            while wanted > 0 and position <= until:
                if question[KIND] == COUNT_WINDOW:
                    low, high = _first_of_size(question, wanted, position, until)
                else:
                    low, high = position + (until + 1 - position) * int(wanted > 1), until
                if low <= until:
                    if found == out.shape[0]:
                        return source, count
                    put(out, found, lines, source, low, high)
                    found += 1
                position = high + 1
            position = until + 1
            if position <= end:
                height += steps[step, CHANGE]
                step = steps[step, STEP_NEXT]
                # Later counts only fall, and a window that has grown to full size never shrinks.
                if (
                    question[KIND] == COUNT_WINDOW
                    and question[EVERY] == 1
                    and question[END] == NONE
                    and position > entries[entry, LAST_RISE]
                ):
                    first, last = window_bounds(question, position)
                    if height + 1 < last - first + 1:
                        break
        count = found
        before = _change(entries, entry, steps, counters, before, start, sign)
        if end < FOREVER:
            _change(entries, entry, steps, counters, before, end + 1, -sign)
        if entries[entry, ENTRY_DUE] == RESTING:
            _wait(entries, entry, steps, due, counters[SETTLED])
        source += 1
    return source, count


@kernel
def profile_add(
    entries: Ints,
    heads: Lines,
    due: Ints,
    steps: Ints,
    counters: Ints,
    question: Ints,
    batch: Ints,
    tests: Ints,
    frame: Ints,
    pick: Ints,
    sign: int,
    floor: int,
) -> Ints:
    """Count what is read off a batch in (or out), from `floor` on; what that changes comes back.

    There the count has become what is asked for, or has stopped to be.
    """
    lines = np.empty((batch.shape[0], KEYS + pick.shape[0]), np.int64)
    buckets = np.empty(batch.shape[0], np.int64)
    lines = lines[: read_lines(batch, 0, batch.shape[0], tests, frame, pick, buckets, lines)]
    out = np.empty(lines.shape, np.int64)
    _find_buckets(entries, heads, steps, counters, lines, buckets)
    done, count = 0, 0
    while done < lines.shape[0]:
        done, count = _count_lines(
            entries,
            heads,
            due,
            steps,
            counters,
            question,
            lines,
            done,
            buckets,
            sign,
            floor,
            out,
            count,
        )
        if done < lines.shape[0]:
            out = enlarged(out)
    return out[:count]


@filling
def profile_settle(
    entries: Ints, heads: Lines, due: Ints, steps: Ints, counters: Ints, width: int, upto: int
) -> None:
    """Let time pass up to a time point, and free the keys whose count is 0 from there on."""
    settled = counters[SETTLED]
    waiting = NONE
    for time in range(settled + 1, min(upto, settled + RING) + 1):
        entry = due[time % RING]
        due[time % RING] = NONE
        while entry != NONE:
            following = entries[entry, ENTRY_DUE]
            entries[entry, ENTRY_DUE] = waiting
            waiting = entry
            entry = following
    counters[SETTLED] = max(settled, upto)
    entry = waiting
    while entry != NONE:
        following = entries[entry, ENTRY_DUE]
        _fold(entries, entry, steps, counters, upto + 1)
        if entries[entry, FIRST] != NONE or entries[entry, BASE] != 0:
            _wait(entries, entry, steps, due, upto)
            entry = following
            continue
        state = 0
        for column in range(ENTRY_KEYS, ENTRY_KEYS + width):
            state = mix(state, entries[entry, column])
        bucket = state & (heads.shape[0] - 1)
        if heads[bucket] == entry:
            heads[bucket] = entries[entry, ENTRY_NEXT]
        else:
            other = heads[bucket]
            while entries[other, ENTRY_NEXT] != entry:
                other = entries[other, ENTRY_NEXT]
            entries[other, ENTRY_NEXT] = entries[entry, ENTRY_NEXT]
        counters[LIVE] -= 1
        entries[entry, FIRST] = DEAD_ENTRY
        entries[entry, ENTRY_NEXT] = counters[FREE]
        counters[FREE] = entry
        counters[IDLE] += 1
        entry = following


@kernel
def profile_load(
    entries: Ints, heads: Lines, due: Ints, steps: Ints, counters: Ints, lines: Ints
) -> None:
    """Enter lines as `profile_rows` gives them into a profile that has room for them.

    A key whose lines come one after another in the order of time is entered without a search.
    """
    settled = counters[SETTLED]
    buckets = np.empty(lines.shape[0], np.int64)
    _find_buckets(entries, heads, steps, counters, lines, buckets)
    for source in range(lines.shape[0]):
        entry = _find_entry(entries, heads, counters, lines, source, buckets[source])
        change, time = lines[source, 0], lines[source, 1]
        if time <= settled + 1:
            entries[entry, BASE] += change
        elif change != 0:
            _change(entries, entry, steps, counters, NONE, time, change)
            if change > 0:
                entries[entry, LAST_RISE] = max(entries[entry, LAST_RISE], time)
    for entry in range(counters[USED]):
        _wait(entries, entry, steps, due, settled)


@filling
def profile_rebuild(entries: Ints, heads: Lines, counters: Ints, width: int) -> None:
    """Enter all keys anew into a hash table that has grown."""
    for bucket in range(heads.shape[0]):
        heads[bucket] = NONE
    for entry in range(counters[USED]):
        if entries[entry, FIRST] == DEAD_ENTRY:
            continue
        state = 0
        for column in range(ENTRY_KEYS, ENTRY_KEYS + width):
            state = mix(state, entries[entry, column])
        bucket = state & (heads.shape[0] - 1)
        entries[entry, ENTRY_NEXT] = heads[bucket]
        heads[bucket] = entry


@kernel
def profile_rows(entries: Ints, steps: Ints, counters: Ints, width: int) -> Ints:
    """Every step as a line (change, time, key ...); the base of a key stands at no time."""
    lines = np.empty((counters[USED] + counters[STEPS_USED], 2 + width), np.int64)
    count = 0
    for entry in range(counters[USED]):
        if entries[entry, FIRST] == DEAD_ENTRY:
            continue
        if entries[entry, BASE] != 0:
            lines[count, 0] = entries[entry, BASE]
            lines[count, 1] = -FOREVER
            for column in range(width):
                lines[count, 2 + column] = entries[entry, ENTRY_KEYS + column]
            count += 1
        step = entries[entry, FIRST]
        while step != NONE:
            lines[count, 0] = steps[step, CHANGE]
            lines[count, 1] = steps[step, TIME]
            for column in range(width):
                lines[count, 2 + column] = entries[entry, ENTRY_KEYS + column]
            count += 1
            step = steps[step, STEP_NEXT]
    return lines[:count]

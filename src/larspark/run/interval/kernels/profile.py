"""Kernels of the profile: for every key a count that changes over time.

The count of a key is a step function, kept as a sorted list of steps (time, change); what lies
before the present is folded into a base. Adding an interval adds a step up at its start and a step
down after its end. Two questions are asked of it:

- where does the count become 1, or stop to be? That turns bags of intervals into sets;
- where does the count reach the number of time points in a window? That is `always`.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, kernel
from larspark.run.interval.kernels.counts import (
    BASE,
    CHANGE,
    COUNT_WINDOW,
    DEAD_ENTRY,
    END,
    ENTRY_DUE,
    ENTRY_KEYS,
    ENTRY_NEXT,
    EVERY,
    FIRST,
    FREE,
    IDLE,
    KIND,
    LAST_RISE,
    LIVE,
    RESTING,
    SETTLED,
    STEP_NEXT,
    STEPS_USED,
    TIME,
    USED,
    add_step,
    due_of,
    entries_of,
    find_entries,
    find_entry,
    first_of_size,
    fold,
    heads_of,
    question_of,
    steps_of,
    wait_for_end,
    window_bounds,
)
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
from larspark.run.interval.kernels.scan import PICKS, read_lines


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
        entry = find_entry(entries, heads, counters, lines, source, buckets[source])
        fold(entries, entry, steps, counters, floor)
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
                    low, high = first_of_size(question, wanted, position, until)
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
        # Up at the start and down after the end, or the other way round.
        for number in range(1 + int(end < FOREVER)):
            at = start + number * (end + 1 - start)
            change = sign - 2 * number * sign
            before = add_step(entries, entry, steps, counters, before, at, change)
        if entries[entry, ENTRY_DUE] == RESTING:
            wait_for_end(entries, entry, steps, due, counters[SETTLED])
        source += 1
    return source, count


@kernel
def profile_add(profile: Ints, batch: Ints, reading: Ints, sign: int, floor: int) -> Ints:
    """Count what is read off a batch in (or out), from `floor` on; what that changes comes back.

    There the count has become what is asked for, or has stopped to be.
    """
    entries, heads, due = entries_of(profile), heads_of(profile), due_of(profile)
    steps, question = steps_of(profile), question_of(profile)
    lines = np.empty((batch.shape[0], KEYS + reading[PICKS]), np.int64)
    buckets = np.empty(batch.shape[0], np.int64)
    active = np.empty(batch.shape[0], np.int64)
    lines = lines[: read_lines(batch, 0, batch.shape[0], reading, buckets, lines)]
    out = np.empty(lines.shape, np.int64)
    find_entries(entries, heads, steps, profile, lines, buckets, active)
    done, count = 0, 0
    while done < lines.shape[0]:
        done, count = _count_lines(
            entries,
            heads,
            due,
            steps,
            profile,
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


@helper
def _settle(entries: Ints, heads: Lines, due: Ints, steps: Ints, counters: Ints, upto: int) -> None:
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
        fold(entries, entry, steps, counters, upto + 1)
        if entries[entry, FIRST] != NONE or entries[entry, BASE] != 0:
            wait_for_end(entries, entry, steps, due, upto)
            entry = following
            continue
        state = 0
        for column in range(ENTRY_KEYS, entries.shape[1]):
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
def profile_settle(profile: Ints, upto: int) -> None:
    """Let time pass up to a time point, and free the keys whose count is 0 from there on."""
    entries, heads, due = entries_of(profile), heads_of(profile), due_of(profile)
    _settle(entries, heads, due, steps_of(profile), profile, upto)


@helper
def _enter(
    entries: Ints,
    heads: Lines,
    due: Ints,
    steps: Ints,
    counters: Ints,
    lines: Ints,
    buckets: Ints,
) -> None:
    settled = counters[SETTLED]
    for source in range(lines.shape[0]):
        entry = find_entry(entries, heads, counters, lines, source, buckets[source])
        change, time = lines[source, 0], lines[source, 1]
        if time <= settled + 1:
            entries[entry, BASE] += change
        elif change != 0:
            add_step(entries, entry, steps, counters, NONE, time, change)
            if change > 0:
                entries[entry, LAST_RISE] = max(entries[entry, LAST_RISE], time)
    for entry in range(counters[USED]):
        wait_for_end(entries, entry, steps, due, settled)


@kernel
def profile_load(profile: Ints, lines: Ints) -> None:
    """Enter lines as `profile_rows` gives them into a profile that has room for them.

    A key whose lines come one after another in the order of time is entered without a search.
    """
    entries, heads, due = entries_of(profile), heads_of(profile), due_of(profile)
    steps = steps_of(profile)
    buckets = np.empty(lines.shape[0], np.int64)
    active = np.empty(lines.shape[0], np.int64)
    find_entries(entries, heads, steps, profile, lines, buckets, active)
    _enter(entries, heads, due, steps, profile, lines, buckets)


@helper
def _link(entries: Ints, heads: Lines, counters: Ints) -> None:
    for bucket in range(heads.shape[0]):
        heads[bucket] = NONE
    for entry in range(counters[USED]):
        if entries[entry, FIRST] == DEAD_ENTRY:
            continue
        state = 0
        for column in range(ENTRY_KEYS, entries.shape[1]):
            state = mix(state, entries[entry, column])
        bucket = state & (heads.shape[0] - 1)
        entries[entry, ENTRY_NEXT] = heads[bucket]
        heads[bucket] = entry


@kernel
def profile_rebuild(profile: Ints) -> None:
    """Enter all keys anew into a hash table that has grown."""
    _link(entries_of(profile), heads_of(profile), profile)


@helper
def _copy_steps(entries: Ints, steps: Ints, counters: Ints, lines: Ints) -> int:
    width, count = lines.shape[1] - 2, 0
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
    return count


@kernel
def profile_rows(profile: Ints) -> Ints:
    """Every step as a line (change, time, key ...); the base of a key stands at no time."""
    entries, steps = entries_of(profile), steps_of(profile)
    size = (profile[USED] + profile[STEPS_USED], 2 + entries.shape[1] - ENTRY_KEYS)
    lines = np.empty(size, np.int64)
    return lines[: _copy_steps(entries, steps, profile, lines)]

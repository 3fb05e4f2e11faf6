"""Kernels of the profile: for every key a count that changes over time.

The count of a key is a step function, kept as a sorted list of steps (time, change); what lies
before the present is folded into a base. Adding an interval adds a step up at its start and a step
down after its end. Two questions are asked of a count:

- where does it become 1, or cease to be? That turns bags of intervals into sets;
- where does it reach the number of time points in a window? That is `always`.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, kernel, maker
from larspark.run.interval.kernels.counts import (
    BASE,
    CHANGE,
    COUNT_WINDOW,
    END,
    ENTRIES_USED,
    ENTRY_KEYS,
    ENTRY_NEXT,
    ENTRY_SCHEDULE,
    EVERY,
    EXPIRED_UPTO,
    FIRST,
    FREE_ENTRIES,
    FREE_ENTRY,
    FREE_ENTRY_COUNT,
    KIND,
    LAST_RISE,
    LIVE_ENTRIES,
    STEP_NEXT,
    STEPS_USED,
    TIME,
    UNSCHEDULED_ENTRY,
    ProfileArrays,
    add_step,
    find_entries,
    find_entry,
    first_of_size,
    fold,
    profile_arrays,
    schedule_entry,
    window_bounds,
)
from larspark.run.interval.kernels.hash_chains import mix
from larspark.run.interval.kernels.layout import (
    FOREVER,
    FROM,
    KEYS,
    NONE,
    TO,
    WHEEL_SIZE,
    Ints,
    enlarged,
    put,
)
from larspark.run.interval.kernels.scan import PICKS, run_program


@helper
def _count_lines(
    profile: ProfileArrays,
    lines: Ints,
    source: int,
    buckets: Ints,
    sign: int,
    floor: int,
    out: Ints,
    count: int,
) -> tuple[int, int]:
    """Count the lines from `source` on; returns the line reached, and the lines of output.

    Stops before a line whose changes do not fit.
    """
    header, entries, steps = profile.header, profile.entries, profile.steps
    question = profile.question
    while source < lines.shape[0]:
        start, end = max(lines[source, FROM], floor), lines[source, TO]
        if start > end:
            source += 1
            continue
        entry = find_entry(profile, lines, source, buckets[source])
        fold(profile, entry, floor)
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
            before = add_step(profile, entry, before, at, change)
        if entries[entry, ENTRY_SCHEDULE] == UNSCHEDULED_ENTRY:
            schedule_entry(profile, entry, header[EXPIRED_UPTO])
        source += 1
    return source, count


@maker
def count_lines(
    header: Ints, lines: Ints, begin: int, sign: int, floor: int, out: Ints, count: int
) -> tuple[int, int]:
    """Count lines in (or out) from `begin` on; returns the line reached, and the lines of output.

    Stops before a line whose changes do not fit.
    """
    profile = profile_arrays(header)
    buckets = np.empty(lines.shape[0], np.int64)
    active = np.empty(lines.shape[0], np.int64)
    find_entries(profile, lines, buckets, active)
    return _count_lines(profile, lines, begin, buckets, sign, floor, out, count)


@kernel
def profile_add(header: Ints, batch: Ints, program: Ints, sign: int, floor: int) -> Ints:
    """Count the result of a row program in (or out), from `floor` on.

    Returns where the count has become what is asked for, or has ceased to be.
    """
    lines = np.empty((batch.shape[0], KEYS + program[PICKS]), np.int64)
    active = np.empty(batch.shape[0], np.int64)
    lines = lines[: run_program(batch, 0, batch.shape[0], program, active, lines)]
    out = np.empty(lines.shape, np.int64)
    done, count = count_lines(header, lines, 0, sign, floor, out, 0)
    while done < lines.shape[0]:
        out = enlarged(out)
        done, count = count_lines(header, lines, done, sign, floor, out, count)
    return out[:count]


@helper
def _expire(profile: ProfileArrays, upto: int) -> None:
    header, entries, heads = profile.header, profile.entries, profile.heads
    before = header[EXPIRED_UPTO]
    waiting = NONE
    for time in range(before + 1, min(upto, before + WHEEL_SIZE) + 1):
        entry = profile.wheel[time % WHEEL_SIZE]
        profile.wheel[time % WHEEL_SIZE] = NONE
        while entry != NONE:
            following = entries[entry, ENTRY_SCHEDULE]
            entries[entry, ENTRY_SCHEDULE] = waiting
            waiting = entry
            entry = following
    header[EXPIRED_UPTO] = max(before, upto)
    entry = waiting
    while entry != NONE:
        following = entries[entry, ENTRY_SCHEDULE]
        fold(profile, entry, upto + 1)
        if entries[entry, FIRST] != NONE or entries[entry, BASE] != 0:
            schedule_entry(profile, entry, upto)
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
        header[LIVE_ENTRIES] -= 1
        entries[entry, FIRST] = FREE_ENTRY
        entries[entry, ENTRY_NEXT] = header[FREE_ENTRIES]
        header[FREE_ENTRIES] = entry
        header[FREE_ENTRY_COUNT] += 1
        entry = following


@kernel
def profile_expire(header: Ints, upto: int) -> None:
    """Advance to a time point, and free the keys whose count is 0 from there on."""
    _expire(profile_arrays(header), upto)


@helper
def _enter(profile: ProfileArrays, lines: Ints, buckets: Ints) -> None:
    header, entries = profile.header, profile.entries
    expired_upto = header[EXPIRED_UPTO]
    for source in range(lines.shape[0]):
        entry = find_entry(profile, lines, source, buckets[source])
        change, time = lines[source, 0], lines[source, 1]
        if time <= expired_upto + 1:
            entries[entry, BASE] += change
        elif change != 0:
            add_step(profile, entry, NONE, time, change)
            if change > 0:
                entries[entry, LAST_RISE] = max(entries[entry, LAST_RISE], time)
    for entry in range(header[ENTRIES_USED]):
        schedule_entry(profile, entry, expired_upto)


@kernel
def profile_load(header: Ints, lines: Ints) -> None:
    """Enter lines as `profile_rows` returns them into a profile that has room for them.

    A key whose lines follow each other in the order of time is entered without a search.
    """
    profile = profile_arrays(header)
    buckets = np.empty(lines.shape[0], np.int64)
    active = np.empty(lines.shape[0], np.int64)
    find_entries(profile, lines, buckets, active)
    _enter(profile, lines, buckets)


@helper
def _link(profile: ProfileArrays) -> None:
    entries, heads = profile.entries, profile.heads
    for bucket in range(heads.shape[0]):
        heads[bucket] = NONE
    for entry in range(profile.header[ENTRIES_USED]):
        if entries[entry, FIRST] == FREE_ENTRY:
            continue
        state = 0
        for column in range(ENTRY_KEYS, entries.shape[1]):
            state = mix(state, entries[entry, column])
        bucket = state & (heads.shape[0] - 1)
        entries[entry, ENTRY_NEXT] = heads[bucket]
        heads[bucket] = entry


@kernel
def profile_rebuild(header: Ints) -> None:
    """Enter all keys into a hash table that has grown."""
    _link(profile_arrays(header))


@helper
def _copy_steps(profile: ProfileArrays, lines: Ints) -> int:
    entries, steps = profile.entries, profile.steps
    width, count = lines.shape[1] - 2, 0
    for entry in range(profile.header[ENTRIES_USED]):
        if entries[entry, FIRST] == FREE_ENTRY:
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
def profile_rows(header: Ints) -> Ints:
    """Every step as a line (change, time, key ...); the base of a key has the time -FOREVER."""
    profile = profile_arrays(header)
    width = 2 + profile.entries.shape[1] - ENTRY_KEYS
    lines = np.empty((header[ENTRIES_USED] + header[STEPS_USED], width), np.int64)
    return lines[: _copy_steps(profile, lines)]

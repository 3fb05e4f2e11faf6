"""Kernels of aggregates: tuples join groups and leave them, and values of groups change.

A tuple that holds over [a, b] is an event at a and one after b; retracted tuples are the same the
other way round. Time goes from event to event, and at each the groups concerned get a new value.
"""

from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.coded_numbers import (
    INTEGER,
    NO_VALUE,
    ODD,
    TAG_BITS,
    TEXT,
    code_of,
    number_of,
)
from larspark.run.interval.kernels.compile import helper, inlined, kernel, maker
from larspark.run.interval.kernels.event_wheel import (
    EVENT_NEXT,
    NOW,
    SLOTS,
    advance_wheel,
    reversed_list,
)
from larspark.run.interval.kernels.exact_sum import (
    DIGIT_COUNT,
)
from larspark.run.interval.kernels.group_table import (
    FUNCTION,
    GROUP_KEYS,
    LEAST,
    PRESENT,
    PRESENT_LINE,
    RETRACTS,
    RUN,
    RUNS,
    SHORTAGE,
    START,
    SUM,
    TOUCHED,
    TUPLES,
    UNTOUCHED,
    VALUE,
    VALUE_KIND,
    VALUE_LINE,
    WAITING,
    WITH_PRESENT,
    GroupArrays,
    find_group,
    free_group,
    group_arrays,
    link_groups,
)
from larspark.run.interval.kernels.group_values import (
    JOIN,
    LEAVE,
    add_event,
    apply_event,
    best_that_stays,
    drop_gone,
    knows_ends,
    missing_room,
    value_of,
)
from larspark.run.interval.kernels.layout import FOREVER, FROM, KEYS, NONE, TO, Ints


@helper
def _add_events(arrays: GroupArrays, batch: Ints, table: Ints, sign: int, floor: int) -> None:
    header = arrays.header
    value_column = KEYS + arrays.groups.shape[1] - GROUP_KEYS
    first_action = JOIN if sign > 0 else LEAVE
    for line in range(batch.shape[0]):
        low, high = max(batch[line, FROM], floor), batch[line, TO]
        if low > high:
            continue
        kind, bits = INTEGER, 0
        if header[FUNCTION] >= SUM:
            kind, bits = number_of(batch[line, value_column], table)
        if knows_ends(header):
            if kind != TEXT:
                group = find_group(arrays, batch, line, KEYS)
                add_event(arrays, low, group, kind, JOIN, bits, high)
            continue
        group = find_group(arrays, batch, line, KEYS)
        add_event(arrays, low, group, kind, first_action, bits, 0)
        if high < FOREVER:
            add_event(arrays, high + 1, group, kind, JOIN - first_action, bits, 0)


@kernel
def add_tuples(header: Ints, batch: Ints, table: Ints, sign: int, floor: int) -> None:
    """Let tuples join and leave from `floor` on, or the other way round with a negative sign.

    A tuple is its group and what it counts by; `table` are the numbers that are codes of places.
    """
    _add_events(group_arrays(header), batch, table, sign, floor)


class Emitted(NamedTuple):
    """Rows that began, from the first line on, and rows that ended, from the last one back.

    `counts` says how many there are of both.
    """

    lines: Ints
    counts: Ints


BEGAN, ENDED = 0, 1


@inlined
def _put(emitted: Emitted, which: int, groups: Ints, group: int, t: int) -> int:
    """Write a row of a group from now on; returns its line."""
    number = emitted.counts[which]
    emitted.counts[which] = number + 1
    line = number if which == BEGAN else emitted.lines.shape[0] - 1 - number
    emitted.lines[line, FROM] = t
    emitted.lines[line, TO] = FOREVER
    for column in range(groups.shape[1] - GROUP_KEYS):
        emitted.lines[line, KEYS + column] = groups[group, GROUP_KEYS + column]
    return line


@inlined
def _put_value(emitted: Emitted, line: int, kind: int, bits: int, odd: Emitted) -> None:
    """Write the code of a value; one that needs a place is listed."""
    code = code_of(kind, bits)
    if code == ODD:
        number = odd.counts[BEGAN]
        odd.lines[number, 0] = kind
        odd.lines[number, 1] = bits
        odd.counts[BEGAN] = number + 1
        code = number << TAG_BITS | ODD
    emitted.lines[line, emitted.lines.shape[1] - 1] = code


@helper
def _change(
    arrays: GroupArrays,
    group: int,
    t: int,
    kind: int,
    bits: int,
    values: Emitted,
    present: Emitted,
    odd: Emitted,
) -> None:
    """Emit what changes for a group: rows of this run end, earlier ones are retracted."""
    header, groups = arrays.header, arrays.groups
    if groups[group, RUN] != header[RUNS]:
        groups[group, RUN] = header[RUNS]
        groups[group, PRESENT_LINE] = NONE
        groups[group, VALUE_LINE] = NONE
    is_present = int(groups[group, TUPLES] > 0)
    if header[WITH_PRESENT] != 0 and is_present != groups[group, PRESENT]:
        if is_present != 0:
            groups[group, PRESENT_LINE] = _put(present, BEGAN, groups, group, t)
        elif groups[group, PRESENT_LINE] != NONE:
            present.lines[groups[group, PRESENT_LINE], TO] = t - 1
        else:
            _put(present, ENDED, groups, group, t)
        groups[group, PRESENT] = is_present
    before, before_bits = groups[group, VALUE_KIND], groups[group, VALUE]
    if kind == before and bits == before_bits:
        return
    if before != NO_VALUE:
        if groups[group, VALUE_LINE] != NONE:
            values.lines[groups[group, VALUE_LINE], TO] = t - 1
        else:
            line = _put(values, ENDED, groups, group, t)
            _put_value(values, line, before, before_bits, odd)
    groups[group, VALUE_KIND], groups[group, VALUE] = kind, bits
    groups[group, VALUE_LINE] = NONE
    if kind != NO_VALUE:
        line = _put(values, BEGAN, groups, group, t)
        _put_value(values, line, kind, bits, odd)
        groups[group, VALUE_LINE] = line


@helper
def _apply_list(arrays: GroupArrays, event: int) -> tuple[int, int]:
    """Let a list of events happen; returns the groups concerned, as a list, and their number."""
    groups = arrays.groups
    touched, count = NONE, 0
    while event != NONE:
        following = arrays.events[event, EVENT_NEXT]
        group = apply_event(arrays, event)
        if groups[group, TOUCHED] == UNTOUCHED:
            groups[group, TOUCHED] = touched
            touched = group
            count += 1
        event = following
    return touched, count


@maker
def _with_room(emitted: Emitted, more: int) -> Emitted:
    """The same rows with room for more between those that began and those that ended."""
    lines, counts = emitted.lines, emitted.counts
    size = lines.shape[0]
    if counts[BEGAN] + counts[ENDED] + more <= size:
        return emitted
    wider = np.empty((2 * (size + more), lines.shape[1]), np.int64)
    wider[: counts[BEGAN]] = lines[: counts[BEGAN]]
    wider[wider.shape[0] - counts[ENDED] :] = lines[size - counts[ENDED] :]
    return Emitted(wider, counts)


@helper
def _change_groups(
    arrays: GroupArrays,
    group: int,
    t: int,
    digits: Ints,
    values: Emitted,
    present: Emitted,
    odd: Emitted,
) -> None:
    """Emit what changes for a list of groups, and free groups of which nothing is left."""
    groups = arrays.groups
    with_ends = knows_ends(arrays.header)
    while group != NONE:
        following = groups[group, TOUCHED]
        groups[group, TOUCHED] = UNTOUCHED
        if with_ends:
            best_that_stays(arrays, group, t)
        kind, bits = value_of(arrays, group, digits)
        _change(arrays, group, t, kind, bits, values, present, odd)
        if groups[group, WAITING] == 0 and groups[group, TUPLES] == 0 and kind == NO_VALUE:
            free_group(arrays, group)
        group = following


@kernel
def advance_groups(header: Ints, last: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Advance to a time point: the values that began and ended, and the groups with a tuple.

    If room is missing, that stands in the header, and the same call goes on when there is more.

    Returns rows as `Emitted` has them for both; the numbers that need a place, to whose lines codes
    with the tag ODD refer; and how many rows and such numbers there are.
    """
    arrays = group_arrays(header)
    header[RUNS] += 1
    width = KEYS + arrays.groups.shape[1] - GROUP_KEYS
    digits = np.empty(DIGIT_COUNT, np.int64)
    counts = np.zeros(6, np.int64)
    values = Emitted(np.empty((64, width + 1), np.int64), counts[0:2])
    present = Emitted(np.empty((16, width), np.int64), counts[2:4])
    odd = Emitted(np.empty((4, 2), np.int64), counts[4:6])
    start = header[START]
    drops_gone = header[FUNCTION] >= LEAST and header[RETRACTS] != 0
    while True:
        event = advance_wheel(
            arrays.events, arrays.event_counts, arrays.wheels, last - start, drops_gone
        )
        if event == NONE:
            break
        header[SHORTAGE] = missing_room(arrays, event)
        if header[SHORTAGE] > 0:
            arrays.wheels[arrays.event_counts[NOW] % SLOTS] = event
            break
        if drops_gone:
            # Numbers that leave in the order in which they came cost the least.
            event = reversed_list(arrays.events, event)
        touched, count = _apply_list(arrays, event)
        if drops_gone:
            drop_gone(arrays, touched)
        values = _with_room(values, 2 * count)
        odd = _with_room(odd, 2 * count)
        if header[WITH_PRESENT] != 0:
            present = _with_room(present, count)
        t = arrays.event_counts[NOW] + start
        _change_groups(arrays, touched, t, digits, values, present, odd)
    return values.lines, present.lines, odd.lines, counts


@kernel
def rebuild_groups(header: Ints) -> None:
    """Enter all groups into a hash table that has grown."""
    link_groups(group_arrays(header))

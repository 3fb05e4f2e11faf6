"""Kernels that save the numbers of groups, and load groups: as lines with the keys at the end."""

import numpy as np

from larspark.run.interval.kernels.compile import helper, kernel
from larspark.run.interval.kernels.event_wheel import NOW
from larspark.run.interval.kernels.exact_sum import HIGHEST, LIMB_COUNT, LIMBS, LOWEST
from larspark.run.interval.kernels.extremes import (
    BITS,
    KIND,
    LEAVES,
    NEXT,
    NODES_USED,
    first_leaf,
    joined,
    new_node,
)
from larspark.run.interval.kernels.group_table import (
    FLOATS,
    FUNCTION,
    GROUP_KEYS,
    GROUPS_USED,
    HEAP,
    HIGH,
    LARGEST,
    LEAST,
    LOW,
    NUMBERS,
    OLDEST,
    PRESENT,
    START,
    TUPLES,
    VALUE,
    VALUE_KIND,
    WAITING,
    GroupArrays,
    find_group,
    group_arrays,
    sum_of,
)
from larspark.run.interval.kernels.group_values import (
    add_event,
    best_that_stays,
    drop_best_gone,
    knows_ends,
)
from larspark.run.interval.kernels.layout import NONE, Ints
from larspark.run.interval.kernels.number_queue import push_number

# Columns of the lines before the keys.
SAVED_GROUP = (TUPLES, NUMBERS, FLOATS, HIGH, LOW, PRESENT, VALUE_KIND, VALUE)
EVENT_AT, EVENT_ACTION, EVENT_KIND, EVENT_NUMBER, EVENT_LAST, EVENT_COLUMNS = 0, 1, 2, 3, 4, 5
MEMBER_KIND, MEMBER_NUMBER, MEMBER_LAST, MEMBER_COLUMNS = 0, 1, 2, 3


@helper
def _take_members(arrays: GroupArrays, group: int, lines: Ints, count: int) -> int:
    groups, nodes = arrays.groups, arrays.nodes
    is_heap = groups[group, OLDEST] == NONE
    node = groups[group, HEAP if is_heap else OLDEST]
    while node != NONE:
        if is_heap:
            node = first_leaf(nodes, node)
        lines[count, MEMBER_KIND] = nodes[node, KIND]
        lines[count, MEMBER_NUMBER] = nodes[node, BITS]
        lines[count, MEMBER_LAST] = nodes[node, LEAVES]
        for column in range(groups.shape[1] - GROUP_KEYS):
            lines[count, MEMBER_COLUMNS + column] = groups[group, GROUP_KEYS + column]
        count += 1
        node = nodes[node, NEXT]
    return count


@kernel
def take_members(header: Ints) -> Ints:
    """Take the numbers out of all groups, as lines; the groups cannot be used any more."""
    arrays = group_arrays(header)
    groups = arrays.groups
    width = MEMBER_COLUMNS + groups.shape[1] - GROUP_KEYS
    lines = np.empty((arrays.node_counts[NODES_USED], width), np.int64)
    count = 0
    for group in range(header[GROUPS_USED]):
        if groups[group, WAITING] != NONE:
            if not knows_ends(header):
                drop_best_gone(arrays, group, True)
            count = _take_members(arrays, group, lines, count)
    return lines[:count]


@helper
def _load_groups(arrays: GroupArrays, lines: Ints, sums: Ints) -> None:
    groups = arrays.groups
    columns = SAVED_GROUP
    for line in range(lines.shape[0]):
        group = find_group(arrays, lines, line, len(columns))
        for place in range(len(columns)):
            groups[group, columns[place]] = lines[line, place]
        if arrays.header[FUNCTION] >= LEAST:
            groups[group, NUMBERS] = 0
    for line in range(sums.shape[0]):
        group = find_group(arrays, sums, line, LIMB_COUNT)
        found = sum_of(arrays, group)
        arrays.sums[found, LOWEST] = 0
        arrays.sums[found, HIGHEST] = LIMB_COUNT - 1
        for limb in range(LIMB_COUNT):
            arrays.sums[found, LIMBS + limb] = sums[line, limb]


@helper
def _load_members(arrays: GroupArrays, lines: Ints) -> None:
    groups, direction = arrays.groups, 1 if arrays.header[FUNCTION] == LARGEST else -1
    prunes = knows_ends(arrays.header)
    for line in range(lines.shape[0]):
        group = find_group(arrays, lines, line, MEMBER_COLUMNS)
        kind, bits = lines[line, MEMBER_KIND] & 1, lines[line, MEMBER_NUMBER]
        node = new_node(arrays.nodes, arrays.node_counts, kind, bits, lines[line, MEMBER_LAST])
        if prunes:
            groups[group, HEAP] = joined(
                arrays.nodes, arrays.node_counts, groups[group, HEAP], node, direction, prunes
            )
        else:
            push_number(arrays, group, node, direction)
            groups[group, NUMBERS] += 1


@helper
def _load_events(arrays: GroupArrays, lines: Ints) -> None:
    for line in range(lines.shape[0]):
        group = find_group(arrays, lines, line, EVENT_COLUMNS)
        add_event(
            arrays,
            lines[line, EVENT_AT],
            group,
            lines[line, EVENT_KIND] % 3,
            lines[line, EVENT_ACTION] & 1,
            lines[line, EVENT_NUMBER],
            lines[line, EVENT_LAST],
        )
    if knows_ends(arrays.header):
        for group in range(arrays.header[GROUPS_USED]):
            best_that_stays(arrays, group, arrays.event_counts[NOW] + arrays.header[START])


@kernel
def load_groups(header: Ints, groups: Ints, sums: Ints, members: Ints, events: Ints) -> None:
    """Load groups, their sums of floats, their numbers and events; there has to be room."""
    arrays = group_arrays(header)
    _load_groups(arrays, groups, sums)
    _load_members(arrays, members)
    _load_events(arrays, events)

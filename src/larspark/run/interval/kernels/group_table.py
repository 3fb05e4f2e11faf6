"""The groups of an aggregate: a hash table of groups, and the memory that they share."""

from typing import NamedTuple

from larspark.run.interval.kernels.addressing import array_at, entry_ids_at, table_at
from larspark.run.interval.kernels.coded_numbers import NO_VALUE
from larspark.run.interval.kernels.compile import helper, inlined, maker
from larspark.run.interval.kernels.event_wheel import EVENT_COUNTERS
from larspark.run.interval.kernels.exact_sum import clear_sum
from larspark.run.interval.kernels.extremes import COUNTER_COUNT, release
from larspark.run.interval.kernels.hash_chains import mix
from larspark.run.interval.kernels.layout import NONE, EntryIds, Ints

# The functions of aggregates; a count needs no numbers, and the last two need them in order.
COUNT, SUM, AVERAGE, LEAST, LARGEST = 0, 1, 2, 3, 4

# Columns of a group.
GROUP_NEXT = 0  # next group of the bucket, or of the free list
WAITING = 1  # events of the group that wait
TOUCHED = 2  # next group that changes now, or UNTOUCHED
TUPLES = 3
NUMBERS = 4  # tuples whose first component is a number
FLOATS = 5  # numbers that are floats
HIGH, LOW = 6, 7  # the sum of all integers is HIGH * 2**32 + LOW
FLOAT_SUM = 8  # the line of the sum of all floats, or NONE
HEAP = 9  # the numbers, of a minimum or maximum: the best one, or NONE
GONE = 10  # those of them that left, if they are a heap
GONE_COUNT = 11
OLDEST = 12  # the oldest of them if they are a queue, or NONE
NEWEST, LAST_BEST = 13, 14  # the ends of its lists
WAKE = 15  # when the best number leaves, if that is scheduled, or NONE
PRESENT = 16  # was it emitted that there is a tuple?
VALUE_KIND, VALUE = 17, 18  # the value that was emitted
RUN, PRESENT_LINE, VALUE_LINE = 19, 20, 21  # the open rows of this run, and its number
GROUP_KEYS = 22
UNTOUCHED = -2

# Counters in the header.
FUNCTION = 0
RETRACTS = 1  # can tuples be retracted?
START = 2  # from which the times of events count
GROUPS_USED, FREE_GROUPS, FREE_GROUP_COUNT = 3, 4, 5
SUMS_USED, FREE_SUMS, FREE_SUM_COUNT = 6, 7, 8
RUNS = 9  # runs so far
WITH_PRESENT = 10  # is it asked which groups have a tuple?
SHORTAGE = 11  # room that is missing for nodes or sums, or 0
# Arrays in the header, each as address and shape.
GROUPS = 12
GROUP_HEADS = 15
EVENTS = 17
EVENT_COUNTS = 20
WHEELS = 22
NODES = 24
NODE_COUNTS = 27
SUMS = 29
GROUP_HEADER_SIZE = 32


class GroupArrays(NamedTuple):
    """The header of an aggregate and the arrays it refers to."""

    header: Ints
    groups: Ints
    heads: EntryIds
    events: Ints
    event_counts: Ints
    wheels: Ints
    nodes: Ints
    node_counts: Ints
    sums: Ints


@maker
def group_arrays(header: Ints) -> GroupArrays:
    """All arrays of an aggregate."""
    return GroupArrays(
        header,
        table_at(header[GROUPS], header[GROUPS + 1], header[GROUPS + 2]),
        entry_ids_at(header[GROUP_HEADS], header[GROUP_HEADS + 1]),
        table_at(header[EVENTS], header[EVENTS + 1], header[EVENTS + 2]),
        array_at(header[EVENT_COUNTS], EVENT_COUNTERS),
        array_at(header[WHEELS], header[WHEELS + 1]),
        table_at(header[NODES], header[NODES + 1], header[NODES + 2]),
        array_at(header[NODE_COUNTS], COUNTER_COUNT),
        table_at(header[SUMS], header[SUMS + 1], header[SUMS + 2]),
    )


@inlined
def _bucket_of(lines: Ints, line: int, first: int, width: int, mask: int) -> int:
    state = 0
    for column in range(first, first + width):
        state = mix(state, lines[line, column])
    return state & mask


@helper
def find_group(arrays: GroupArrays, lines: Ints, line: int, first: int) -> int:
    """The group whose keys stand in a line from a column on; there has to be room for a new one."""
    header, groups, heads = arrays.header, arrays.groups, arrays.heads
    width = groups.shape[1] - GROUP_KEYS
    bucket = _bucket_of(lines, line, first, width, heads.shape[0] - 1)
    group = heads[bucket]
    while group != NONE:
        same = True
        for column in range(width):
            if groups[group, GROUP_KEYS + column] != lines[line, first + column]:
                same = False
                break
        if same:
            return group
        group = groups[group, GROUP_NEXT]
    group = header[FREE_GROUPS]
    if group != NONE:
        header[FREE_GROUPS] = groups[group, GROUP_NEXT]
        header[FREE_GROUP_COUNT] -= 1
    else:
        group = header[GROUPS_USED]
        header[GROUPS_USED] += 1
    for column in range(GROUP_KEYS):
        groups[group, column] = 0
    groups[group, GROUP_NEXT] = heads[bucket]
    heads[bucket] = group
    for column in (FLOAT_SUM, HEAP, GONE, OLDEST, WAKE):
        groups[group, column] = NONE
    groups[group, TOUCHED] = UNTOUCHED
    groups[group, VALUE_KIND] = NO_VALUE
    for column in range(width):
        groups[group, GROUP_KEYS + column] = lines[line, first + column]
    return group


@helper
def free_group(arrays: GroupArrays, group: int) -> None:
    """Free a group, and what it has."""
    header, groups, heads = arrays.header, arrays.groups, arrays.heads
    width = groups.shape[1] - GROUP_KEYS
    bucket = _bucket_of(groups, group, GROUP_KEYS, width, heads.shape[0] - 1)
    if heads[bucket] == group:
        heads[bucket] = groups[group, GROUP_NEXT]
    else:
        other = heads[bucket]
        while groups[other, GROUP_NEXT] != group:
            other = groups[other, GROUP_NEXT]
        groups[other, GROUP_NEXT] = groups[group, GROUP_NEXT]
    free_sum(arrays, group)
    free_heaps(arrays, group)
    # No group on the free list is taken for one that is in use.
    groups[group, WAITING] = NONE
    groups[group, GROUP_NEXT] = header[FREE_GROUPS]
    header[FREE_GROUPS] = group
    header[FREE_GROUP_COUNT] += 1


@inlined
def sum_of(arrays: GroupArrays, group: int) -> int:
    """The line of the group's sum of floats; a new one is 0."""
    header, groups, sums = arrays.header, arrays.groups, arrays.sums
    line = groups[group, FLOAT_SUM]
    if line == NONE:
        line = header[FREE_SUMS]
        if line != NONE:
            header[FREE_SUMS] = sums[line, 0]
            header[FREE_SUM_COUNT] -= 1
        else:
            line = header[SUMS_USED]
            header[SUMS_USED] += 1
        clear_sum(sums, line)
        groups[group, FLOAT_SUM] = line
    return line


@helper
def free_sum(arrays: GroupArrays, group: int) -> None:
    header, groups = arrays.header, arrays.groups
    line = groups[group, FLOAT_SUM]
    if line != NONE:
        arrays.sums[line, 0] = header[FREE_SUMS]
        header[FREE_SUMS] = line
        header[FREE_SUM_COUNT] += 1
        groups[group, FLOAT_SUM] = NONE


@helper
def free_heaps(arrays: GroupArrays, group: int) -> None:
    groups = arrays.groups
    for column in (HEAP, GONE):
        if groups[group, column] != NONE:
            release(arrays.nodes, arrays.node_counts, groups[group, column])
            groups[group, column] = NONE
    groups[group, GONE_COUNT] = 0


@helper
def link_groups(arrays: GroupArrays) -> None:
    """Enter all groups into a hash table that has grown."""
    groups, heads = arrays.groups, arrays.heads
    width = groups.shape[1] - GROUP_KEYS
    for bucket in range(heads.shape[0]):
        heads[bucket] = NONE
    for group in range(arrays.header[GROUPS_USED]):
        if groups[group, WAITING] == NONE:
            continue
        bucket = _bucket_of(groups, group, GROUP_KEYS, width, heads.shape[0] - 1)
        groups[group, GROUP_NEXT] = heads[bucket]
        heads[bucket] = group

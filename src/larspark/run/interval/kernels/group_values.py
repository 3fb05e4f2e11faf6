"""The numbers of a group: tuples join and leave it at events, and it has a value between them."""

from larspark.run.interval.kernels.coded_numbers import (
    FLOAT,
    INTEGER,
    NO_VALUE,
    TEXT,
)
from larspark.run.interval.kernels.compile import helper, inlined, maker
from larspark.run.interval.kernels.event_wheel import (
    EVENT_DATA,
    EVENT_NEXT,
    EVENT_TIME,
    NOW,
    free_event,
    new_event,
    schedule_event,
)
from larspark.run.interval.kernels.exact_sum import (
    LIMB_BITS,
    LIMB_MASK,
    add_float,
    integer_average,
    integer_sum,
    rounded,
)
from larspark.run.interval.kernels.extremes import (
    BITS,
    KIND,
    LEAVES,
    NODES_USED,
    joined,
    new_node,
    without_best,
    without_gone,
)
from larspark.run.interval.kernels.group_table import (
    AVERAGE,
    COUNT,
    FLOAT_SUM,
    FLOATS,
    FREE_GROUP_COUNT,
    FREE_SUM_COUNT,
    FUNCTION,
    GONE,
    GONE_COUNT,
    GROUPS_USED,
    HEAP,
    HIGH,
    LARGEST,
    LEAST,
    LOW,
    NUMBERS,
    RETRACTS,
    START,
    SUM,
    SUMS_USED,
    TOUCHED,
    TUPLES,
    WAITING,
    WAKE,
    GroupArrays,
    free_heaps,
    free_sum,
    sum_of,
)
from larspark.run.interval.kernels.layout import FOREVER, NONE, Ints
from larspark.run.interval.kernels.number_queue import (
    is_queue,
    make_heap,
    pop_number,
    push_number,
)

# The data of an event: the group, the kind of the number and what happens; the bits of the number;
# and, if tuples are not retracted, the last time of a tuple that joins.
WHAT, NUMBER, LAST_TIME = EVENT_DATA, EVENT_DATA + 1, EVENT_DATA + 2
LEAVE, JOIN, WAKE_UP = 0, 1, 2
_ACTION_BITS, _KIND_BITS = 2, 2
_ACTION, _KIND = 3, 3


@inlined
def knows_ends(header: Ints) -> bool:
    """Is it known when a number leaves, and is nothing else asked?"""
    return header[FUNCTION] >= LEAST and header[RETRACTS] == 0


@helper
def add_event(
    arrays: GroupArrays, time: int, group: int, kind: int, action: int, bits: int, last: int
) -> None:
    events = arrays.events
    event = new_event(events, arrays.event_counts)
    events[event, EVENT_TIME] = max(time - arrays.header[START], arrays.event_counts[NOW])
    events[event, WHAT] = (group << _KIND_BITS | kind) << _ACTION_BITS | action
    if events.shape[1] > NUMBER:
        events[event, NUMBER] = bits
    if events.shape[1] > LAST_TIME:
        events[event, LAST_TIME] = last
    schedule_event(events, arrays.event_counts, arrays.wheels, event)
    arrays.groups[group, WAITING] += 1


@helper
def _apply_number(arrays: GroupArrays, group: int, kind: int, bits: int, sign: int) -> None:
    """Let a number join a group, or leave it."""
    groups, function = arrays.groups, arrays.header[FUNCTION]
    groups[group, NUMBERS] += sign
    if function >= LEAST:
        nodes, counts = arrays.nodes, arrays.node_counts
        direction = 1 if function == LARGEST else -1
        if is_queue(arrays, group):
            if sign > 0:
                node = new_node(nodes, counts, kind, bits, FOREVER)
                push_number(arrays, group, node, direction)
                return
            if pop_number(arrays, group, kind, bits):
                return
            make_heap(arrays, group, direction)
        node = new_node(nodes, counts, kind, bits, FOREVER)
        column = HEAP if sign > 0 else GONE
        groups[group, column] = joined(nodes, counts, groups[group, column], node, direction, False)
        groups[group, GONE_COUNT] += int(sign < 0)
    elif kind == FLOAT:
        groups[group, FLOATS] += sign
        add_float(arrays.sums, sum_of(arrays, group), bits, sign)
    else:
        low = groups[group, LOW] + sign * (bits & LIMB_MASK)
        groups[group, HIGH] += sign * (bits >> LIMB_BITS) + (low >> LIMB_BITS)
        groups[group, LOW] = low & LIMB_MASK


@helper
def apply_event(arrays: GroupArrays, event: int) -> int:
    """Let an event happen, and free it; returns the group."""
    header, groups, events = arrays.header, arrays.groups, arrays.events
    what = events[event, WHAT]
    action, kind = what & _ACTION, (what >> _ACTION_BITS) & _KIND
    group = what >> (_ACTION_BITS + _KIND_BITS)
    groups[group, WAITING] -= 1
    if action == WAKE_UP:
        if groups[group, WAKE] == events[event, EVENT_TIME]:
            groups[group, WAKE] = NONE
    elif knows_ends(header):
        nodes, counts = arrays.nodes, arrays.node_counts
        node = new_node(nodes, counts, kind, events[event, NUMBER], events[event, LAST_TIME])
        direction = 1 if header[FUNCTION] == LARGEST else -1
        groups[group, HEAP] = joined(nodes, counts, groups[group, HEAP], node, direction, True)
    else:
        sign = 1 if action == JOIN else -1
        groups[group, TUPLES] += sign
        if header[FUNCTION] >= SUM and kind != TEXT:
            _apply_number(arrays, group, kind, events[event, NUMBER], sign)
    free_event(events, arrays.event_counts, event)
    return group


@helper
def best_that_stays(arrays: GroupArrays, group: int, t: int) -> None:
    """Drop the best numbers that have left, and schedule when the best one leaves."""
    header, groups, nodes = arrays.header, arrays.groups, arrays.nodes
    direction = 1 if header[FUNCTION] == LARGEST else -1
    heap = groups[group, HEAP]
    while heap != NONE and nodes[heap, LEAVES] < t:
        heap = without_best(nodes, arrays.node_counts, heap, direction, True)
    groups[group, HEAP] = heap
    if heap == NONE or nodes[heap, LEAVES] >= FOREVER:
        return
    wake = nodes[heap, LEAVES] + 1 - header[START]
    if groups[group, WAKE] == NONE or groups[group, WAKE] > wake:
        groups[group, WAKE] = wake
        add_event(arrays, wake + header[START], group, INTEGER, WAKE_UP, 0, 0)


@maker
def drop_best_gone(arrays: GroupArrays, group: int, everywhere: bool) -> None:
    """Drop the best numbers that have left; everywhere if asked for, or if most have left."""
    groups, nodes, counts = arrays.groups, arrays.nodes, arrays.node_counts
    if groups[group, NUMBERS] == 0:
        free_heaps(arrays, group)
        return
    direction = 1 if arrays.header[FUNCTION] == LARGEST else -1
    heap, gone = groups[group, HEAP], groups[group, GONE]
    while (
        gone != NONE
        and heap != NONE
        and (nodes[heap, KIND] == nodes[gone, KIND] and nodes[heap, BITS] == nodes[gone, BITS])
    ):
        heap = without_best(nodes, counts, heap, direction, False)
        gone = without_best(nodes, counts, gone, direction, False)
        groups[group, GONE_COUNT] -= 1
    gone_count = groups[group, GONE_COUNT]
    if gone_count > groups[group, NUMBERS] + 16 or (everywhere and gone_count > 0):
        count = groups[group, NUMBERS] + gone_count
        heap = without_gone(nodes, counts, heap, gone, count, gone_count, FOREVER, direction)
        gone, groups[group, GONE_COUNT] = NONE, 0
    groups[group, HEAP], groups[group, GONE] = heap, gone


@helper
def value_of(arrays: GroupArrays, group: int, digits: Ints) -> tuple[int, int]:
    """The kind and the bits of the value of a group now."""
    groups, sums, function = arrays.groups, arrays.sums, arrays.header[FUNCTION]
    if function >= LEAST:
        heap = groups[group, HEAP]
        if heap == NONE:
            return NO_VALUE, 0
        return arrays.nodes[heap, KIND], arrays.nodes[heap, BITS]
    if groups[group, TUPLES] == 0:
        return NO_VALUE, 0
    if function == COUNT:
        return INTEGER, groups[group, TUPLES]
    numbers, high, low = groups[group, NUMBERS], groups[group, HIGH], groups[group, LOW]
    if groups[group, FLOATS] == 0:
        free_sum(arrays, group)
        if function == SUM:
            return integer_sum(high, low)
        if numbers == 0:
            return NO_VALUE, 0
        return integer_average(high, low, numbers, sums, digits)
    divisor = numbers if function == AVERAGE else 1
    return rounded(sums, groups[group, FLOAT_SUM], high, low, divisor, digits)


@helper
def missing_room(arrays: GroupArrays, event: int) -> int:
    """How much room for numbers or sums is missing before a list of events can happen."""
    header, count = arrays.header, 0
    if header[FUNCTION] < SUM:
        return 0
    while event != NONE:
        count += 1
        event = arrays.events[event, EVENT_NEXT]
    if header[FUNCTION] >= LEAST:
        return max(0, count - arrays.nodes.shape[0] + arrays.node_counts[NODES_USED])
    needed = min(count, header[GROUPS_USED] - header[FREE_GROUP_COUNT])
    room = arrays.sums.shape[0] - header[SUMS_USED] + header[FREE_SUM_COUNT]
    return max(0, needed - room)


@maker
def drop_gone(arrays: GroupArrays, group: int) -> None:
    """Drop the best numbers that have left, of a list of groups."""
    while group != NONE:
        drop_best_gone(arrays, group, False)
        group = arrays.groups[group, TOUCHED]

"""Largest and smallest numbers of groups that numbers leave in the order in which they came.

All numbers of a group are a list, from the oldest to the newest. Those that are better than all
newer ones are a second list, of which the first is the best. So a number joins and leaves in a
constant time, on average. A group that a number leaves out of order gets a heap instead, until it
is empty.
"""

from larspark.run.interval.kernels.compile import helper, inlined
from larspark.run.interval.kernels.extremes import (
    BITS,
    CHILD,
    KIND,
    LATEST,
    LEAVES,
    NEXT,
    compare_nodes,
    joined,
    release,
)
from larspark.run.interval.kernels.group_table import (
    GONE_COUNT,
    HEAP,
    LAST_BEST,
    NEWEST,
    OLDEST,
    GroupArrays,
)
from larspark.run.interval.kernels.layout import FOREVER, NONE

# Columns of a node in both lists.
_NEWER, _NEXT_BEST, _BEST_BEFORE = NEXT, CHILD, LEAVES


@inlined
def is_queue(arrays: GroupArrays, group: int) -> bool:
    """Are the numbers of the group a queue, perhaps an empty one?"""
    groups = arrays.groups
    return groups[group, OLDEST] != NONE or (
        groups[group, HEAP] == NONE and groups[group, GONE_COUNT] == 0
    )


@helper
def push_number(arrays: GroupArrays, group: int, node: int, direction: int) -> None:
    """Add a new node to the queue."""
    groups, nodes = arrays.groups, arrays.nodes
    if groups[group, OLDEST] == NONE:
        groups[group, OLDEST] = node
        last = NONE
    else:
        nodes[groups[group, NEWEST], _NEWER] = node
        last = groups[group, LAST_BEST]
    groups[group, NEWEST] = node
    while last != NONE and compare_nodes(nodes, last, node) * direction <= 0:
        last = nodes[last, _BEST_BEFORE]
    nodes[node, _BEST_BEFORE] = last
    if last == NONE:
        groups[group, HEAP] = node
    else:
        nodes[last, _NEXT_BEST] = node
    groups[group, LAST_BEST] = node


@helper
def pop_number(arrays: GroupArrays, group: int, kind: int, bits: int) -> bool:
    """Remove a number from the queue if it is the oldest one; is it?"""
    groups, nodes = arrays.groups, arrays.nodes
    oldest = groups[group, OLDEST]
    if oldest == NONE or nodes[oldest, KIND] != kind or nodes[oldest, BITS] != bits:
        return False
    groups[group, OLDEST] = nodes[oldest, _NEWER]
    if groups[group, HEAP] == oldest:
        best = nodes[oldest, _NEXT_BEST]
        groups[group, HEAP] = best
        if best != NONE:
            nodes[best, _BEST_BEFORE] = NONE
    nodes[oldest, _NEXT_BEST] = NONE
    release(nodes, arrays.node_counts, oldest)
    return True


@helper
def make_heap(arrays: GroupArrays, group: int, direction: int) -> None:
    """Join the numbers of the queue to a heap."""
    groups, nodes = arrays.groups, arrays.nodes
    node, heap = groups[group, OLDEST], NONE
    while node != NONE:
        newer = nodes[node, _NEWER]
        nodes[node, NEXT] = NONE
        nodes[node, CHILD] = NONE
        nodes[node, LEAVES] = FOREVER
        nodes[node, LATEST] = FOREVER
        heap = joined(nodes, arrays.node_counts, heap, node, direction, False)
        node = newer
    groups[group, HEAP] = heap
    groups[group, OLDEST] = NONE

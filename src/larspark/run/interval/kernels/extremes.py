"""Largest and smallest numbers: pairing heaps of numbers that leave at a known time, or when told.

A heap is a tree: a node is no worse than its children, which are a list. Joining two heaps makes
one root the first child of the other.

- If it is known when numbers leave, a node says when. A number that is no better than another one
  and leaves no later can never be the best, so it is dropped when they meet, with all below it that
  leave no later. Of numbers that leave in the order of arrival few remain.
- Otherwise the numbers that left are a heap of their own. Where the best of both heaps are equal,
  both are dropped. When half of a heap has left it is made anew. This is for groups that numbers
  leave out of order; for others there is `number_queue`.
"""

import numpy as np

from larspark.run.interval.kernels.coded_numbers import INTEGER, order
from larspark.run.interval.kernels.compile import helper, inlined, maker
from larspark.run.interval.kernels.layout import NONE, Ints

# Columns of a node. LEAVES is the last time of its number, LATEST that of all numbers below, too.
NEXT, CHILD, KIND, BITS, LEAVES, LATEST, NODE_SIZE = 0, 1, 2, 3, 4, 5, 6
# The counters of the nodes, in an array of their own.
NODES_USED, FREE_NODES, COUNTER_COUNT = 0, 1, 2


@inlined
def first_leaf(nodes: Ints, node: int) -> int:
    """A node without children, before which the rest of a list and its trees is put as `NEXT`."""
    while nodes[node, CHILD] != NONE:
        child = nodes[node, CHILD]
        nodes[node, CHILD] = nodes[child, NEXT]
        nodes[child, NEXT] = node
        node = child
    return node


@inlined
def new_node(nodes: Ints, counters: Ints, kind: int, bits: int, leaves: int) -> int:
    """A heap of one number; there has to be room."""
    node = counters[FREE_NODES]
    if node != NONE:
        node = first_leaf(nodes, node)
        counters[FREE_NODES] = nodes[node, NEXT]
    else:
        node = counters[NODES_USED]
        counters[NODES_USED] += 1
    nodes[node, NEXT] = NONE
    nodes[node, CHILD] = NONE
    nodes[node, KIND] = kind
    nodes[node, BITS] = bits
    nodes[node, LEAVES] = leaves
    nodes[node, LATEST] = leaves
    return node


@inlined
def release(nodes: Ints, counters: Ints, node: int) -> None:
    """Put a node with all below it on the free list."""
    nodes[node, NEXT] = counters[FREE_NODES]
    counters[FREE_NODES] = node


@inlined
def compare_nodes(nodes: Ints, node: int, other: int) -> int:
    """-1, 0 or 1: the number of a node is less than another one, equal or greater."""
    return order(nodes[node, KIND], nodes[node, BITS], nodes[other, KIND], nodes[other, BITS])


@helper
def joined(nodes: Ints, counters: Ints, heap: int, other: int, direction: int, prunes: bool) -> int:
    """Two heaps as one; the direction is 1 for the largest number, and -1 for the smallest.

    With `prunes` numbers that can never be the best are dropped.
    """
    if heap == NONE:
        return other
    if other == NONE:
        return heap
    better = compare_nodes(nodes, heap, other) * direction
    if better < 0 or (better == 0 and nodes[heap, LEAVES] < nodes[other, LEAVES]):
        heap, other = other, heap
    if prunes:
        if nodes[other, LATEST] <= nodes[heap, LEAVES]:
            release(nodes, counters, other)
            return heap
        child = nodes[heap, CHILD]
        while (
            child != NONE
            and nodes[child, LATEST] <= nodes[other, LEAVES]
            and compare_nodes(nodes, child, other) * direction <= 0
        ):
            nodes[heap, CHILD] = nodes[child, NEXT]
            release(nodes, counters, child)
            child = nodes[heap, CHILD]
    nodes[other, NEXT] = nodes[heap, CHILD]
    nodes[heap, CHILD] = other
    nodes[heap, LATEST] = max(nodes[heap, LATEST], nodes[other, LATEST])
    return heap


@helper
def without_best(nodes: Ints, counters: Ints, heap: int, direction: int, prunes: bool) -> int:
    """A heap without its root: the children are joined in pairs, and then one after another."""
    child = nodes[heap, CHILD]
    nodes[heap, CHILD] = NONE
    release(nodes, counters, heap)
    pairs = NONE
    while child != NONE:
        other = nodes[child, NEXT]
        following = NONE
        nodes[child, NEXT] = NONE
        if other != NONE:
            following = nodes[other, NEXT]
            nodes[other, NEXT] = NONE
        pair = joined(nodes, counters, child, other, direction, prunes)
        nodes[pair, NEXT] = pairs
        pairs = pair
        child = following
    found = NONE
    while pairs != NONE:
        following = nodes[pairs, NEXT]
        nodes[pairs, NEXT] = NONE
        found = joined(nodes, counters, found, pairs, direction, prunes)
        pairs = following
    return found


@helper
def _take_numbers(
    nodes: Ints, counters: Ints, heap: int, kind: int, numbers: Ints
) -> tuple[int, int]:
    """Move the numbers of a kind out of a heap; returns how many, and a heap of the others."""
    count, others = 0, NONE
    while heap != NONE:
        node = first_leaf(nodes, heap)
        heap = nodes[node, NEXT]
        nodes[node, NEXT] = others
        if nodes[node, KIND] != kind:
            others = node
            continue
        numbers[count] = nodes[node, BITS]
        count += 1
        nodes[node, NEXT] = NONE
        release(nodes, counters, node)
    return count, others


@helper
def _push_remaining(
    nodes: Ints,
    counters: Ints,
    heap: int,
    kind: int,
    numbers: Ints,
    gone: Ints,
    leaves: int,
    direction: int,
) -> int:
    """Join the sorted numbers that are not gone to a heap."""
    place = 0
    for number in numbers:
        if place < gone.shape[0] and gone[place] == number:
            place += 1
            continue
        node = new_node(nodes, counters, kind, number, leaves)
        heap = joined(nodes, counters, heap, node, direction, False)
    return heap


@maker
def without_gone(
    nodes: Ints,
    counters: Ints,
    heap: int,
    gone: int,
    count: int,
    gone_count: int,
    leaves: int,
    direction: int,
) -> int:
    """A heap made anew, without the numbers of another one; of both the size is known."""
    numbers, gone_numbers = np.empty(count, np.int64), np.empty(gone_count, np.int64)
    found = NONE
    for kind in range(INTEGER, INTEGER + 2):
        if heap == NONE:
            break
        size, heap = _take_numbers(nodes, counters, heap, kind, numbers)
        gone_size, gone = _take_numbers(nodes, counters, gone, kind, gone_numbers)
        sorted_numbers = np.sort(numbers[:size])
        sorted_gone = np.sort(gone_numbers[:gone_size])
        found = _push_remaining(
            nodes, counters, found, kind, sorted_numbers, sorted_gone, leaves, direction
        )
    return found

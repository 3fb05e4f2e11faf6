"""Strongly connected components of directed graphs, without recursion."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strongly_connected(successors: Mapping[Node, Iterable[Node]]) -> Iterator[frozenset[Node]]:
    """The strongly connected components, each after those it leads to (Tarjan's algorithm).

    >>> [sorted(part) for part in strongly_connected({"a": ["b"], "b": ["a", "c"], "c": []})]
    [['c'], ['a', 'b']]
    """
    # A node's number is its position in the order of discovery; `low` is the least number that it
    # is known to reach.
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    unassigned: list[Node] = []
    assigned: set[Node] = set()
    for root in successors:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        unassigned.append(root)
        path = [(root, iter(successors[root]))]
        while path:
            node, rest = path[-1]
            for other in rest:
                if other not in number:
                    number[other] = low[other] = len(number)
                    unassigned.append(other)
                    path.append((other, iter(successors.get(other, ()))))
                    break
                if other not in assigned:
                    low[node] = min(low[node], number[other])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == number[node]:
                    part: set[Node] = set()
                    while node not in part:
                        part.add(unassigned.pop())
                    assigned |= part
                    yield frozenset(part)


def component_numbers(successors: Mapping[Node, Iterable[Node]]) -> dict[Node, int]:
    """The number of each node's component, greater than those of all components it leads to.

    >>> sorted(component_numbers({"a": ["b"], "b": ["a", "c"], "c": []}).items())
    [('a', 1), ('b', 1), ('c', 0)]
    """
    return {
        node: number for number, part in enumerate(strongly_connected(successors)) for node in part
    }

"""Strongly connected components, without recursion."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(successors: Mapping[Node, Iterable[Node]]) -> dict[Node, int]:
    """The number of each node's component; a component's number is above all it leads to.

    >>> components({"a": ["b"], "b": ["a", "c"], "c": []})
    {'c': 0, 'b': 1, 'a': 1}
    """
    found: dict[Node, int] = {}
    discovered: dict[Node, int] = {}
    low: dict[Node, int] = {}
    unassigned: list[Node] = []
    count = 0
    for root in successors:
        if root in discovered:
            continue
        discovered[root] = low[root] = len(discovered)
        unassigned.append(root)
        path = [(root, iter(successors[root]))]
        while path:
            node, rest = path[-1]
            for other in rest:
                if other not in discovered:
                    discovered[other] = low[other] = len(discovered)
                    unassigned.append(other)
                    path.append((other, iter(successors.get(other, ()))))
                    break
                if other not in found:
                    low[node] = min(low[node], discovered[other])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == discovered[node]:
                    while found.get(node) is None:
                        found[unassigned.pop()] = count
                    count += 1
    return found

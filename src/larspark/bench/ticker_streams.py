"""The signals of Ticker's scenarios, generated as 001 describes them."""

from collections.abc import Iterator
from itertools import count, islice, pairwise

import numpy as np

from larspark.base.atoms import Atom, fact

# For every time point from 1 on, the atoms that arrive.
Signals = list[list[Atom]]

_SEED = 2017
_NODES = 11
_ITEMS = ("i1", "i2")
_LEVELS = 3
# The Abilene network.
_EDGES = [*pairwise(range(_NODES)), (0, 10), (1, 10), (2, 8), (3, 7)]

# The values that are low, mid and high.
_MODES = ((0, 12), (12, 18), (18, 30))


def caching(window: int, last: int) -> Signals:
    """`alpha(V)` once a time point: a mode is chosen and kept for twice the window."""
    random = np.random.default_rng(_SEED)
    signals: Signals = []
    for t in range(last):
        if t % (2 * window) == 0:
            mode = _MODES[random.integers(len(_MODES))]
        signals.append([fact("alpha", int(random.integers(*mode)))])
    return signals


def background() -> frozenset[Atom]:
    """The network, with edges both ways, the levels and the items."""
    edges = {fact("edge", *ends) for pair in _EDGES for ends in (pair, pair[::-1])}
    nodes = {fact("node", node) for node in range(_NODES)}
    levels = {fact("lev", level) for level in range(_LEVELS)}
    return frozenset({*edges, *nodes, *levels, *(fact("item", item) for item in _ITEMS)})


def retrieval(window: int, last: int, *, busy: bool) -> Signals:
    """Requests, cached items, nodes that are down and quality levels: few (B1) or many (B2)."""
    return list(islice(endless_retrieval(window, busy=busy), last))


def endless_retrieval(window: int, *, busy: bool) -> Iterator[list[Atom]]:
    """The same signals, time point by time point, without an end."""
    random = np.random.default_rng(_SEED)
    return (_busy if busy else _calm)(random, window)


def _calm(random: np.random.Generator, window: int) -> Iterator[list[Atom]]:
    levels = random.integers(_LEVELS, size=_NODES)
    changed = np.ones(_NODES, bool)
    while True:
        atoms = [fact("qLev", int(node), int(levels[node])) for node in np.flatnonzero(changed)]
        atoms += [fact("req", item, _node(random)) for item in _ITEMS if random.random() < 0.1]
        if random.random() < 0.1:
            atoms.append(fact("cache", str(random.choice(_ITEMS)), _node(random)))
        if random.random() < 0.1:
            atoms.append(fact("down", _node(random)))
        yield atoms
        changed = random.random(_NODES) < 3 / window
        levels[changed] = random.integers(_LEVELS, size=int(changed.sum()))


def _busy(random: np.random.Generator, window: int) -> Iterator[list[Atom]]:
    levels = random.integers(_LEVELS, size=_NODES)
    down_until = np.zeros(_NODES, np.int64)
    for t in count():
        atoms: list[Atom] = []
        for item in _ITEMS:
            if random.random() < 0.5:
                nodes = random.choice(_NODES, int(random.integers(1, 4)), replace=False)
                atoms += [fact("req", item, int(node)) for node in nodes]
        for _ in range(int(random.integers(1, 4))):
            atoms.append(fact("cache", str(random.choice(_ITEMS)), _node(random)))
        for node in np.flatnonzero(random.random(_NODES) < 0.25):
            if random.random() >= 0.9:
                levels[node] = random.integers(_LEVELS)
            atoms.append(fact("qLev", int(node), int(levels[node])))
        if random.random() < 1 / window:
            down_until[_node(random)] = t + int(1.5 * window)
        atoms += [fact("down", int(node)) for node in np.flatnonzero(down_until > t)]
        yield atoms


def _node(random: np.random.Generator) -> int:
    return int(random.integers(_NODES))

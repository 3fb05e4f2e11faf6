"""Tuple windows against an obvious twin: the last elements that have arrived, of all or a group."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.atoms import Signature
from larspark.run.interval.kernels.layout import FOREVER, Ints
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.tuple_windows import Among, Elements, LastOfGroups, LastTuples

P = Signature("p", 2)
# Elements (key, number) at the time points 1, 2, ...; the same one may come again later.
streams = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=5, unique=True), max_size=8
)


class Collected:
    """Keeps for every time point the rows that hold there, each with its own time point."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.counts: Counter[tuple[int, tuple[int, ...]]] = Counter()

    def receive(self, sign: int, batch: Ints) -> None:
        for start, end, *atom in batch.tolist():
            for t in range(start, min(end, self.last) + 1):
                self.counts[t, tuple(atom)] += sign


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("grouped", [False, True])
@given(stream=streams, size=st.integers(1, 4), together=st.booleans())
@settings(max_examples=60)
def test_a_window_holds_the_last_tuples(
    grouped: bool, stream: list[list[tuple[int, int]]], size: int, together: bool
) -> None:
    """Whether the elements come time point by time point, or all at once."""
    last = len(stream)
    clock = Clock(1, None, 1, 1, False)
    window = (
        LastOfGroups(P, Among(None), (0,), size, 0, clock)
        if grouped
        else LastTuples(P, Among(None), size, 0, clock)
    )
    found = Collected(last)
    window.consumers.append(found)
    arrived = [(t, *atom) for t, atoms in enumerate(stream, 1) for atom in atoms]
    lines = [([t, FOREVER, t, *atom], turn) for turn, (t, *atom) in enumerate(arrived)]
    batches = [lines] if together else [[x for x in lines if x[0][0] == t + 1] for t in range(last)]
    for batch in batches:
        if batch:
            rows = np.array([row for row, _ in batch], np.int64)
            order = np.array([turn for _, turn in batch], np.int64)
            window.arrive({P: Elements(rows, order)})
    expected = set()
    for t in range(1, last + 1):
        before = [element for element in arrived if element[0] <= t]
        keys = {element[1] for element in before} if grouped else {None}
        for key in keys:
            group = [element for element in before if key is None or element[1] == key]
            expected |= {(t, element) for element in group[-size:]}
    assert set(found.counts.values()) <= {0, 1}
    assert {point for point, count in found.counts.items() if count} == expected

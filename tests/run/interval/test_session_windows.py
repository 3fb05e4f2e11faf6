"""Session windows against an obvious twin: elements follow each other until there is a gap."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.atoms import Signature
from larspark.language.windows import SessionWindow
from larspark.run.interval.kernels.layout import FOREVER, Ints
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.session_windows import SessionRows
from larspark.run.interval.tuple_windows import Among, Elements

P = Signature("p", 2)
# For every time point the keys that have an element.
streams = st.lists(st.sets(st.integers(0, 3), max_size=3), min_size=1, max_size=20)
windows = st.builds(
    SessionWindow, st.integers(0, 3), st.none() | st.integers(0, 6), st.booleans(), st.just(())
)


class Collected:
    """Counts the rows that are received, and for every time point those that hold there."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.received = 0
        self.counts: Counter[tuple[int, ...]] = Counter()

    def receive(self, sign: int, batch: Ints) -> None:
        self.received += len(batch)
        for start, end, *atom in batch.tolist():
            for t in range(start, min(end, self.last) + 1):
                self.counts[t, *atom] += sign


def sessions(window: SessionWindow, times: list[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for t in times:
        if found and t <= window.over(found[-1][0], found[-1][-1]):
            found[-1].append(t)
        else:
            found.append([t])
    return found


def expected(window: SessionWindow, stream: list[set[int]], grouped: bool) -> set[tuple[int, ...]]:
    held = set()
    for group in range(4) if grouped else [None]:
        times = [t for t, keys in enumerate(stream) if (group in keys if grouped else keys)]
        for session in sessions(window, times):
            over = window.over(session[0], session[-1])
            for t in session:
                for at in [over + 1] if window.ended else range(t, over + 1):
                    keys = stream[t] if group is None else {group}
                    held |= {(at, t, key, t % 3) for key in keys}
    return {row for row in held if row[0] < len(stream)}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("grouped", [False, True])
@given(window=windows, stream=streams, cuts=st.sets(st.integers(1, 19)), saved=st.booleans())
@settings(max_examples=60)
def test_a_window_holds_a_session(
    grouped: bool, window: SessionWindow, stream: list[set[int]], cuts: set[int], saved: bool
) -> None:
    """However the stream is cut, also by saving what is open."""
    clock = Clock(0, None, 0, 0, hindsight=False)
    by = (0,) if grouped else None
    found = Collected(len(stream) - 1)
    rows = SessionRows(P, Among(None), by, window, clock)
    stops = sorted({cut for cut in cuts if cut < len(stream)} | {len(stream)})
    for first, stop in zip([0, *stops], stops, strict=False):
        rows.consumers = [found]
        clock.floor, clock.last = first, stop - 1
        lines = [[t, FOREVER, t, k, t % 3] for t in range(first, stop) for k in sorted(stream[t])]
        batch = np.array(lines, np.int64).reshape(len(lines), 5)
        rows.arrive({P: Elements(batch, np.arange(len(lines)))})
        if saved:
            state = rows.state()
            rows = SessionRows(P, Among(None), by, window, clock)
            rows.load(state)
    assert set(found.counts.values()) <= {0, 1}
    assert {key for key, count in found.counts.items() if count} == expected(
        window, stream, grouped
    )


@pytest.mark.parametrize("ended", [False, True])
def test_an_element_costs_the_same_in_a_long_session(ended: bool) -> None:
    clock = Clock(0, None, 0, 0, hindsight=False)
    rows = SessionRows(P, Among(None), (0,), SessionWindow(2, ended=ended), clock)
    found = Collected(0)
    rows.consumers.append(found)
    for t in range(1000):
        clock.floor = clock.last = t
        arrived = {} if t >= 990 else {P: Elements(np.array([[t, FOREVER, t, 1, t]]), np.arange(1))}
        rows.arrive(arrived)
    assert found.received == (990 if ended else 2 * 990)


def test_sessions_that_are_over_leave_nothing() -> None:
    clock = Clock(0, None, 0, 0, hindsight=False)
    rows = SessionRows(P, Among(None), (0,), SessionWindow(1, ended=True), clock)
    smallest = rows.size()[1]
    for t in range(20):
        clock.floor = clock.last = t
        keys = np.arange(1000 * t, 1000 * (t + 1))
        columns = [np.full(1000, value) for value in (t, FOREVER, t)]
        batch = np.column_stack([*columns, keys, keys])
        rows.arrive({P: Elements(batch, np.arange(1000))})
        assert rows.size()[0] <= 3000
    largest = rows.size()[1]
    assert largest < 4_000 * 150
    clock.floor = clock.last = 30
    rows.arrive({})
    rows.expire()
    assert rows.size() == (0, smallest)

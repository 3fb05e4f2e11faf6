"""Stores against an obvious twin: for every key the set of time points at which it holds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.run.interval.kernels.layout import Ints
from larspark.run.interval.store import Store

Key = tuple[int, int]
Points = set[tuple[int, Key]]
Rows = list[tuple[int, int, int, int]]

LAST = 40

rows = st.lists(
    st.builds(
        lambda start, length, a, b: (start, start + length, a, b),
        st.integers(1, LAST),
        st.integers(0, 9),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    max_size=6,
)
# What is done to a store at one time point after the other: rows to add and rows to remove.
histories = st.lists(st.tuples(rows, rows), max_size=8)


@pytest.mark.usefixtures("way")
@given(history=histories)
@settings(max_examples=60)
def test_a_store_holds_what_was_added_and_not_removed(history: list[tuple[Rows, Rows]]) -> None:
    store = Store(width=2, settled=0)
    held: Points = set()
    for floor, (added, removed) in enumerate(history, 1):
        store.settle(floor - 1)
        new = points(store.add(batch(added), floor))
        assert sorted(new) == sorted({*points(batch(added), floor)} - held)
        held |= set(new)
        gone = points(store.remove(batch(removed), floor))
        assert sorted(gone) == sorted({*points(batch(removed), floor)} & held)
        held -= set(gone)
        kept = store.rows()
        assert {p for p in points(kept) if p[0] >= floor} == {p for p in held if p[0] >= floor}
        assert_maximal(kept)


@pytest.mark.usefixtures("way")
@given(history=histories, steps=st.lists(st.integers(1, 300), min_size=8, max_size=8))
@settings(max_examples=60)
def test_a_store_tells_what_began_and_what_ended(
    history: list[tuple[Rows, Rows]], steps: list[int]
) -> None:
    """Also over gaps that are longer than the lists of what is due."""
    store = Store(width=2, settled=0)
    store.tell()
    held: Points = set()
    begun, ended = [], []
    floor = 1
    for (added, removed), step in zip(history, steps, strict=False):
        held |= set(points(store.add(batch(added), floor)))
        held -= set(points(store.remove(batch(removed), floor)))
        began, over = store.settle(floor + step - 1)
        begun += [(row[0], (row[2], row[3])) for row in began.tolist()]
        ended += [(row[1], (row[2], row[3])) for row in over.tolist()]
        floor += step
    passed = {point for point in held if point[0] < floor}
    assert sorted(begun) == sorted(p for p in passed if (p[0] - 1, p[1]) not in passed)
    # What holds at the last time point may still go on.
    last = {p for p in passed if p[0] < floor - 1 and (p[0] + 1, p[1]) not in passed}
    assert sorted(ended) == sorted(last)


@pytest.mark.usefixtures("way")
@given(stored=rows, asked=rows)
@settings(max_examples=60)
def test_joins_and_subtractions_look_at_every_row_of_equal_keys(stored: Rows, asked: Rows) -> None:
    store = Store(width=2, settled=0)
    second = store.index([1])
    held = set(points(store.add(batch(stored), 1)))
    probes, keys = batch(asked), np.array([2])
    joined = second.join(probes, keys, np.array([2, 3, ~2]), old=False)
    expected = {
        (t, (a, b, other))
        for t, (a, b) in points(probes)
        for at, (other, key) in held
        if at == t and key == a
    }
    assert {(t, row) for t, row in points(joined)} == expected
    rest = second.subtract(probes, keys)
    covered = {(t, key) for t, (_, key) in held}
    left = {(t, (a, b)) for t, (a, b) in points(probes) if (t, a) not in covered}
    assert set(points(rest)) == left


@pytest.mark.usefixtures("way")
@given(batches=st.lists(rows, max_size=6))
@settings(max_examples=60)
def test_what_is_new_on_both_sides_is_found_though_one_side_looks_at_what_is_old(
    batches: list[Rows],
) -> None:
    """`p(A,B), p(B,C)` over one store, fired by either side."""
    store = Store(width=2, settled=0)
    by_first, by_second = store.index([0]), store.index([1])
    found: set[tuple[int, tuple[int, ...]]] = set()
    for each in batches:
        new = store.add(batch(each), 1)
        for piece in (
            by_first.join(new, np.array([3]), np.array([2, 3, ~3]), old=False),
            by_second.join(new, np.array([2]), np.array([~2, 2, 3]), old=True),
        ):
            found |= set(points(piece))
    held = set(points(store.rows()))
    paths = {
        (t, (a, b, c)) for t, (a, b) in held for other, (d, c) in held if other == t and d == b
    }
    assert found == paths


def test_room_is_reused_so_that_a_store_stays_as_large_as_what_it_holds() -> None:
    store = Store(width=1, settled=0)
    store.tell()
    sizes = []
    for t in range(1, 3000):
        store.add(np.array([[t, t + 20, key] for key in range(5 * t, 5 * t + 5)]), t)
        store.settle(t)
        sizes.append(store.bytes)
    assert store.live(3000) == 5 * 20
    assert max(sizes[100:]) == sizes[100]


def batch(given: Rows) -> Ints:
    return np.array(given, np.int64).reshape(-1, 4)


def points(given: Ints, floor: int = -1) -> list[tuple[int, tuple[int, ...]]]:
    """The time points of rows, each with the key; what comes back must not repeat itself."""
    return [
        (t, tuple(key))
        for start, end, *key in given.tolist()
        for t in range(max(start, floor), end + 1)
    ]


def assert_maximal(kept: Ints) -> None:
    ordered = sorted((key, start, end) for start, end, *key in kept.tolist())
    for (key, _, end), (other, start, _) in pairwise(ordered):
        assert key != other or start > end + 1

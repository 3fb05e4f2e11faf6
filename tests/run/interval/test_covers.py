"""Stores against an obvious twin: for every key the set of time points at which it holds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.atoms import Signature
from larspark.run.interval import store as store_module
from larspark.run.interval.interval_answers import Outputs
from larspark.run.interval.kernels.expire import drop_rows, expire_rows
from larspark.run.interval.kernels.layout import NONE, Ints
from larspark.run.interval.network_nodes import Distinct
from larspark.run.interval.row_programs import projection
from larspark.run.interval.run_clock import Clock
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
    store = Store(width=2, expired_upto=0)
    held: Points = set()
    for floor, (added, removed) in enumerate(history, 1):
        store.expire(floor - 1)
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
def test_a_store_emits_what_began_and_what_ended(
    history: list[tuple[Rows, Rows]], steps: list[int]
) -> None:
    """Also over gaps that are longer than the timing wheel."""
    store = Store(width=2, expired_upto=0)
    store.add_wheel()
    held: Points = set()
    begun, ended = [], []
    floor = 1
    for (added, removed), step in zip(history, steps, strict=False):
        held |= set(points(store.add(batch(added), floor)))
        held -= set(points(store.remove(batch(removed), floor)))
        began, over = store.expire(floor + step - 1)
        begun += [(row[0], (row[2], row[3])) for row in began.tolist()]
        ended += [(row[1], (row[2], row[3])) for row in over.tolist()]
        floor += step
    passed = {point for point in held if point[0] < floor}
    assert sorted(begun) == sorted(p for p in passed if (p[0] - 1, p[1]) not in passed)
    # What holds at the last time point may still go on.
    last = {p for p in passed if p[0] < floor - 1 and (p[0] + 1, p[1]) not in passed}
    assert sorted(ended) == sorted(last)


@pytest.mark.usefixtures("way")
@given(batches=st.lists(rows, max_size=12), grows=st.booleans())
@settings(max_examples=60)
def test_followers_hold_the_row_program_of_what_is_new(batches: list[Rows], grows: bool) -> None:
    """Whether the leader runs out of room, one that follows does, or lines for what is new."""
    with pytest.MonkeyPatch.context() as patch:
        # Room for one row at first, so that there is seldom enough.
        patch.setattr(store_module, "_SMALLEST", 1 if grows else 64)
        patch.setattr(store_module, "_SPACIOUS", 1)
        leader, whole_rows, first_keys = (Store(width, expired_upto=0) for width in (2, 2, 1))
        first_keys.add_wheel()
        leader.lead(first_keys, projection([2]))
        leader.lead(whole_rows, projection([2, 3]))
        for floor, each in enumerate(batches, 1):
            first_keys.expire(floor - 1)
            leader.add(batch(each), floor)
        floor = len(batches)
        held = {point for point in points(leader.rows()) if point[0] >= floor}
        assert {p for p in points(whole_rows.rows()) if p[0] >= floor} == held
        follows = {p for p in points(first_keys.rows()) if p[0] >= floor}
        assert follows == {(t, key[:1]) for t, key in held}


@pytest.mark.usefixtures("way")
@given(histories=st.lists(histories, min_size=1, max_size=3))
@settings(max_examples=60)
def test_outputs_emit_together_what_each_store_would_emit(
    histories: list[list[tuple[Rows, Rows]]],
) -> None:
    clock = Clock(1, None, 1, 1, hindsight=False)
    names = [Signature(f"p{number}", 2) for number in range(len(histories))]
    together = {name: Distinct(2, clock, counted=False) for name in names}
    outputs = Outputs(together)
    alone = {name: Store(width=2, expired_upto=0) for name in names}
    for store in alone.values():
        store.add_wheel()
    for t in range(1, max(map(len, histories)) + 1):
        clock.floor = clock.last = t
        for name, history in zip(names, histories, strict=True):
            added, removed = history[t - 1] if t <= len(history) else ([], [])
            for store in (together[name].store, alone[name]):
                store.add(batch(added), t)
                store.remove(batch(removed), t)
        emitted = outputs.expire(t)
        for name, store in alone.items():
            expected = store.expire(t)
            found = emitted.get(name, store.nothing)
            assert [part.tolist() for part in found] == [part.tolist() for part in expected]


@pytest.mark.usefixtures("way")
@given(stored=rows, asked=rows)
@settings(max_examples=60)
def test_joins_and_subtractions_look_at_every_row_of_equal_keys(stored: Rows, asked: Rows) -> None:
    store = Store(width=2, expired_upto=0)
    second = store.index([1])
    held = set(points(store.add(batch(stored), 1)))
    probes = batch(asked)
    joined = second.probe(probes, second.join([2], [2, 3, ~2]))
    expected = {
        (t, (a, b, other))
        for t, (a, b) in points(probes)
        for at, (other, key) in held
        if at == t and key == a
    }
    assert {(t, row) for t, row in points(joined)} == expected
    rest = second.probe(probes, second.subtract([2]))
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
    store = Store(width=2, expired_upto=0)
    by_first, by_second = store.index([0]), store.index([1])
    found: set[tuple[int, tuple[int, ...]]] = set()
    for each in batches:
        new = store.add(batch(each), 1)
        for piece in (
            by_first.probe(new, by_first.join([3], [2, 3, ~3])),
            by_second.probe(new, by_second.join([2], [~2, 2, 3], old=True)),
        ):
            found |= set(points(piece))
    held = set(points(store.rows()))
    paths = {
        (t, (a, b, c)) for t, (a, b) in held for other, (d, c) in held if other == t and d == b
    }
    assert found == paths


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", range(6))
def test_a_store_in_use_for_long_still_holds_and_emits_what_it_should(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old rows that still hold move out of the way, and the timing wheel fills up."""
    fills: list[int] = []
    fill = Store._fill
    monkeypatch.setattr(
        Store, "_fill", lambda store, *args: fills.append(args[1]) or fill(store, *args)
    )
    moved: list[int] = []
    drop = drop_rows.run
    monkeypatch.setattr(drop_rows, "run", lambda *args: moved.append(drop(*args)) or moved[-1])
    random = np.random.default_rng(seed)
    store = Store(width=2, expired_upto=0)
    store.add_wheel()
    second = store.index([1])
    held: Points = set()
    emitted: set[tuple[int, Key]] = set()
    over: list[tuple[int, Key]] = []
    for floor in range(1, 301):
        before = {key for t, key in held if t == floor}
        lengths = random.choice([0, 1, 3, 40, 200], 6, p=[0.3, 0.2, 0.2, 0.1, 0.2])
        keys = random.integers(0, 6, (6, 2))
        added = [
            (floor, int(floor + n), *map(int, key)) for n, key in zip(lengths, keys, strict=True)
        ]
        held |= set(points(store.add(batch(added), floor)))
        removed = [
            (floor + 1, floor + 400, *key) for key in {k for _, k in held} if sum(key) == seed
        ]
        removed += [(floor, floor + 5, *map(int, key)) for key in random.integers(0, 6, (3, 2))]
        gone = points(store.remove(batch(removed), floor))
        assert set(gone) == {*points(batch(removed), floor)} & held
        held -= set(gone)
        # At least what was there before the last addition is found among what is old.
        probes = batch([(floor, floor, key, 0) for key in range(6)])
        old = second.probe(probes, second.join([2], [~2, 2], old=True))
        assert {key for _, key in points(old)} >= before & {key for t, key in held if t == floor}
        began, ended = store.expire(floor)
        for row in began.tolist():
            assert row[0] == floor
            emitted.add((row[0], (row[2], row[3])))
        over += [(row[1], (row[2], row[3])) for row in ended.tolist()]
        assert {key for t, key in held if t == floor and (t - 1, key) not in held} == {
            key for t, key in emitted if t == floor
        }
        here = {key for t, key in held if t == floor}
        joined = second.probe(probes, second.join([2], [~2, 2]))
        assert set(points(joined)) == {(floor, key) for key in here}
    ended_points = {(t, key) for t, key in held if t < 300 and (t + 1, key) not in held}
    assert sorted(over) == sorted(ended_points)
    assert max(fills) > 200
    assert max(moved) > 0


@pytest.mark.usefixtures("way")
def test_a_timing_wheel_full_of_dropped_rows_is_rebuilt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results: list[int] = []
    expire = expire_rows.run

    def watched(*args: object) -> object:
        emitted = expire(*args)
        results.append(emitted[1])
        return emitted

    monkeypatch.setattr(expire_rows, "run", watched)
    store = Store(width=2, expired_upto=0)
    store.add_wheel()
    begun = []
    for floor in range(1, 401):
        # One row takes over what ten were to hold some day, and most often that is called off.
        store.add(batch([(floor + 150 + 2 * n,) * 2 + (floor, 0) for n in range(10)]), floor)
        imported = batch([(floor + 149, floor + 170, floor - 1, 0)])
        store.add(imported, floor)
        if floor % 20:
            store.remove(imported, floor)
        began, _ = store.expire(floor)
        begun += [(row[0], row[2]) for row in began.tolist()]
    assert sorted(begun) == [(key + 150, key) for key in range(19, 251, 20)]
    assert NONE in results


def test_room_is_reused_so_that_a_store_stays_as_large_as_what_it_holds() -> None:
    store = Store(width=1, expired_upto=0)
    store.add_wheel()
    sizes = []
    for t in range(1, 3000):
        store.add(np.array([[t, t + 20, key] for key in range(5 * t, 5 * t + 5)]), t)
        store.expire(t)
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

"""Kernels against obvious twins: counts over time, formulas read off rows, rows that pass."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.terms import Arithmetic, Constant, Variable
from larspark.language.tree import NEGATED
from larspark.logic.values import compare
from larspark.run.interval.arrivals import Chunk, distinct_elements
from larspark.run.interval.body_steps import WhereStep, where_step
from larspark.run.interval.count_profiles import Profile, WindowSize
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels import scan, select
from larspark.run.interval.kernels.layout import FOREVER, Ints
from larspark.run.interval.row_programs import (
    RowProgram,
    Window,
    fused,
    projection,
    row_program,
    within_timeline,
)
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.store import Run, Store

LAST = 30

intervals = st.tuples(st.integers(1, LAST), st.integers(0, 12), st.integers(0, 1)).map(
    lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
)
constants_of_all_kinds = st.sampled_from([-3, 0, 2, 2.5, -0.25, 2**61, 2**62, 1e300, "a", "b"])


@pytest.mark.usefixtures("way")
@given(added=st.lists(intervals, max_size=8), removals=st.data())
@settings(max_examples=60)
def test_counts_emit_where_they_become_one_and_cease_to_be(
    added: list[tuple[int, int, int]], removals: st.DataObject
) -> None:
    counted, counts = Profile(width=1, expired_upto=0), Counter[tuple[int, int]]()
    order = removals.draw(st.permutations(range(len(added))))
    for sign, which in ((1, range(len(added))), (-1, order)):
        for number in which:
            start, end, key = added[number]
            changed = counted.change(np.array([[start, end, key]]), sign, 1)
            before = {point for point, count in counts.items() if count > 0}
            for t in range(start, end + 1):
                counts[t, key] += sign
            after = {point for point, count in counts.items() if count > 0}
            assert sorted(points(changed)) == sorted(before ^ after)


@pytest.mark.usefixtures("way")
@given(
    before=st.lists(intervals, max_size=8),
    after=st.lists(intervals, max_size=8),
    floor=st.integers(1, LAST),
    past=st.sampled_from([None, 2]),
)
@settings(max_examples=60)
def test_counts_that_were_saved_go_on_as_those_that_were_not(
    before: list[tuple[int, int, int]],
    after: list[tuple[int, int, int]],
    floor: int,
    past: int | None,
) -> None:
    window = None if past is None else WindowSize(0, past, 0, 1, None)
    counted, loaded = (Profile(width=1, expired_upto=0, window=window) for _ in range(2))
    for row in before:
        counted.change(np.array([row]), 1, 1)
    counted.expire(floor - 1)
    loaded.load(counted.state())
    for sign, rows in ((1, after), (-1, [*before, *after])):
        for row in rows:
            changes = [each.change(np.array([row]), sign, floor) for each in (counted, loaded)]
            assert sorted(points(changes[0])) == sorted(points(changes[1]))


@pytest.mark.usefixtures("way")
@given(
    seen=st.dictionaries(
        st.integers(0, 14), st.tuples(st.integers(0, 20), st.integers(0, 6)), max_size=8
    ),
    past=st.integers(0, 3),
    future=st.integers(0, 2),
    end=st.sampled_from([None, 16]),
)
@settings(max_examples=60)
def test_a_sweep_finds_where_every_time_point_of_the_window_is_seen(
    seen: dict[int, tuple[int, int]], past: int, future: int, end: int | None
) -> None:
    """A time point is seen from an interval of evaluation times that have it in their window.

    A timeline that ends with the evaluation time shows no time point before it has come.
    """
    if end is None:
        future = 0
    sweep = Profile(0, -1, WindowSize(0, past, future, 1, end))
    seen_from: dict[int, range] = {}
    found: set[int] = set()
    for time, (start, length) in seen.items():
        low, high = max(start, time - future), min(start + length, time + past)
        seen_from[time] = range(low, high + 1)
        if low <= high:
            changed = sweep.change(np.array([[low, high]]), 1, 0)
            found ^= {t for begin, last in changed.tolist() for t in range(begin, last + 1)}
    for t in range(20):
        window = range(max(0, t - past), min(t + future, t if end is None else end) + 1)
        whole = all(t in seen_from.get(time, ()) for time in window)
        assert (t in found) == (len(window) > 0 and whole)


@pytest.mark.usefixtures("way")
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 20)] * 2, st.integers(0, 2)), max_size=6),
    past=st.sampled_from([None, 0, 3]),
    future=st.sampled_from([None, 0, 2]),
    every=st.integers(1, 4),
)
@settings(max_examples=60)
def test_a_scan_gives_the_evaluation_times_whose_window_holds_the_time_point(
    rows: list[tuple[int, int, int]], past: int | None, future: int | None, every: int
) -> None:
    given_rows = np.array([[known, FOREVER, time, 4 * key] for known, time, key in rows], np.int64)
    window = Window(scan.WINDOW, past, future, every)
    found = row_program([], [scan.PICK_TIME, 3], window)(given_rows.reshape(-1, 4))
    expected = []
    for t in range(50):
        pivot = t // every * every
        for known, time, key in rows:
            low = -FOREVER if past is None else pivot - past
            high = FOREVER if future is None else pivot + future
            if t >= known and low <= time <= high:
                expected.append((t, (4 * time, 4 * key)))
    assert sorted(point for point in points(found, until=49)) == sorted(expected)


@pytest.mark.usefixtures("way")
@given(
    left=st.lists(constants_of_all_kinds, min_size=1, max_size=6),
    right=constants_of_all_kinds,
    comparison=st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    negated=st.booleans(),
    mirrored=st.booleans(),
)
@settings(max_examples=100)
def test_comparisons_order_constants_of_every_kind(
    left: list[Constant], right: Constant, comparison: str, negated: bool, mirrored: bool
) -> None:
    constants, column = Constants(), Variable("X")
    rows = np.array([[1, 1, constants.code(value)] for value in left], np.int64)
    terms = (right, column) if mirrored else (column, right)
    where = WhereStep(comparison, *terms, negated, {column: 2}, constants)
    wanted = NEGATED[comparison] if negated else comparison
    expected = [
        value
        for value in left
        if compare(wanted, *((right, value) if mirrored else (value, right)))
    ]
    for step in (where, where_step(where)):
        assert [constants.decode(code) for code in step(rows)[:, 2].tolist()] == expected


def test_a_comparison_with_arithmetic_is_left_to_arithmetic() -> None:
    x = Variable("X")
    where = WhereStep("<", Arithmetic("+", (x, 1)), 3, False, {x: 2}, Constants())
    assert where_step(where) is where


@pytest.mark.usefixtures("way")
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 20)] * 2, st.integers(-2, 24)), max_size=8),
    moves=st.booleans(),
    pins=st.booleans(),
)
@settings(max_examples=60)
def test_rows_outside_the_timeline_do_not_pass(
    rows: list[tuple[int, int, int]], moves: bool, pins: bool
) -> None:
    lines = [(min(a, b), max(a, b), 4 * time) for a, b, time in rows]
    # A text is no time point, whatever its place in the table.
    given_rows = np.array([*lines, (0, 20, 4 * 5 + 1)], np.int64)
    clock = Clock(3, None if moves else 18, 3, 3, hindsight=False)
    found = within_timeline(2, 1, clock, pins=pins)(given_rows)
    expected = [
        (max(low, code // 4) if moves else low, high, code // 4 if pins else code)
        for low, high, code in lines
        if code // 4 >= 3 and (code // 4 <= high if moves else code // 4 <= 18)
    ]
    assert [tuple(row) for row in found.tolist()] == expected


@pytest.mark.usefixtures("way")
@given(lines=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=20))
@settings(max_examples=60)
def test_of_equal_elements_the_first_counts(lines: list[tuple[int, int]]) -> None:
    rows = np.array([(t, FOREVER, t, key) for t, key in lines], np.int64).reshape(-1, 4)
    found, turns = distinct_elements(Chunk(rows, np.arange(len(rows))))
    firsts = [number for number, line in enumerate(lines) if line not in lines[:number]]
    assert turns.tolist() == firsts
    assert found.tolist() == rows[firsts].tolist()


@pytest.mark.usefixtures("way")
def test_a_run_fills_its_window_at_once_only_at_the_start_of_the_timeline() -> None:
    store, run = Store(width=1, expired_upto=0), Run(start=1, past=3)
    store.add(np.array([[1, 1, 0], [5, 5, 1], [7, 7, 2]]), 1)
    full = store.add(np.array([[1, 9, 0], [5, 9, 1], [8, 9, 2]]), 1, run=run)
    assert full.tolist() == [[2, 9, 0], [8, 9, 1]]


@pytest.mark.usefixtures("way")
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 9)] * 2, constants_of_all_kinds), max_size=6),
    number=st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    least=constants_of_all_kinds,
)
@settings(max_examples=60)
def test_a_fused_row_program_gives_what_its_parts_give_one_after_another(
    rows: list[tuple[int, int, Constant]], number: str, least: Constant
) -> None:
    constants, x, t = Constants(), Variable("X"), Variable("T")
    lines = [[known, FOREVER, time, constants.code(value)] for known, time, value in rows]
    batch = np.array(lines, np.int64).reshape(-1, 4)
    window = row_program([], [3, scan.PICK_TIME], Window(scan.WINDOW, 2, 0))
    step = where_step(WhereStep(number, x, least, False, {x: 2, t: 3}, constants))
    assert isinstance(step, RowProgram)
    steps = [window, step, within_timeline(3, 2, Clock(2, 7, 2, 2, hindsight=False), pins=False)]
    expected = batch
    for each in steps:
        expected = each(expected)
    store = Store(width=2, expired_upto=-1)
    none, at_once = fused(steps, projection([3, 2]))
    assert none == ()
    assert at_once(batch).tolist() == expected[:, [0, 1, 3, 2]].tolist()
    store.add(batch, 0, at_once)
    if store.stopped_at is not None:
        store.add(at_once.run_fallback(batch[store.stopped_at :]), 0)
    held = {point for row in store.rows() for point in points(row[np.newaxis])}
    assert held == set(points(expected[:, [0, 1, 3, 2]]))


@pytest.mark.usefixtures("way")
def test_integers_that_do_not_fit_a_code_are_reported() -> None:
    rows = np.zeros((2, 1), np.int64)
    assert select.code_integers.run(np.array([7, -7]), rows, 0, 1 << 61)
    assert rows.tolist() == [[28], [-28]]
    assert not select.code_integers.run(np.array([7, 1 << 61]), rows, 0, 1 << 61)


def points(given_rows: Ints, until: int = FOREVER) -> list[tuple[int, object]]:
    return [
        (t, key[0] if len(key) == 1 else tuple(key))
        for start, end, *key in given_rows.tolist()
        for t in range(start, min(end, until) + 1)
    ]

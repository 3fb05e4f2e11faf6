"""When answers are written."""

from hypothesis import given
from hypothesis import strategies as st

from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.run.emit_policy import EmitPolicy, Every, Unit
from larspark.run.protocol import Point

ATOMS = st.frozensets(st.sampled_from([Atom("p"), Atom("q")]))
OUTPUTS = st.lists(ATOMS, min_size=1, max_size=20)


def test_what_is_written_is_read():
    assert Every.parse("time") == Every(1, Unit.TIME)
    assert Every.parse(" 3changes ") == Every(3, Unit.CHANGE)
    assert Every.parse("3 times from 1") == Every(3, Unit.TIME, 1)
    assert Every.parse("10 signal") == Every(10, Unit.SIGNAL)
    for wrong in (
        "",
        "0 time",
        "-1 time",
        "hour",
        "3",
        "time 3",
        "3 signals from 1",
        "time from -1",
    ):
        assert Every.parse(wrong) is None


@given(OUTPUTS, st.integers(1, 4))
def test_every_so_many_time_points_counted_from_0_or_another_one(outputs, count):
    points = [Point(t, atoms) for t, atoms in enumerate(outputs, 5)]
    chosen = list(EmitPolicy(Every(count)).chosen(points))
    assert chosen == [point for point in points if point.t % count == 0]
    for start in (3, 7):
        due = range(start, 5 + len(points), count)
        chosen = list(EmitPolicy(Every(count, start=start)).chosen(points))
        assert chosen == [point for point in points if point.t in due]


@given(OUTPUTS, st.integers(1, 3))
def test_every_so_many_changes(outputs, count):
    points = [Point(t, atoms) for t, atoms in enumerate(outputs)]
    befores = [frozenset(), *outputs]
    changed = [p for p, before in zip(points, befores, strict=False) if p.atoms != before]
    chosen = list(EmitPolicy(Every(count, Unit.CHANGE)).chosen(points))
    assert chosen == changed[count - 1 :: count]


def test_every_so_many_facts_at_the_time_point_that_completes_them():
    policy = EmitPolicy(Every(3, Unit.SIGNAL))
    times = [1, 1, 2, 4, 4, 4, 4, 6]
    batch = RowBatch([Row(t, Atom("p", (n,)), n) for n, t in enumerate(times)])
    points = [Point(t, frozenset()) for t in range(1, 8)]
    policy.hear(batch)
    assert [point.t for point in policy.chosen(points)] == [2, 4]


def test_in_push_mode_facts_are_counted_at_ticks():
    ticks = [Point(1, frozenset(), 0), *(Point(1, frozenset(), c) for c in range(1, 6))]
    chosen = EmitPolicy(Every(2, Unit.SIGNAL)).chosen(ticks)
    assert [point.c for point in chosen] == [2, 4]


@given(OUTPUTS)
def test_changes_between_chosen_points_lead_from_one_to_the_next(outputs):
    points = [Point(t, atoms) for t, atoms in enumerate(outputs)]
    holding: set[Atom] = set()
    changes = {change.t: change for change in EmitPolicy(Every()).changes(points)}
    for t, atoms in enumerate(outputs):
        if t in changes:
            assert holding.isdisjoint(changes[t].added)
            assert holding.issuperset(changes[t].removed)
            holding = (holding | {*changes[t].added}) - {*changes[t].removed}
        assert holding == atoms

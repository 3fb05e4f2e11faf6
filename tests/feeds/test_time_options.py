"""Times and durations of users, time points as text, and intervals read as facts."""

import json
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larspark.base.problems import LarsparkError
from larspark.feeds import Stream, interval_line
from larspark.feeds.time_format import TimeFormat
from larspark.feeds.time_options import duration_option, time_option, zone_option
from larspark.feeds.times import time_point

MINUTE = 60_000_000
TICKS = st.sampled_from([1, 7, 1_000, 250_000, 1_000_000, MINUTE, 90_000_000, 86_400_000_000])
ZONES = st.sampled_from([UTC, ZoneInfo("Europe/Vienna"), ZoneInfo("Asia/Kolkata")])
LAST = datetime(9998, 1, 1, tzinfo=UTC)


@given(tick=TICKS, zone=ZONES, data=st.data())
def test_a_written_time_is_read_as_the_time_point_it_was(
    tick: int, zone: ZoneInfo, data: st.DataObject
) -> None:
    last = int(LAST.timestamp()) * 1_000_000 // tick
    t = data.draw(st.integers(0, last))
    times = TimeFormat(tick, zone)
    assert time_point(times.text(t), tick) == t
    assert time_point(json.loads(times.json(t)), tick) == t
    assert time_option(times.value(t), tick) == t


def test_time_points_that_no_calendar_has_are_written_as_integers() -> None:
    assert TimeFormat(MINUTE).text(2**55) == str(2**55)
    assert json.loads(TimeFormat(MINUTE).json(2**55)) == str(2**55)


def test_a_time_option_takes_time_points_timestamps_and_dates() -> None:
    vienna = ZoneInfo("Europe/Vienna")
    ten = datetime(2026, 3, 1, 10, tzinfo=UTC)
    expected = int(ten.timestamp()) // 60
    for given_time in (
        "2026-03-01T10:00:59Z",
        "2026-03-01 10:00",
        "2026-03-01T11:00+01:00",
        ten,
        ten.replace(tzinfo=None),
        ten.astimezone(timezone(timedelta(hours=-5))),
        expected,
        str(expected),
    ):
        assert time_option(given_time, MINUTE) == expected
    assert time_option("2026-03-01T11:00", MINUTE, vienna) == expected
    assert time_option(date(1970, 1, 2), MINUTE) == 24 * 60


@pytest.mark.parametrize(
    ("value", "tick", "code"),
    [("soon", MINUTE, "L310"), ("2026-03-01T10:00", None, "L311"), ("1" * 30, MINUTE, "L310")],
)
def test_what_is_no_time_is_refused(value: str, tick: int | None, code: str) -> None:
    with pytest.raises(LarsparkError) as refusal:
        time_option(value, tick)
    assert refusal.value.problems[0].code == code


def test_a_lateness_is_a_number_of_time_points_or_a_duration() -> None:
    assert duration_option("3 min", MINUTE) == duration_option(timedelta(minutes=3), MINUTE) == 3
    assert duration_option("3", None) == duration_option(3, None) == 3
    for wrong, tick in (("90s", MINUTE), ("3 weeks", MINUTE), ("3min", None), ("min", 1)):
        with pytest.raises(LarsparkError):
            duration_option(wrong, tick)


def test_a_lateness_as_a_duration_waits_for_the_tick_of_the_program() -> None:
    pairs = [("1970-01-01T00:05Z", "a"), ("1970-01-01T00:03Z", "b"), ("1970-01-01T00:06Z", "c")]
    late = Stream.of(pairs, lateness="2min")
    assert [row.t for row in late.with_tick(MINUTE).elements()] == [3, 5, 6]
    with pytest.raises(LarsparkError, match="the length of a time point is not known"):
        list(late.elements())


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(LarsparkError, match="there is no time zone `Mars/Olympus`"):
        zone_option("Mars/Olympus")


def test_a_stream_knows_whether_its_times_are_timestamps(tmp_path: Path) -> None:
    csv = tmp_path / "t.csv"
    csv.write_text("time,v\n1970-01-01T00:00:05Z,1\n")
    stamped = Stream.read(csv, map="time -> p(v)", tick=1_000_000)
    assert [row.t for row in stamped.elements()] == [5]
    assert stamped.timestamps
    csv.write_text("time,v\n5,1\n")
    assert [row.t for row in stamped.elements()] == [5]
    assert not stamped.timestamps
    merged = Stream.merge(Stream.of([(5, "a")]), Stream.of([("1970-01-01T00:00:07Z", "b")]))
    assert [row.t for row in merged.with_tick(1_000_000).elements()] == [5, 7]


@given(
    st.lists(st.tuples(st.sampled_from("pqr"), st.integers(0, 30), st.integers(0, 6)), max_size=12)
)
def test_intervals_are_read_as_a_fact_at_each_of_their_time_points(
    rows: list[tuple[str, int, int]],
) -> None:
    expected: dict[int, list[str]] = defaultdict(list)
    for atom, first, length in rows:
        for t in range(first, first + length + 1):
            expected[t].append(atom)
    lines = [interval_line(atom, first, first + n) for atom, first, n in sorted(rows, key=_begin)]
    found: dict[int, list[str]] = defaultdict(list)
    last = 0
    for row in _read("\n".join(lines)).elements():
        assert row.t >= last
        last = row.t
        found[row.t].append(str(row.atom))
    assert {t: sorted(atoms) for t, atoms in found.items()} == {
        t: sorted(atoms) for t, atoms in expected.items()
    }


def _begin(row: tuple[str, int, int]) -> int:
    return row[1]


def _read(text: str) -> Stream:
    return Stream.read(BytesIO(text.encode()), format="jsonl")


def test_an_interval_that_ends_before_it_begins_is_refused() -> None:
    stream = _read('{"atom": "p", "from": 5, "to": 3}')
    with pytest.raises(LarsparkError, match="the interval ends before it begins"):
        list(stream.elements())


def test_changes_are_not_facts() -> None:
    stream = _read('{"t": 5, "add": ["p"], "del": []}')
    with pytest.raises(LarsparkError) as refusal:
        list(stream.elements())
    assert refusal.value.problems[0].hint == "write them with `--as points`"

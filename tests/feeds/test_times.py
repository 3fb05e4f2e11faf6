"""Time points and timestamps, one by one and as columns."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from larspark.base.problems import LarsparkError
from larspark.feeds.formats.time_columns import text_time_column, typed_time_column
from larspark.feeds.reading import Refused
from larspark.feeds.time_options import time_option
from larspark.feeds.times import time_point

SECOND = 1_000_000
MOMENTS = st.datetimes(datetime(1950, 1, 1), datetime(2200, 1, 1))


@pytest.mark.parametrize(
    ("value", "tick", "t"),
    [
        (0, None, 0),
        (36.0, None, 36),
        (2**63 - 1, None, 2**63 - 1),
        ("1970-01-01", SECOND, 0),
        ("1970-01-01T00:00:59.999999Z", 60 * SECOND, 0),
        ("1970-01-01T00:01:00", 60 * SECOND, 1),
        ("1970-01-01 02:00:01+02:00", SECOND, 1),
        ("2013-01-01T05:00:00Z", 3600 * SECOND, 376949),
        ("1970-01-01T00:00:00.0000019", 1, 1),
    ],
)
def test_numbers_and_timestamps_become_time_points(value, tick, t):
    assert time_point(value, tick) == t


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "the time -1 lies before 0"),
        (2**63, "the time 9223372036854775808 does not fit a 64-bit integer"),
        (1.5, "the time 1.5 is not an integer"),
        (1e17, "the time 1e+17 is too large to be exact"),
        (float("nan"), "the time nan is not an integer"),
        (True, "the time is true or false, not a number"),
        (None, "the time is missing"),
        ([], "the time is of type list, not a number"),
        ("36", 'the time "36" is neither a number nor an ISO timestamp'),
        ("1969-12-31T23:59:59Z", "the time 1969-12-31T23:59:59Z lies before 0"),
    ],
)
def test_what_is_no_time_point_is_refused(value, message):
    with pytest.raises(Refused) as refused:
        time_point(value, SECOND)
    assert (refused.value.code, refused.value.message) == ("L310", message)


def test_a_timestamp_without_a_tick_is_refused():
    with pytest.raises(Refused) as refused:
        time_point("2013-01-01T05:00", None)
    assert (refused.value.code, refused.value.message, refused.value.hint) == (
        "L311",
        'the time "2013-01-01T05:00" is a timestamp, but the length of a time point is not known',
        "set it in the program, e.g. `#tick 1 s.`, or as `--tick 1s`, `tick=1_000_000`",
    )


def one_by_one(values, tick, zone=UTC):
    for value in values:
        try:
            yield time_point(value, tick, zone=zone)
        except Refused:
            yield None


def points(column):
    return [None if bad else int(t) for t, bad in zip(column.times, column.bad, strict=True)]


FORMS = st.sampled_from(
    [
        lambda moment: moment.isoformat(),
        lambda moment: moment.isoformat(" "),
        lambda moment: moment.replace(microsecond=0).isoformat() + "Z",
        lambda moment: moment.replace(tzinfo=UTC).isoformat(timespec="milliseconds"),
        lambda moment: moment.date().isoformat(),
        lambda moment: moment.strftime("%Y-%m-%dT%H:%M+0130"),
        lambda moment: moment.strftime("%d.%m.%Y"),
        lambda moment: moment.isoformat(timespec="microseconds") + "123",
    ]
)


@given(st.lists(st.tuples(MOMENTS, FORMS), max_size=6), FORMS, st.booleans(), st.integers(1, 10**8))
@settings(deadline=None)
def test_columns_of_timestamps_follow_the_law_for_one(moments, form, alike, tick):
    texts = [(form if alike else other)(moment) for moment, other in moments]
    expected = list(one_by_one(texts, tick))
    assert points(typed_time_column(pa.array(texts, pa.string()), tick)) == expected
    cells = pa.array([text.encode() for text in texts], pa.binary())
    assert points(text_time_column(cells, tick)) == expected


@given(st.lists(MOMENTS, min_size=1, max_size=5), st.integers(1, 10**10), st.data())
@settings(deadline=None)
def test_arrow_timestamps_are_floored(moments, tick, data):
    unit = data.draw(st.sampled_from(["s", "ms", "us", "ns"]))
    zone = data.draw(st.sampled_from([None, "UTC", "+05:00"]))
    size = {"s": 10**6, "ms": 10**3}.get(unit, 1)
    micros = [
        (m - datetime(1970, 1, 1)) // timedelta(microseconds=1) // size * size for m in moments
    ]
    column = pa.array([m // size for m in micros], pa.int64())
    if unit == "ns":
        column = pa.array([m * 1000 for m in micros], pa.int64())
    found = points(typed_time_column(column.cast(pa.timestamp(unit, zone)), tick))
    assert found == [m // tick if m >= 0 else None for m in micros]


VIENNA = ZoneInfo("Europe/Vienna")


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        ("2026-03-01 10:00", "2026-03-01T09:00Z"),
        ("2026-03-29 01:59:59", "2026-03-29T00:59:59Z"),
        ("2026-03-29 03:00", "2026-03-29T01:00Z"),
        ("2026-10-25 01:59:59", "2026-10-24T23:59:59Z"),
        ("2026-10-25 03:00", "2026-10-25T02:00Z"),
        ("2026-07-01T10:00Z", "2026-07-01T10:00Z"),
        ("2026-07-01T10:00+05:00", "2026-07-01T05:00Z"),
    ],
)
def test_a_timestamp_without_a_zone_is_local_time(local, utc):
    assert time_point(local, SECOND, zone=VIENNA) == time_point(utc, SECOND)
    moment = datetime.fromisoformat(local)
    assert time_point(moment, SECOND, zone=VIENNA) == time_point(utc, SECOND)
    assert time_option(local, SECOND, VIENNA) == time_point(utc, SECOND)


@pytest.mark.parametrize(
    ("local", "message", "hint"),
    [
        (
            "2026-03-29T02:30",
            "the time 2026-03-29 02:30:00 does not exist in Europe/Vienna: clocks were put forward",
            "write times with their offset from UTC",
        ),
        (
            "2026-10-25T02:30",
            "the time 2026-10-25 02:30:00 occurs twice in Europe/Vienna: clocks were put back",
            "write times with their offset from UTC: "
            "2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00",
        ),
    ],
)
def test_local_times_that_the_clock_leaves_out_or_repeats_are_refused(local, message, hint):
    with pytest.raises(Refused) as refused:
        time_point(local, SECOND, zone=VIENNA)
    assert (refused.value.message, refused.value.hint) == (message, hint)
    with pytest.raises(LarsparkError) as error:
        time_option(local, SECOND, VIENNA)
    assert (error.value.problems[0].message, error.value.problems[0].hint) == (message, hint)
    for unit in ("s", "ms", "us", "ns"):
        column = pa.array([datetime.fromisoformat(local)], pa.timestamp(unit))
        assert typed_time_column(column, SECOND, zone=VIENNA).explain(0).message == message


ZONES = ("Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Africa/Monrovia")


@given(
    st.lists(MOMENTS, min_size=1, max_size=6),
    st.sampled_from(ZONES).map(ZoneInfo),
    st.sampled_from(["s", "ms", "us", "ns"]),
    st.integers(1, 10**8),
)
@example([datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 29, 4)], VIENNA, "s", 1)
@example([datetime(1969, 12, 31, 22)], ZoneInfo("America/New_York"), "us", SECOND)
@settings(deadline=None)
def test_columns_of_local_times_follow_the_law_for_one(moments, zone, unit, tick):
    size = {"s": 10**6, "ms": 10**3}.get(unit, 1)
    moments = [m.replace(microsecond=m.microsecond // size * size) for m in moments]
    expected = list(one_by_one(moments, tick, zone))
    typed = pa.array(moments, pa.timestamp(unit))
    assert points(typed_time_column(typed, tick, zone=zone)) == expected
    texts = [moment.isoformat() for moment in moments]
    assert points(typed_time_column(pa.array(texts), tick, zone=zone)) == expected
    cells = pa.array([text.encode() for text in texts], pa.binary())
    assert points(text_time_column(cells, tick, zone=zone)) == expected


def test_a_zone_leaves_missing_and_far_times_bad_and_moves_dates():
    far = pa.array([2**62, None, -(2**62)], pa.timestamp("s"))
    assert points(typed_time_column(far, SECOND, zone=VIENNA)) == [None] * 3
    days = pa.array([datetime(1970, 1, 3), None], pa.timestamp("ns")).cast(pa.date32())
    assert points(typed_time_column(days, 3600 * SECOND, zone=VIENNA)) == [47, None]


def test_nanoseconds_before_1970_do_not_round_to_zero():
    column = typed_time_column(pa.array([-1, 1], pa.timestamp("ns")), SECOND)
    assert points(column) == [None, 0]
    assert column.explain(0).message == (
        "the time 1969-12-31 23:59:59.999999999 lies before 1970 or too far ahead"
    )


def test_timestamps_too_far_ahead_are_refused_and_do_not_overflow():
    column = typed_time_column(pa.array([2**62, 0], pa.timestamp("s")), SECOND)
    assert list(column.bad) == [True, False]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_are_their_midnight(kind):
    days = pa.array([datetime(1970, 1, 3), None]).cast(pa.date32()).cast(kind)
    column = typed_time_column(days, 3600 * SECOND)
    assert points(column) == [48, None]
    assert column.explain(1).message == "there is no value"


@given(st.lists(st.one_of(st.none(), st.integers(-5, 2**64 - 1)), max_size=6))
@settings(deadline=None)
def test_columns_of_integers_follow_the_law_for_one(values):
    expected = list(one_by_one(values, None))
    cells = pa.array([None if v is None else str(v).encode() for v in values], pa.binary())
    assert points(text_time_column(cells, None)) == expected
    if all(value is None or value >= 0 for value in values):
        assert points(typed_time_column(pa.array(values, pa.uint64()), None)) == expected


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(-9, 9).map(float)), max_size=6))
@settings(deadline=None)
def test_columns_of_floats_follow_the_law_for_one(values):
    column = pa.array(values, pa.float64())
    assert points(typed_time_column(column, None)) == list(one_by_one(values, None))

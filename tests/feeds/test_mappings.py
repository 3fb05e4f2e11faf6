"""Mappings: units of times, types of columns, fields of objects, the same for all formats."""

import csv
import io
import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.problems import LarsparkError, LarsparkWarning
from larspark.feeds import Stream
from larspark.feeds.conversions import argument
from larspark.feeds.mapping import ColumnName, Kind, Mapping, parse_mappings

MINUTE = 60_000_000


def shown(stream):
    return [(row.t, str(row.atom)) for row in stream.elements()]


def from_json(records, mapping, **options):
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return Stream.read(io.StringIO(lines), format="jsonl", map=mapping, **options)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('[{"t": 1, "v": 2},\n{"t": 2, "v": 3}]\n', "; `jq -c '.[]'` does that with a list"),
        ('[\n  {"t": 1, "v": 2}\n]\n', "; `jq -c '.[]'` does that with a list"),
        ('{\n  "t": 1,\n  "v": 2\n}\n', "; `jq -c .` does that"),
    ],
)
def test_json_over_several_lines_is_told_how_to_become_json_lines(text, hint):
    with pytest.raises(LarsparkError) as error:
        shown(Stream.read(io.StringIO(text), format="jsonl", map="t -> p(v)"))
    assert f"hint: write one object on each line{hint}" in str(error.value)


def from_csv(records, mapping, **options):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return Stream.read(io.StringIO(out.getvalue()), format="csv", map=mapping, **options)


def from_arrow(records, mapping, **options):
    return Stream.from_table(pa.Table.from_pylist(records), map=mapping, **options)


DOORS = [from_json, from_csv, from_arrow]


def test_units_types_and_fields_are_parsed():
    text = "ms(meta.ts) -> temp(text(device.id), number(`my value`), integer(n), s, 3)"
    assert parse_mappings(text) == (
        Mapping(
            "meta.ts",
            "temp",
            (
                ColumnName("device.id", Kind.TEXT, ("device", "id")),
                ColumnName("my value", Kind.NUMBER),
                ColumnName("n", Kind.INTEGER),
                ColumnName("s"),
                3,
            ),
            1_000_000,
            ("meta", "ts"),
        ),
    )
    (plain,) = parse_mappings("s -> text(number, integer)")
    assert plain == Mapping("s", "text", (ColumnName("number"), ColumnName("integer")))
    both = parse_mappings("hot(s(x)); s(ts) -> cold".replace("s(x)", "text(x)"), optional_time=True)
    assert [(mapping.time, mapping.unit) for mapping in both] == [("", None), ("ts", 1_000_000_000)]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("min(ts) -> p", "`min` is not a unit of time", "the units are s, ms, us, ns"),
        ("t -> p(date(x))", "`date` is not a type of columns", "the types are text, number, integ"),
        ("s(t -> p", "found `-` where `)` is expected", ""),
        ("t -> p(a.)", "found `)` where a field is expected", ""),
        ("p(a)", "found `(` where `->` is expected", "in a live run, `--clock 1s` takes the time"),
    ],
)
def test_wrong_units_and_types_are_refused(text, message, hint):
    with pytest.raises(LarsparkError) as error:
        parse_mappings(text)
    assert message in str(error.value)
    assert hint in str(error.value)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("s", [1772352000, 1772352061]),
        ("ms", [1772352000000, 1772352061999]),
        ("us", [1772352000000000, 1772352061000000]),
        ("ns", [1772352000000000000, 1772352061000000001]),
    ],
)
def test_integer_times_have_units(door, unit, times):
    records = [{"ts": t, "x": n} for n, t in enumerate(times)]
    stream = door(records, f"{unit}(ts) -> p(x)", tick=MINUTE)
    assert shown(stream) == [(29539200, "p(0)"), (29539201, "p(1)")]


@pytest.mark.parametrize("door", DOORS)
def test_fractions_of_seconds_count_down_and_texts_of_numbers_count(door):
    records = [{"ts": 59.999, "x": 1}, {"ts": 60.0, "x": 2}, {"ts": 119.5, "x": 3}]
    assert shown(door(records, "s(ts) -> p(x)", tick=MINUTE)) == [
        (0, "p(1)"),
        (1, "p(2)"),
        (1, "p(3)"),
    ]
    texts = [{"ts": "61", "x": 1}, {"ts": "120.5", "x": 2}]
    assert shown(door(texts, "s(ts) -> p(x)", tick=MINUTE)) == [(1, "p(1)"), (2, "p(2)")]


@pytest.mark.parametrize("door", DOORS)
def test_a_unit_needs_a_tick_and_a_number(door):
    with pytest.raises(LarsparkError, match="the length of a time point is not known"):
        shown(door([{"ts": 5, "x": 1}], "s(ts) -> p(x)"))
    with pytest.raises(LarsparkError, match='the time has a unit, but "soon" is not a number'):
        shown(door([{"ts": "soon", "x": 1}], "s(ts) -> p(x)", tick=MINUTE))


@pytest.mark.parametrize("door", DOORS)
def test_large_integer_times_without_a_unit_are_told(door):
    records = [{"ts": 1772352000, "x": 1}, {"ts": 1772352060, "x": 2}]
    with pytest.warns(LarsparkWarning) as told:
        assert [t for t, _ in shown(door(records, "ts -> p(x)", tick=MINUTE))] == [
            1772352000,
            1772352060,
        ]
    (warning,) = told
    assert str(warning.message) == (
        f"warning L325: the integer time {warning.message.problem.message.split()[3]} counts time "
        "points, of the length that `#tick` says\n"
        "  hint: if it counts seconds since 1970, map it as `s(...) -> ...`"
    )


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.filterwarnings("error")
def test_integer_times_that_fit_the_tick_are_not_told(door):
    shown(door([{"ts": 1772352000, "x": 1}], "ts -> p(x)", tick=1_000_000))
    shown(door([{"ts": 1772352000, "x": 1}], "ts -> p(x)"))
    shown(door([{"ts": 99_999_999, "x": 1}], "ts -> p(x)", tick=MINUTE))


@pytest.mark.filterwarnings("error")
def test_native_lines_are_told_about_times_too():
    stream = Stream.read(io.StringIO('{"t": 1772352000, "atom": "p"}\n'), format="jsonl", tick=60)
    with pytest.raises(LarsparkWarning, match="the integer time 1772352000 counts time points"):
        shown(stream)


def test_fields_of_objects_are_named_by_dots():
    records = [{"t": 1, "device": {"id": "m1", "place": {"hall": 3}}, "v": 9}]
    mapping = "t -> p(device.id, device.place.hall, v)"
    assert shown(from_json(records, mapping)) == [(1, "p(m1,3,9)")]
    assert shown(from_arrow(records, mapping)) == [(1, "p(m1,3,9)")]
    flat = [{"t": 1, "device.id": "m1"}]
    for door in DOORS:
        assert shown(door(flat, "t -> p(device.id)")) == [(1, "p(m1)")]
        assert shown(door(flat, "t -> p(`device.id`)")) == [(1, "p(m1)")]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"t": 1}, "there is no field `device.id`\n  hint: the fields are `t`"),
        (
            {"t": 1, "device": {"idd": 1}},
            "there is no field `device.id`\n  hint: did you mean `device.idd`?",
        ),
        ({"t": 1, "device": 4}, "field `device` is a number, not an object"),
        (
            {"t": 1, "device": {"id": [1]}},
            "field `device.id`: an array is not a constant\n  hint: map a field that has one value",
        ),
        ({"t": 1, "device": {"id": {"a": 1}}}, "field `device.id`: an object is not a constant"),
        ({"t": 1, "device": {"id": None}}, "field `device.id`: there is no value"),
        ({"t": "x", "device": {"id": 1}}, 'field `t`: the time "x" is neither a number nor an ISO'),
        ({"device": {"id": 1}}, "there is no field `t`"),
        ([1], "a list is not an object\n  hint: write one object on each line; `jq -c '.[]'`"),
    ],
)
def test_a_bad_object_is_refused_with_its_line(record, message):
    good = {"t": 1, "device": {"id": "a"}}
    stream = from_json([good, record, good], "t -> p(device.id)", on_error="skip")
    assert len(shown(stream)) == 2
    (problem,) = stream.problems
    text = problem.render()
    assert text.startswith("<file>:2:")
    excerpt = [line for line in text.split("\n") if " | " in line]
    assert message in text.replace("\n".join(excerpt) + "\n", "")


def test_nested_columns_that_are_missing_are_told():
    with pytest.raises(LarsparkError, match=r"has no column `device\.name`; its columns are"):
        shown(from_arrow([{"t": 1, "device": {"id": "m1"}}], "t -> p(device.name)"))


def test_several_mappings_give_a_fact_or_a_problem_each():
    records = [{"t": 1, "a": 1, "b": 2}, {"t": 2, "a": 3}, {"t": 3, "b": [4]}]
    stream = from_json(records, "t -> p(a); t -> q(b)", on_error="skip")
    assert shown(stream) == [(1, "p(1)"), (1, "q(2)"), (2, "p(3)")]
    assert (stream.facts, stream.skipped, len(stream.problems)) == (3, 3, 3)


def test_integers_beyond_64_bits_are_not_rounded():
    lines = '{"t": 1, "x": 9223372036854775807}\n{"t": 2, "x": 9223372036854775808}\n'
    stream = Stream.read(io.StringIO(lines), format="jsonl", map="t -> p(x)", on_error="skip")
    assert shown(stream) == [(1, "p(9223372036854775807)")]
    assert "9223372036854775808 does not fit a 64-bit integer" in stream.problems[0].message


VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-20, 20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.5, 2.0, -0.0, 1e300, 2.0**53, 2.0**60]),
)
TEXTS = st.one_of(
    st.sampled_from(["007", "7", "1e5", "1e-05", "2.50", ".5", "5.", "-3", "+3", "x y", "ERR"]),
    st.sampled_from(["9" * 25, "9007199254740993", "1e999", "0x1F", "-0", "inf", "nan_"]),
    VALUES.map(str),
)


@given(
    st.sampled_from([VALUES, TEXTS, st.booleans()]).flatmap(
        lambda kind: st.lists(st.one_of(kind, kind, st.none()), min_size=1, max_size=12)
    ),
    st.sampled_from([None, Kind.TEXT, Kind.NUMBER, Kind.INTEGER]),
)
@settings(deadline=None, max_examples=300)
def test_columns_and_objects_follow_the_definition_for_one_value(values, kind):
    """What a table and what objects give is what each value gives by itself."""
    column = "x" if kind is None else f"{kind}(x)"
    records = [{"t": t, "x": value} for t, value in enumerate(values)]
    expected = []
    for record in records:
        try:
            expected.append((record["t"], argument(record["x"], kind)))
        except Exception as refused:
            assert type(refused).__name__ == "Refused"
    whole = [type(value) for value in values if value is not None]
    doors = [from_json]
    if len(set(whole)) == 1:
        # Arrow columns have one type.
        doors.append(from_arrow)
    for door in doors:
        stream = door(records, f"t -> p({column})", on_error="skip")
        found = [(row.t, row.atom.args[0]) for row in stream.elements()]
        assert found == expected
        assert [type(value) for _, value in found] == [type(value) for _, value in expected]
        assert stream.skipped == len(values) - len(expected)
    if kind is not None and all(isinstance(v, str) for v in values if v is not None):
        cells = [{"t": r["t"], "x": r["x"]} for r in records]
        stream = from_csv(cells, f"t -> p({column})", on_error="skip")
        assert [(row.t, row.atom.args[0]) for row in stream.elements()] == expected


def test_a_decimal_comma_is_read_where_the_mapping_says_so(tmp_path, recwarn):
    path = tmp_path / "r.csv"
    path.write_text("t;v\n1;4,5\n2;-6\n3;1.5\n")
    stream = Stream.read(path, map="t -> p(comma(v))", on_error="skip")
    assert [str(row.atom) for row in stream.elements()] == ["p(4.5)", "p(-6)"]
    assert [problem.message for problem in stream.problems] == [
        'column `v`: "1.5" is not a number with a decimal comma'
    ]
    table = pa.table({"t": [1, 2], "v": ["0,25", "7"]})
    found = Stream.from_table(table, map="t -> p(comma(v))").elements()
    assert [str(row.atom) for row in found] == ["p(0.25)", "p(7)"]
    assert not recwarn.list


def test_a_column_of_decimal_commas_without_a_type_is_warned_about(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("t;v\n1;4\n2;6,5\n")
    with pytest.warns(LarsparkWarning, match=r'because it holds "6,5"\n.*`comma\(v\)` reads'):
        list(Stream.read(path, map="t -> p(v)").elements())


@pytest.mark.parametrize("door", DOORS)
def test_a_time_that_its_unit_carries_beyond_all_calendars_is_refused(door):
    records = [{"ts": 1_777_874_405_500, "x": 1}]
    with pytest.raises(LarsparkError, match="lies beyond the year 9999 in this unit"):
        list(door(records, "s(ts) -> p(x)", tick=MINUTE).elements())
    assert shown(door(records, "ms(ts) -> p(x)", tick=MINUTE)) == [(29631240, "p(1)")]


@pytest.mark.parametrize("mapping", [None, "time -> temp(sensor, value)"])
def test_lines_of_csv_that_are_read_as_json_are_told_the_format(mapping):
    lines = io.BytesIO(b"time,sensor,value\n1,a,20\n")
    with pytest.raises(LarsparkError) as error:
        shown(Stream.read(lines, format="jsonl", map=mapping))
    assert error.value.problems[0].hint.startswith("lines of CSV need `--format csv`")

"""Columns as constants: the functions over columns follow the law for one value."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.terms import constant
from larspark.feeds.formats.cells import (
    cell_constant,
    constants,
    is_argument_type,
    text_column,
    typed_column,
)
from larspark.feeds.reading import Refused

TEXTS = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-99, 99).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"-?[0-9]{0,3}\.?[0-9]{0,3}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(
        [
            "0x1F",
            "+3",
            " 3",
            "3 ",
            "inf",
            "-inf",
            "nan",
            "Infinity",
            "1_000",
            "-",
            ".",
            "1.e5",
            "٣",
            "0" * 30 + "5",
        ]
    ),
    st.text(max_size=4),
).map(lambda text: text.encode("utf-8", "surrogatepass"))
CELLS = st.one_of(st.none(), TEXTS, st.binary(max_size=3))
ALIKE = st.sampled_from(
    [st.integers(-99, 99).map(str), st.floats(-9, 9).map(repr), st.sampled_from(["a", "b1", "-x"])]
).flatmap(lambda kind: st.lists(st.one_of(st.none(), kind.map(str.encode)), max_size=9))


def one_by_one(law, values):
    for value in values:
        try:
            yield law(value)
        except Refused as refused:
            yield refused.message


def found(column):
    values = constants(column)
    return [
        column.explain(row).message if bad else value
        for row, (value, bad) in enumerate(zip(values, column.bad, strict=True))
    ]


@given(st.one_of(st.lists(CELLS, max_size=8), ALIKE), st.integers(0, 3))
@settings(deadline=None, max_examples=500)
def test_columns_of_cells_follow_the_law_for_one(cells, start):
    expected = list(one_by_one(cell_constant, cells))
    column = text_column(pa.array(cells, pa.binary()).slice(min(start, len(cells))))
    values = found(column)
    assert values == expected[min(start, len(cells)) :]
    assert list(map(type, values)) == list(map(type, expected[min(start, len(cells)) :]))


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (b"12", 12),
        (b"-3.50", -3.5),
        (b"2.0", 2),
        (b".5", 0.5),
        (b"1e3", 1000),
        (b"007", 7),
        (b"-" + b"0" * 30 + b"5", -5),
        (b"9007199254740993", 9007199254740993),
        (b"a1", "a1"),
        (b"+3", "+3"),
        (b" 3", " 3"),
        (b"0x1F", "0x1F"),
        (b"1.2.3", "1.2.3"),
        (b"2013-01-01", "2013-01-01"),
        (b"inf", "inf"),
        (b"", ""),
        ("größer".encode(), "größer"),
    ],
)
def test_a_cell_is_a_number_if_it_is_written_as_one(cell, value):
    assert cell_constant(cell) == value
    assert type(cell_constant(cell)) is type(value)


@pytest.mark.parametrize(
    ("cell", "code", "message"),
    [
        (None, "L313", "there is no value"),
        (b"\xff", "L307", "the text is not valid UTF-8"),
        (b"9223372036854775808", "L313", "9223372036854775808 does not fit a 64-bit integer"),
        (b"9" * 9999, "L313", "9" * 40 + "... does not fit a 64-bit integer"),
        (b"1e999", "L313", "inf is not a number that can be a constant"),
    ],
)
def test_a_cell_without_a_constant_is_refused(cell, code, message):
    with pytest.raises(Refused) as refused:
        cell_constant(cell)
    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (pa.array([1, None], pa.int8()), [1, "there is no value"]),
        (pa.array([2**64 - 1, 3], pa.uint64()), [f"{2**64 - 1} does not fit a 64-bit integer", 3]),
        (pa.array([1.5, 2.0], pa.float32()), [1.5, 2]),
        (
            pa.array([float("nan"), float("inf"), None, 1e300]),
            [
                "there is no value",
                "inf is not a number that can be a constant",
                "there is no value",
                1e300,
            ],
        ),
        (pa.array([True, False, None]), ["true", "false", "there is no value"]),
        (pa.array(["a", None], pa.large_string()), ["a", "there is no value"]),
        (pa.array(["a", "3"], pa.string_view()), ["a", "3"]),
        (pa.array(["a", None, "a"]).dictionary_encode(), ["a", "there is no value", "a"]),
        (
            pa.DictionaryArray.from_arrays(
                pa.array([0, 1, 0]), pa.array(["x", "y"], pa.string_view())
            ),
            ["x", "y", "x"],
        ),
        (pa.array([Decimal("3.10"), Decimal("4.00"), None]), [3.1, 4, "there is no value"]),
        (pa.array([Decimal("9007199254740993")]), [9007199254740993]),
        (pa.array([date(2013, 1, 1)]), ["2013-01-01"]),
        (pa.array([datetime(2013, 1, 1, 5)], pa.timestamp("s")), ["2013-01-01 05:00:00"]),
        (pa.nulls(2), ["there is no value"] * 2),
    ],
)
def test_typed_columns_become_constants(array, values):
    column = typed_column(array)
    assert is_argument_type(array.type)
    assert found(column) == values
    assert all(part.type in (pa.int64(), pa.float64(), pa.string()) for part in column.parts)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.binary()]
)
def test_other_types_hold_no_constants(kind):
    assert not is_argument_type(kind)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
@settings(deadline=None)
def test_floats_keep_their_value(values):
    assert found(typed_column(pa.array(values, pa.float64()))) == [constant(v) for v in values]

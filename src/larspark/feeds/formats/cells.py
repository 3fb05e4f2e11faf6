"""Columns of a table as constants, vectorized where all values are of one type.

The constant of one value is defined by `text_constant` (CSV) and `value_constant` (typed columns);
the functions on whole columns agree with them.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.terms import INTEGER_MAX, Constant, constant
from larspark.feeds.ground_atoms import shortened, value_constant
from larspark.feeds.reading import Refused

Mask: TypeAlias = npt.NDArray[np.bool_]

_DECIMAL = r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_NUMBER = re.compile(_DECIMAL)
_EXACT = 2.0**53
_KINDS: tuple[type, ...] = (int, float, str)
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string()}


class Column(NamedTuple):
    """The constants of a column, one part for each type that occurs.

    Each part is as long as the column; `kind_of` is the part that holds a row's constant. Rows
    marked in `bad` have no constant, and `explain` gives the reason.
    """

    parts: tuple[pa.Array, ...]
    kind_of: npt.NDArray[np.int8]
    bad: Mask
    explain: Callable[[int], Refused]


def _of_one_kind(values: pa.Array, bad: Mask, explain: Callable[[int], Refused]) -> Column:
    return Column((values,), np.zeros(len(values), np.int8), bad, explain)


def constants(column: Column) -> list[Constant | None]:
    """The constants as a list, None for rows that have none."""
    parts = [part.to_pylist() for part in column.parts]
    return [
        None if bad else constant(parts[kind][row])
        for row, (kind, bad) in enumerate(zip(column.kind_of, column.bad, strict=True))
    ]


def text_constant(cell: bytes | None) -> Constant:
    """The constant of a CSV cell: a number if it is written as one, else text.

    >>> text_constant(b"21.50"), text_constant(b"a1"), text_constant(b"2013-01-01")
    (21.5, 'a1', '2013-01-01')
    """
    if cell is None:
        raise Refused("L313", "there is no value")
    try:
        text = cell.decode()
    except UnicodeDecodeError:
        raise Refused("L307", "the text is not valid UTF-8") from None
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    whole = match[1].isdigit() and match[2] is None
    # Python refuses integers of many thousand digits; 64-bit integers have at most 19.
    if whole and len(text) > 20 and len(text.lstrip("-0")) > 19:
        raise Refused("L313", f"{shortened(text)} does not fit a 64-bit integer")
    return value_constant(int(text) if whole else float(text))


def text_column(cells: pa.Array) -> Column:
    """The constants of a column of CSV cells (binary; null where there is no value)."""

    def explain(row: int) -> Refused:
        return reason(lambda: text_constant(cells[row].as_py()))

    bad: Mask = cells.is_null().to_numpy(zero_copy_only=False)
    try:
        texts = cells.cast(pa.string())
    except pa.ArrowInvalid:
        return _cell_by_cell(cells, explain)
    offsets, data = _text_bytes(texts)
    begins = _FIRST_OF_NUMBER[data[offsets[:-1]]] & (offsets[:-1] < offsets[1:])
    if not begins.any():
        return _of_one_kind(texts, bad, explain)
    if (begins | bad).all() and (numbers := _numbers(texts, data)) is not None:
        return _of_one_kind(numbers, bad, explain)
    if not pc.any(pc.match_substring_regex(texts, f"^{_DECIMAL}$")).as_py():
        return _of_one_kind(texts, bad, explain)
    return _cell_by_cell(cells, explain)


_FIRST_OF_NUMBER = np.zeros(256, dtype=np.bool_)
_FIRST_OF_NUMBER[list(b"0123456789-.")] = True
_SAMPLE = 16


def cast_or_none(texts: pa.Array, kind: Any) -> pa.Array | None:
    """The texts cast to another type; None unless all of them can be."""
    try:
        # Failing on many values is slow in Arrow, so a sample is tried first.
        pc.cast(texts.slice(0, _SAMPLE), kind)
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None


def _text_bytes(texts: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """The offsets of the texts, and their bytes followed by one 0."""
    if len(texts) == 0:
        return np.zeros(1, np.int32), np.zeros(1, np.uint8)
    _, offset_buffer, data_buffer = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, texts.offset * 4)
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    return offsets - offsets[0], np.append(data, np.uint8(0))


def _numbers(texts: pa.Array, data: npt.NDArray[np.uint8]) -> pa.Array | None:
    """All texts as integers or as floats; None if Arrow would parse some of them differently."""
    integers = cast_or_none(texts, pa.int64())
    if integers is not None:
        # Arrow parses hexadecimal integers, too.
        return None if ((data | 0x20) == ord("x")).any() else integers
    floats = cast_or_none(texts, pa.float64())
    if floats is None:
        return None
    values = floats.fill_null(0.0).to_numpy(zero_copy_only=False)
    # Beyond this an integer loses digits as a float; NaN and infinities fail the test too.
    return floats if (np.abs(values) < _EXACT).all() else None


def _cell_by_cell(cells: pa.Array, explain: Callable[[int], Refused]) -> Column:
    """A column of several types: `text_constant` applied once to each distinct cell."""
    encoded = cells.dictionary_encode()
    values: list[Constant | None] = [_or_none(cell) for cell in encoded.dictionary.to_pylist()]
    present = {type(value) for value in values} - {type(None)}
    kinds = [kind for kind in _KINDS if kind in present] or [str]
    numbers = {kind: number for number, kind in enumerate(kinds)}
    # Index -1, the last entry, stands for empty cells.
    rows = encoded.indices.fill_null(-1).to_numpy()
    kind_of = np.array([numbers.get(type(v), 0) for v in values] + [0], dtype=np.int8)[rows]
    bad = np.array([value is None for value in values] + [True])[rows]
    indices = pa.array(np.where(rows < 0, len(values), rows))
    parts = [
        pa.array([v if type(v) is kind else None for v in values] + [None], _TYPES[kind])
        for kind in kinds
    ]
    return Column(tuple(part.take(indices) for part in parts), kind_of, bad, explain)


def _or_none(cell: bytes) -> Constant | None:
    try:
        return text_constant(cell)
    except Refused:
        return None


def typed_column(values: pa.Array) -> Column:
    """The constants of an Arrow column."""
    values = decoded(values)
    kind: Any = values.type

    def explain(row: int) -> Refused:
        return reason(lambda: _typed_constant(values[row].as_py()))

    bad: Mask = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_uint64(kind):
        fits = pc.less_equal(values, pa.scalar(INTEGER_MAX, kind)).fill_null(False)
        bad = ~fits.to_numpy(zero_copy_only=False)
        values_in_range = pc.if_else(fits, values, pa.scalar(None, kind))
        return _of_one_kind(pc.cast(values_in_range, pa.int64()), bad, explain)
    if pa.types.is_integer(kind):
        return _of_one_kind(pc.cast(values, pa.int64()), bad, explain)
    if pa.types.is_floating(kind):
        floats = pc.cast(values, pa.float64())
        finite = np.isfinite(floats.fill_null(np.nan).to_numpy(zero_copy_only=False))
        return _of_one_kind(floats, ~finite, explain)
    if pa.types.is_decimal(kind):
        # By their text: `12` is an integer, and `3.10` the nearest float.
        return text_column(values.cast(pa.string()).cast(pa.binary()))
    return _of_one_kind(pc.cast(values, pa.string()), bad, explain)


def is_text_type(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_argument_type(kind: Any) -> bool:
    """Whether a column of this Arrow type holds constants."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_boolean,
        is_text_type,
        pa.types.is_date,
        pa.types.is_timestamp,
        pa.types.is_time,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def decoded(values: pa.Array) -> pa.Array:
    """The values of a column, decoded if it is dictionary-encoded."""
    if not pa.types.is_dictionary(values.type):
        return values
    dictionary = values.dictionary
    if pa.types.is_string_view(dictionary.type):
        dictionary = dictionary.cast(pa.string())
    return dictionary.take(values.indices)


def _typed_constant(value: object) -> Constant:
    if value is None or value != value:
        raise Refused("L313", "there is no value")
    return value_constant(value)


def reason(convert: Callable[[], object]) -> Refused:
    """Why the conversion of one value is refused."""
    try:
        value = convert()
    except Refused as refused:
        return refused
    raise AssertionError(f"{value!r} is valid, but its row was refused")

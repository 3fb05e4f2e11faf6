"""Columns of a table as constants, vectorized where all values are of one type.

The constant of one value is defined by `cell_constant` (CSV) and `argument` (typed columns); the
functions on whole columns agree with them.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.arrow_numpy import null_mask, numpy_array
from larspark.base.problems import Severity, warn
from larspark.base.terms import INTEGER_MAX, Constant, constant
from larspark.feeds.conversions import DECIMAL, DECIMAL_COMMA, PLAIN, argument, text_argument
from larspark.feeds.ground_atoms import shortened
from larspark.feeds.mapping import Kind
from larspark.feeds.reading import Refused

Mask: TypeAlias = npt.NDArray[np.bool_]

EXACT_FLOAT = 2.0**53
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


def cell_constant(cell: bytes | None, kind: Kind | None = None) -> Constant:
    """The constant of a CSV cell; without a kind, a number if it is written as one, else text.

    >>> cell_constant(b"21.50"), cell_constant(b"a1"), cell_constant(b"007", Kind.TEXT)
    (21.5, 'a1', '007')
    """
    if cell is None:
        raise Refused("L313", "there is no value")
    try:
        text = cell.decode()
    except UnicodeDecodeError:
        raise Refused("L307", "the text is not valid UTF-8") from None
    return text_argument(text, kind)


def text_column(cells: pa.Array, kind: Kind | None = None) -> Column:
    """The constants of a column of CSV cells (binary; null where there is no value)."""
    law = partial(cell_constant, kind=kind)

    def explain(row: int) -> Refused:
        return reason(lambda: law(cells[row].as_py()))

    bad: Mask = null_mask(cells)
    try:
        texts = cells.cast(pa.string())
    except pa.ArrowInvalid:
        return _value_by_value(cells, law, explain)
    if kind is Kind.TEXT:
        return _of_one_kind(texts, bad, explain)
    if kind is Kind.COMMA:
        return _value_by_value(cells, law, explain)
    offsets, data = text_bytes(texts)
    begins = _FIRST_OF_NUMBER[data[offsets[:-1]]] & (offsets[:-1] < offsets[1:])
    if kind is None and not begins.any():
        return _of_one_kind(texts, bad, explain)
    if (begins | bad).all() and (numbers := _numbers(texts, data)) is not None:
        if kind is Kind.INTEGER:
            return _only_integers(_of_one_kind(numbers, bad, explain))
        if kind not in (Kind.PLAIN, Kind.PLAIN_OR_TEXT) or _all_plain(texts, offsets, data):
            return _of_one_kind(numbers, bad, explain)
    if kind is None and not pc.any(pc.match_substring_regex(texts, f"^{DECIMAL}$")).as_py():
        return _of_one_kind(texts, bad, explain)
    return _value_by_value(cells, law, explain)


def guessed_kind(cells: pa.Array) -> tuple[Kind, int | None] | None:
    """What CSV cells are: plain numbers if all are, else text; None if there are no values.

    With text, the row of a cell that is no plain number although there are numbers, too.
    """
    if cells.null_count == len(cells):
        return None
    column = text_column(cells, Kind.PLAIN_OR_TEXT)
    present = ~column.bad
    kinds = np.array([not pa.types.is_string(part.type) for part in column.parts])
    numbers = kinds[column.kind_of] & present
    if (numbers == present).all() and numbers.any():
        return Kind.PLAIN, None
    loose = text_column(cells)
    alike = np.array([not pa.types.is_string(part.type) for part in loose.parts])
    if not (alike[loose.kind_of] & ~loose.bad).any():
        return Kind.TEXT, None
    return Kind.TEXT, int(np.argmax(~numbers & present))


def first_decimal_comma(cells: pa.Array) -> int | None:
    """The row of the first cell such as `4,1`, if all cells are numbers written in this way."""
    try:
        texts = cells.cast(pa.string())
    except pa.ArrowInvalid:
        return None
    numbers = pc.match_substring_regex(texts, f"^{DECIMAL_COMMA}$")
    if not pc.all(numbers).as_py():
        return None
    row: int = pc.index(pc.match_substring(texts, ","), True).as_py()
    return row if row >= 0 else None


# What to write in a mapping where a column is read as text.
TEXT_MEANT = "`text({0})` says that it is meant, `number({0})` reports such cells"


def warn_of_text(name: str, cell: bytes, source: str, line: int, hint: str) -> None:
    """Warn that a CSV column with numbers is read as text because of one of its cells."""
    shown = shortened(cell.decode(errors="replace"))
    message = f'column `{name}` is read as text, because it holds "{shown}"'
    problem = Refused("L326", message, hint).at(source, line)
    warn(replace(problem, severity=Severity.WARNING))


_FIRST_OF_NUMBER = np.zeros(256, dtype=np.bool_)
_FIRST_OF_NUMBER[list(b"0123456789-.")] = True
_DIGITS = np.zeros(256, dtype=np.bool_)
_DIGITS[list(b"0123456789")] = True
_SAMPLE = 16


def cast_or_none(texts: pa.Array, kind: Any) -> pa.Array | None:
    """The texts cast to another type; None unless all of them can be."""
    try:
        # Failing on many values is slow in Arrow, so a sample is tried first.
        pc.cast(texts.slice(0, _SAMPLE), kind)
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None


def text_bytes(texts: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
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
    values = numpy_array(floats, 0.0)
    # Beyond this an integer loses digits as a float; NaN and infinities fail the test too.
    return floats if (np.abs(values) < EXACT_FLOAT).all() else None


def _all_plain(
    texts: pa.Array, offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]
) -> bool:
    """Whether texts that are numbers are all plain ones."""
    starts, ends = offsets[:-1], offsets[1:]
    starts = np.where(data[starts] == ord("-"), starts + 1, starts)[starts < ends]
    simple = not ((data | 0x20) == ord("e")).any() and not (
        # Neither `.5` nor `5.` nor `007`.
        (data[starts] == ord(".")).any()
        or (data[offsets[1:] - 1] == ord(".")).any()
        or ((data[starts] == ord("0")) & _DIGITS[data[np.minimum(starts + 1, len(data) - 1)]]).any()
    )
    if simple:
        # The byte after a lone `0` may be the first digit of the next text.
        return True
    found = pc.match_substring_regex(texts, f"^{PLAIN}$")
    return bool(pc.all(found).as_py() is not False)


def _only_integers(column: Column) -> Column:
    """The column without numbers that are no integers."""
    bad = column.bad
    for kind, part in enumerate(column.parts):
        if pa.types.is_floating(part.type):
            values = numpy_array(part, np.nan)
            whole = (np.abs(values) <= EXACT_FLOAT) & (np.floor(values) == values)
            bad = bad | ((column.kind_of == kind) & ~whole)
    return column._replace(bad=bad)


def _value_by_value(
    values: pa.Array, law: Callable[[Any], Constant], explain: Callable[[int], Refused]
) -> Column:
    """A column of several types: the definition applied once to each distinct value."""
    encoded = values.dictionary_encode()
    found: list[Constant | None] = [_or_none(law, v) for v in encoded.dictionary.to_pylist()]
    present = {type(value) for value in found} - {type(None)}
    kinds = [kind for kind in _KINDS if kind in present] or [str]
    numbers = {kind: number for number, kind in enumerate(kinds)}
    # Index -1, the last entry, stands for missing values.
    rows = numpy_array(encoded.indices, -1)
    kind_of = np.array([numbers.get(type(v), 0) for v in found] + [0], dtype=np.int8)[rows]
    bad = np.array([value is None for value in found] + [True])[rows]
    indices = pa.array(np.where(rows < 0, len(found), rows))
    parts = [
        pa.array([v if type(v) is kind else None for v in found] + [None], _TYPES[kind])
        for kind in kinds
    ]
    return Column(tuple(part.take(indices) for part in parts), kind_of, bad, explain)


def _or_none(law: Callable[[Any], Constant], value: object) -> Constant | None:
    try:
        return law(value)
    except Refused:
        return None


def typed_column(values: pa.Array, of: Kind | None = None) -> Column:
    """The constants of an Arrow column."""
    values = decoded(values)
    kind: Any = values.type
    if of is Kind.COMMA and not is_text_type(kind):
        of = Kind.NUMBER

    def explain(row: int) -> Refused:
        return reason(lambda: argument(values[row].as_py(), of))

    if is_text_type(kind) and of in (Kind.NUMBER, Kind.INTEGER, Kind.COMMA):
        return text_column(values.cast(pa.string()).cast(pa.binary()), of)
    if of is Kind.TEXT and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return _value_by_value(values, partial(argument, kind=of), explain)
    if of in (Kind.NUMBER, Kind.INTEGER) and not _is_number_type(kind):
        return _value_by_value(values, partial(argument, kind=of), explain)
    bad: Mask = null_mask(values)
    if pa.types.is_uint64(kind):
        fits = pc.less_equal(values, pa.scalar(INTEGER_MAX, kind)).fill_null(False)
        bad = ~fits.to_numpy(zero_copy_only=False)
        values_in_range = pc.if_else(fits, values, pa.scalar(None, kind))
        column = _of_one_kind(pc.cast(values_in_range, pa.int64()), bad, explain)
    elif pa.types.is_integer(kind):
        column = _of_one_kind(pc.cast(values, pa.int64()), bad, explain)
    elif pa.types.is_floating(kind):
        floats = pc.cast(values, pa.float64())
        finite = np.isfinite(numpy_array(floats, np.nan))
        column = _of_one_kind(floats, ~finite, explain)
    elif pa.types.is_decimal(kind):
        # By their text: `12` is an integer, and `3.10` the nearest float.
        return text_column(values.cast(pa.string()).cast(pa.binary()), of)
    else:
        return _of_one_kind(pc.cast(values, pa.string()), bad, explain)
    if of is Kind.TEXT:
        return column._replace(parts=(pc.cast(column.parts[0], pa.string()),))
    return _only_integers(column) if of is Kind.INTEGER else column


def _is_number_type(kind: Any) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


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


def reason(convert: Callable[[], object]) -> Refused:
    """Why the conversion of one value is refused."""
    try:
        value = convert()
    except Refused as refused:
        return refused
    raise AssertionError(f"{value!r} is valid, but its row was refused")

"""Columns of a table as time points. For one value, `times.time_point` is the definition."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, tzinfo
from math import gcd
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.arrow_numpy import null_mask, numpy_array
from larspark.base.problems import Problem
from larspark.base.terms import INTEGER_MAX
from larspark.feeds.formats.cells import (
    Column,
    Mask,
    cast_or_none,
    cell_constant,
    decoded,
    is_text_type,
    reason,
    text_column,
    typed_column,
)
from larspark.feeds.local_times import local_columns, microseconds_since_1970
from larspark.feeds.mapping import Kind
from larspark.feeds.reading import Refused
from larspark.feeds.times import last_time_point, needs_tick, time_point

Times: TypeAlias = npt.NDArray[np.int64]

# So far from 1970 that an offset from UTC still fits 64 bits.
_FURTHEST = INTEGER_MAX - 2 * 86_400_000_000
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}


class TimeColumn(NamedTuple):
    """The time point of every row; rows marked in `bad` have none; `explain` gives the reason.

    `counted` is the largest time point that was given as a number without a unit, or -1.
    """

    times: Times
    bad: Mask
    explain: Callable[[int], Refused]
    counted: int = -1


def text_time_column(
    cells: pa.Array, tick: int | None, unit: int | None = None, zone: tzinfo = UTC
) -> TimeColumn:
    """The time points of a column of CSV cells."""
    if unit is not None:

        def refusal(row: int) -> Refused:
            return reason(lambda: _cell_time(cells[row].as_py(), tick, unit))

        return _unit_times(text_column(cells, Kind.NUMBER), tick, unit, refusal)
    column = text_column(cells)
    times, bad = _part_times(column.parts[0], tick, zone)
    counted = _counted(column.parts[0], times)
    for kind, part in enumerate(column.parts[1:], 1):
        part_times, part_bad = _part_times(part, tick, zone)
        counted = max(counted, _counted(part, part_times))
        chosen = column.kind_of == kind
        times, bad = np.where(chosen, part_times, times), np.where(chosen, part_bad, bad)

    def explain(row: int) -> Refused:
        return reason(lambda: time_point(cell_constant(cells[row].as_py()), tick, zone=zone))

    return TimeColumn(times, bad | column.bad, explain, counted)


def typed_time_column(
    values: pa.Array, tick: int | None, unit: int | None = None, zone: tzinfo = UTC
) -> TimeColumn:
    """The time points of an Arrow column of a type that `time_type_problems` accepts."""
    values = decoded(values)
    if unit is not None:

        def refusal(row: int) -> Refused:
            return reason(lambda: time_point(values[row].as_py(), tick, unit))

        return _unit_times(typed_column(values, Kind.NUMBER), tick, unit, refusal)
    if _is_moment_type(values.type) and tick is not None:
        times, bad = _moment_times(values, tick, zone)
        return TimeColumn(times, bad, lambda row: _moment_reason(values.slice(row, 1), zone))

    def explain(row: int) -> Refused:
        return reason(lambda: time_point(values[row].as_py(), tick, zone=zone))

    column = typed_column(values)
    times, bad = _part_times(column.parts[0], tick, zone)
    return TimeColumn(times, bad | column.bad, explain, _counted(column.parts[0], times))


def time_type_problems(
    name: str, kind: Any, tick: int | None, unit: int | None = None
) -> Iterator[Problem]:
    """Why a column of this Arrow type cannot hold times."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if unit is not None and _is_moment_type(kind):
        message = f"column `{name}` holds timestamps, which have no unit"
        yield Problem("L305", message, hint="leave the unit out of the mapping")
        return
    if unit is not None and tick is None:
        refused = needs_tick(f"column `{name}` has a unit")
        yield Problem(refused.code, refused.message, hint=refused.hint)
        return
    if _is_moment_type(kind):
        if tick is None:
            refused = needs_tick(f"column `{name}` holds timestamps")
            yield Problem(refused.code, refused.message, hint=refused.hint)
        return
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (number or is_text_type(kind) or pa.types.is_null(kind)):
        yield Problem("L305", f"column `{name}` has the type {kind}, which cannot be a time")


def _is_moment_type(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _cell_time(cell: bytes | None, tick: int | None, unit: int) -> int:
    return time_point(cell_constant(cell, Kind.TEXT), tick, unit)


def _unit_times(
    column: Column, tick: int | None, unit: int, explain: Callable[[int], Refused]
) -> TimeColumn:
    """The time points of numbers with a unit."""
    times: Times = np.full(len(column.bad), -1, np.int64)
    if tick is None:
        return TimeColumn(times, np.ones(len(times), np.bool_), explain)
    shared = gcd(unit, 1000 * tick)
    factor, divisor = unit // shared, 1000 * tick // shared
    for kind, part in enumerate(column.parts):
        chosen = (column.kind_of == kind) & ~column.bad
        if pa.types.is_integer(part.type):
            values = numpy_array(part, -1)
            if not ((values > INTEGER_MAX // factor) & chosen).any():
                found = np.where(chosen & (values >= 0), values, 0) * factor // divisor
                times = np.where(chosen & (values >= 0), found, times)
                continue
        encoded = part.dictionary_encode()
        points = [_point_or_minus_one(v, tick, unit) for v in encoded.dictionary.to_pylist()]
        found = np.array([*points, -1], np.int64)[numpy_array(encoded.indices, -1)]
        times = np.where(chosen, found, times)
    times = np.where(times > last_time_point(tick), -1, times)
    return TimeColumn(times, times < 0, explain)


def _counted(part: pa.Array, times: Times) -> int:
    return -1 if pa.types.is_string(part.type) else int(times.max(initial=-1))


def _part_times(part: pa.Array, tick: int | None, zone: tzinfo) -> tuple[Times, Mask]:
    if pa.types.is_string(part.type):
        return _text_times(part, tick, zone)
    if pa.types.is_floating(part.type):
        values = numpy_array(part, -1.0)
        # Floats beyond 2**53 are refused; NaN fails every comparison.
        bad = ~((values >= 0) & (values <= 2.0**53) & (np.floor(values) == values))
        return np.where(bad, -1, values).astype(np.int64), bad
    times: Times = numpy_array(part, -1)
    return times, times < 0


def _text_times(texts: pa.Array, tick: int | None, zone: tzinfo) -> tuple[Times, Mask]:
    if tick is not None:
        for named in (None, "UTC"):
            moments = cast_or_none(texts, pa.timestamp("us", named))
            if moments is not None:
                return _moment_times(moments, tick, zone)
    encoded = texts.dictionary_encode()
    points = [_point_or_minus_one(text, tick, zone=zone) for text in encoded.dictionary.to_pylist()]
    # Index -1, the last entry, stands for rows without a text.
    times = np.array([*points, -1], dtype=np.int64)[numpy_array(encoded.indices, -1)]
    return times, times < 0


def _point_or_minus_one(
    value: object, tick: int | None, unit: int | None = None, zone: tzinfo = UTC
) -> int:
    try:
        return time_point(value, tick, unit, zone)
    except Refused:
        return -1


def _moment_times(moments: pa.Array, tick: int, zone: tzinfo) -> tuple[Times, Mask]:
    if pa.types.is_date(moments.type):
        days = pa.types.is_date32(moments.type)
        moments = pc.cast(moments, pa.timestamp("s" if days else "ms"))
    values = numpy_array(pc.cast(moments, pa.int64()), -1)
    if moments.type.unit == "ns":
        bad: Mask = null_mask(moments)
        micros: Times = np.floor_divide(values, 1000)
    else:
        factor = _MICROSECONDS[moments.type.unit]
        bad = null_mask(moments) | (values > _FURTHEST // factor) | (values < -_FURTHEST // factor)
        micros = np.where(bad, 0, values) * factor
    if moments.type.tz is None:
        micros, without = local_columns(micros, zone)
        bad = bad | without
    bad = bad | (micros < 0)
    return np.where(bad, -1, micros // tick), bad


def _moment_reason(moment: pa.Array, zone: tzinfo) -> Refused:
    if moment.null_count:
        return Refused("L313", "there is no value")
    shown = moment.cast(pa.string())[0].as_py()
    try:
        microseconds_since_1970(datetime.fromisoformat(shown), zone)
    except Refused as refused:
        return refused
    except ValueError:
        pass  # beyond the calendar
    return Refused("L310", f"the time {shown} lies before 1970 or too far ahead")

"""The first look at Parquet files that needs no look inside: what their footers say is enough.

A footer tells for every row group how many rows there are, the least and the greatest value of a
column, and whether a value is missing. Where that proves that all rows are facts, their number and
their times are known. A float can be NaN without the footer saying so: such files are looked into.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from larspark.feeds.timecolumns import typed_time_column
from larspark.scale.facts import Shape
from larspark.scale.survey import about

# How many times stand for a row group: they are taken to be spread evenly.
_SAMPLE = 64


class Group(NamedTuple):
    """What a footer says about a row group."""

    rows: int
    # For every column the least and the greatest value; a column that may lack values is not here.
    bounds: dict[str, tuple[Any, Any] | None]


def group_of(group: Any, columns: Collection[str]) -> Group:
    """What a footer says about a row group and these columns of it."""
    bounds: dict[str, tuple[Any, Any] | None] = {}
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema not in columns:
            continue
        found = column.statistics
        if found is not None and found.has_null_count and found.null_count == 0:
            bounds[column.path_in_schema] = (found.min, found.max) if found.has_min_max else None
    return Group(group.num_rows, bounds)


def known_from_footers(
    groups: Sequence[Group], schema: Any, shape: Shape, tick: int | None
) -> dict[str, Any] | None:
    """A row about all the facts of some row groups; None when the footers do not say enough."""
    signature = shape.signature
    if signature is None or not _is_plain(schema, shape):
        return None
    sample: list[tuple[int, int]] = []
    bounds: list[int] = []
    for group in groups:
        if not group.rows:
            continue
        times = _times(group, schema, shape, tick)
        if times is None or not all(name in group.bounds for name in shape.columns):
            return None
        bounds += times
        points = np.linspace(*times, _SAMPLE).astype(np.int64).tolist()
        sample += [(t, -(-group.rows // _SAMPLE)) for t in points]
    facts = sum(group.rows for group in groups)
    return about(facts, [signature] if facts else [], bounds, sample)


def _is_plain(schema: Any, shape: Shape) -> bool:
    """Is every value of these columns that is not missing a constant, and the time one to order?"""
    time = schema.field(shape.mapping.time).type
    moments = pa.types.is_timestamp(time) and time.unit != "ns"
    if not (pa.types.is_signed_integer(time) or moments):
        return False
    others = [schema.field(n).type for n in shape.columns if n != shape.mapping.time]
    return all(
        pa.types.is_signed_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
        for kind in others
    )


def _times(group: Group, schema: Any, shape: Shape, tick: int | None) -> tuple[int, int] | None:
    """The first and the last time point of a row group, which its values lie between."""
    bounds = group.bounds.get(shape.mapping.time)
    if bounds is None:
        return None
    values = pa.array(bounds, schema.field(shape.mapping.time).type)
    column = typed_time_column(values, tick)
    return None if column.bad.any() else (int(column.times[0]), int(column.times[1]))

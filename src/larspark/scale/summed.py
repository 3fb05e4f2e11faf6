"""The first look at a DataFrame, in SQL: Spark counts by itself, and no row comes to Python.

One pass over the rows sums them up in groups of keys. A group tells how many rows it has, whether
all are facts, from when to when, and the time of one row that was drawn at random.
"""

from typing import Any

from larspark.feeds.mapping import ColumnName
from larspark.meaning.partition import Key
from larspark.scale.buckets import BUCKETS
from larspark.scale.facts import Shape
from larspark.scale.shapes import Source
from larspark.scale.sql import functions
from larspark.scale.survey import about

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
# Every value of these is a constant.
_PLAIN = (*_INTEGERS, "string", "boolean")

# What is asked of every group.
_ABOUT = (
    "count(*) as facts",
    "bool_and(right) as right",
    "min(t) as first",
    "max(t) as last",
    "max_by(t, lot) as drawn",
)


def summed_up(source: Source, tick: int | None, key: Key) -> dict[str, Any] | None:
    """A row about all the facts of a DataFrame; None when some row is no fact, or may be none."""
    signature = source.shape.signature
    kinds = dict(source.rows.dtypes)
    times = _times(source.shape.mapping.time, kinds, tick)
    right = [_right(name, kind) for name, kind in kinds.items()]
    if signature is None or times is None or None in right:
        return None
    moment, point = times
    keyed = signature in key
    group = _key_group(source.shape, key[signature]) if keyed else f"int(rand(1) * {BUCKETS})"
    marked = source.rows.selectExpr(
        f"{group} as place",
        f"{point} as t",
        f"coalesce({moment} >= 0 and {' and '.join(map(str, right))}, false) as right",
        "rand(2) as lot",
    )
    groups = marked.groupBy("place").agg(*map(functions.expr, _ABOUT)).collect()
    if not all(row.right for row in groups):
        return None
    facts = {row.place: row.facts for row in groups}
    return about(
        sum(facts.values()),
        [signature] if facts else [],
        [t for row in groups for t in (row.first, row.last)],
        [(row.drawn, row.facts) for row in groups],
        [facts.get(place, 0) for place in range(BUCKETS)] if keyed else (),
    )


def _times(name: str, kinds: dict[str, str], tick: int | None) -> tuple[str, str] | None:
    """The time of a row, which must not be negative, and its time point then.

    None when SQL cannot tell it as the law has it.
    """
    if kinds[name] in _INTEGERS:
        point = f"bigint({_quoted(name)})"
        return point, point
    if kinds[name] == "timestamp" and tick is not None:
        moment = f"unix_micros({_quoted(name)})"
        return moment, f"{moment} div {tick}"
    return None


def _right(name: str, kind: str) -> str | None:
    """Is a value a constant? None when SQL cannot tell."""
    column = _quoted(name)
    if kind in _FLOATS:
        return f"{column} is not null and not isnan({column}) and abs({column}) < double('inf')"
    if kind in _PLAIN or kind == "timestamp":
        return f"{column} is not null"
    return None


def _key_group(shape: Shape, place: int) -> str:
    """A group for every key; it need not be the bucket, which only has to be as uneven."""
    argument = shape.mapping.args[place]
    if not isinstance(argument, ColumnName):
        return "0"
    return f"int(pmod(xxhash64({_quoted(argument.name)}), {BUCKETS}))"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"

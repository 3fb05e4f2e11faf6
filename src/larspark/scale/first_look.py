"""The first look at a DataFrame, in SQL: Spark counts by itself, and no row comes to Python.

One pass over the rows sums them up in groups of keys. A group tells how many rows it has, whether
all are facts, from when to when, and the time of one row that was drawn at random.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from larspark.analysis.partition import Key
from larspark.feeds.mapping import ColumnName
from larspark.scale import parquet_files as files
from larspark.scale import survey
from larspark.scale.buckets import BUCKETS
from larspark.scale.dataframe_facts import Source
from larspark.scale.exchange import Sources, each_number, parallelism
from larspark.scale.failures import telling
from larspark.scale.job_plan import Prepared
from larspark.scale.parquet_files import FileSource
from larspark.scale.spark_session import SparkSession, functions
from larspark.scale.survey import about, known_from_footers
from larspark.scale.table_facts import Shape

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


# Keys are counted in the first rows of some splits.
_SAMPLED_SPLITS = 8
_SAMPLED_ROWS = 1 << 13


def survey_of(spark: SparkSession, sources: Sources, prepared: Prepared) -> list[list[Any]]:
    """For every source rows about its facts: one for each split of files, in their order."""
    tick, key = prepared.tick, prepared.first_key
    known = [_known(source, tick, key) for source in sources]
    unknown = [
        source
        for source, rows in zip(sources, known, strict=True)
        if rows is None and isinstance(source, FileSource)
    ]
    looked = iter(_look_into(spark, unknown, tick, key))
    found = []
    for source, rows in zip(sources, known, strict=True):
        if rows is None and isinstance(source, FileSource):
            rows = [next(looked) for _ in source.splits]
        elif rows is None and isinstance(source, Source):
            rows = _look_at_rows(source, tick, key)
        found.append(rows or [])
    return found


def _known(source: Source | FileSource, tick: int | None, key: Key) -> list[Any] | None:
    """What is known without a look at every row; None when that is not enough."""
    if isinstance(source, Source):
        row = summed_up(source, tick, key)
        return None if row is None else [row]
    rows: list[dict[str, Any]] = []
    for groups in source.footers:
        known = known_from_footers(groups, source.schema, source.shape, tick)
        if known is None:
            return None
        rows.append(known)
    if rows and source.shape.signature in key:
        rows[0]["buckets"] = _sampled_buckets(source, tick, key, sum(row["facts"] for row in rows))
    return rows


def _sampled_buckets(source: FileSource, tick: int | None, key: Key, facts: int) -> list[int]:
    """How many facts each bucket of keys holds, judged from a few thousand of them."""
    step = -(-len(source.splits) // _SAMPLED_SPLITS)
    sampled = (files.first_rows(s, source.shape, _SAMPLED_ROWS) for s in source.splits[::step])
    batches = [batch for batch in sampled if batch is not None]
    [found] = survey.survey_partition(batches, source.shape, tick, key)
    counts = found.column("buckets").to_pylist()[0]
    seen = max(1, sum(counts))
    return [-(-count * facts // seen) for count in counts]


def _look_into(
    spark: SparkSession, sources: Sequence[FileSource], tick: int | None, key: Key
) -> list[Any]:
    """A row about each split of all these files, in one job: a stream can have many predicates."""
    splits = [(split, source.shape) for source in sources for split in source.splits]
    if not splits:
        return []
    look = partial(files.survey_splits, splits=splits, tick=tick, key=key)
    # A task has its price, and looking at a split is quick.
    numbers = each_number(spark, len(splits), 2 * parallelism(spark))
    return numbers.mapInArrow(look, survey.SPARK_SCHEMA).collect()


def _look_at_rows(source: Source, tick: int | None, key: Key) -> list[Any]:
    look = partial(telling(survey.survey_partition), shape=source.shape, tick=tick, key=key)
    return source.rows.mapInArrow(look, survey.SPARK_SCHEMA).collect()

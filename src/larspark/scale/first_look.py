"""The first look at all sources: a survey of their facts, by the cheapest means that is exact.

A DataFrame is surveyed in SQL where possible, so that no row crosses to Python: one aggregation by
groups of keys gives for each group the number of rows, whether all are facts, the time span, and
the time of one random row. Parquet files are surveyed from their footers where these are complete.
Otherwise executors read the rows.
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
from larspark.scale.exchange import Sources, number_frame, parallelism
from larspark.scale.job import Prepared
from larspark.scale.parquet_files import FileSource
from larspark.scale.problem_transport import reports_problems
from larspark.scale.spark_session import SparkSession, functions
from larspark.scale.survey import survey_from_footers, survey_row
from larspark.scale.table_facts import Shape

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
# Every value of these types is a constant.
_PLAIN = (*_INTEGERS, "string", "boolean")

# The aggregates of a group.
_AGGREGATES = (
    "count(*) as facts",
    "bool_and(valid) as valid",
    "min(t) as first",
    "max(t) as last",
    "max_by(t, draw) as sampled",
)


def sql_survey(source: Source, tick: int | None, key: Key) -> dict[str, Any] | None:
    """The survey row of a DataFrame; None when some row is not a fact, or SQL cannot decide it."""
    signature = source.shape.signature
    kinds = dict(source.rows.dtypes)
    times = _times(source.shape.mapping.time, kinds, tick)
    valid = [_is_constant(name, kind) for name, kind in kinds.items()]
    if signature is None or times is None or None in valid:
        return None
    moment, point = times
    keyed = signature in key
    group = _key_group(source.shape, key[signature]) if keyed else f"int(rand(1) * {BUCKETS})"
    marked = source.rows.selectExpr(
        f"{group} as place",
        f"{point} as t",
        f"coalesce({moment} >= 0 and {' and '.join(map(str, valid))}, false) as valid",
        "rand(2) as draw",
    )
    groups = marked.groupBy("place").agg(*map(functions.expr, _AGGREGATES)).collect()
    if not all(row.valid for row in groups):
        return None
    facts = {row.place: row.facts for row in groups}
    return survey_row(
        sum(facts.values()),
        [signature] if facts else [],
        [t for row in groups for t in (row.first, row.last)],
        [(row.sampled, row.facts) for row in groups],
        [facts.get(place, 0) for place in range(BUCKETS)] if keyed else (),
    )


def _times(name: str, kinds: dict[str, str], tick: int | None) -> tuple[str, str] | None:
    """SQL for the time of a row, which must not be negative, and for its time point.

    None when SQL cannot compute it exactly as the feeds do.
    """
    if kinds[name] in _INTEGERS:
        point = f"bigint({_quoted(name)})"
        return point, point
    if kinds[name] == "timestamp" and tick is not None:
        moment = f"unix_micros({_quoted(name)})"
        return moment, f"{moment} div {tick}"
    return None


def _is_constant(name: str, kind: str) -> str | None:
    """SQL that tests whether a value is a constant; None when SQL cannot decide it."""
    column = _quoted(name)
    if kind in _FLOATS:
        return f"{column} is not null and not isnan({column}) and abs({column}) < double('inf')"
    if kind in _PLAIN or kind == "timestamp":
        return f"{column} is not null"
    return None


def _key_group(shape: Shape, place: int) -> str:
    """SQL for the group of a key: not its bucket, but with the same distribution."""
    argument = shape.mapping.args[place]
    if not isinstance(argument, ColumnName):
        return "0"
    return f"int(pmod(xxhash64({_quoted(argument.name)}), {BUCKETS}))"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


# Keys are sampled from the first rows of some splits.
_SAMPLED_SPLITS = 8
_SAMPLED_ROWS = 1 << 13


def survey_of(spark: SparkSession, sources: Sources, prepared: Prepared) -> list[list[Any]]:
    """The survey rows of each source: for files one for each split, in order."""
    tick, key = prepared.tick, prepared.first_key
    known = [_known(source, tick, key) for source in sources]
    unknown = [
        source
        for source, rows in zip(sources, known, strict=True)
        if rows is None and isinstance(source, FileSource)
    ]
    read = iter(_survey_splits(spark, unknown, tick, key))
    found = []
    for source, rows in zip(sources, known, strict=True):
        if rows is None and isinstance(source, FileSource):
            rows = [next(read) for _ in source.splits]
        elif rows is None and isinstance(source, Source):
            rows = _survey_rows(source, tick, key)
        found.append(rows or [])
    return found


def _known(source: Source | FileSource, tick: int | None, key: Key) -> list[Any] | None:
    """The survey without reading every row in Python; None when that does not suffice."""
    if isinstance(source, Source):
        row = sql_survey(source, tick, key)
        return None if row is None else [row]
    rows: list[dict[str, Any]] = []
    for groups in source.footers:
        known = survey_from_footers(groups, source.schema, source.shape, tick)
        if known is None:
            return None
        rows.append(known)
    if rows and source.shape.signature in key:
        rows[0]["buckets"] = _sampled_buckets(source, tick, key, sum(row["facts"] for row in rows))
    return rows


def _sampled_buckets(source: FileSource, tick: int | None, key: Key, facts: int) -> list[int]:
    """How many facts each bucket of keys holds, estimated from a sample of a few thousand."""
    step = -(-len(source.splits) // _SAMPLED_SPLITS)
    sampled = (files.first_rows(s, source.shape, _SAMPLED_ROWS) for s in source.splits[::step])
    batches = [batch for batch in sampled if batch is not None]
    [found] = survey.survey_partition(batches, source.shape, tick, key)
    counts = found.column("buckets").to_pylist()[0]
    total = max(1, sum(counts))
    return [-(-count * facts // total) for count in counts]


def _survey_splits(
    spark: SparkSession, sources: Sequence[FileSource], tick: int | None, key: Key
) -> list[Any]:
    """The survey rows of all splits, in one job: a stream can have many predicates."""
    splits = [(split, source.shape) for source in sources for split in source.splits]
    if not splits:
        return []
    look = partial(files.survey_splits, splits=splits, tick=tick, key=key)
    # Each task has a fixed cost, and a split is surveyed quickly.
    numbers = number_frame(spark, len(splits), 2 * parallelism(spark))
    return numbers.mapInArrow(look, survey.SPARK_SCHEMA).collect()


def _survey_rows(source: Source, tick: int | None, key: Key) -> list[Any]:
    look = partial(
        reports_problems(survey.survey_partition), shape=source.shape, tick=tick, key=key
    )
    return source.rows.mapInArrow(look, survey.SPARK_SCHEMA).collect()

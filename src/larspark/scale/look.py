"""The first look at the sources of a run, as cheap as they allow.

Footers of Parquet files are read here, and DataFrames are summed up by Spark in SQL. Where that
does not prove that all rows are facts, executors look at every row and tell what is wrong.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from larspark.meaning.partition import Key
from larspark.scale import files, survey
from larspark.scale.files import FileSource
from larspark.scale.footers import known_from_footers
from larspark.scale.prepare import Prepared
from larspark.scale.shapes import Source
from larspark.scale.spread import Sources, each_number, parallelism
from larspark.scale.sql import SparkSession
from larspark.scale.summed import summed_up
from larspark.scale.telling import telling

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

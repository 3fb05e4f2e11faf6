"""How Spark brings the facts of sources to the pieces of a run."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from larspark.base.problems import LarsparkError
from larspark.scale import interval_merge as joined
from larspark.scale import pack
from larspark.scale import parquet_files as files
from larspark.scale import piece_step as step
from larspark.scale.dataframe_facts import Source
from larspark.scale.failures import ToldError, telling
from larspark.scale.job import Job, load
from larspark.scale.parquet_files import FileSource
from larspark.scale.spark_session import (
    DataFrame,
    GroupedData,
    PySparkException,
    SparkSession,
    local_session,
)

Sources: TypeAlias = Sequence[Source | FileSource]


def session_of(sources: Sources) -> SparkSession:
    """The session of the DataFrames; for files the one that is running, or a new one."""
    for source in sources:
        if isinstance(source, Source):
            return source.frame.sparkSession
    return SparkSession.getActiveSession() or local_session()


def answers_of(
    spark: SparkSession, sources: Sources, surveyed: Sequence[Sequence[Any]], job: Job
) -> DataFrame:
    """The answers of all pieces, as maximal intervals; of all answer streams as points."""
    text, grid = job.text(), job.grid
    finish, schema = _as_they_are, step.SPARK_SCHEMA
    to_be_joined = len(grid.starts) > 1 and not job.every_model
    if job.every_model:
        schema = step.SPARK_MODEL_SCHEMA
    elif to_be_joined:
        buckets = min(grid.pieces, parallelism(spark))
        finish = partial(joined.packed_answers, grid=grid, buckets=buckets)
        schema = joined.SPARK_SCHEMA
    if by_themselves(sources, job):
        answering = partial(files.answer_from_files, parts=parts_of(sources, surveyed))
        answering = partial(answering, job_text=text, finish=finish)
        answers = each_number(spark, grid.pieces).mapInArrow(answering, schema)
    else:
        answers = _from_payloads(shuffled(spark, sources, job), text, finish, schema)
    if not to_be_joined:
        return answers
    together = answers.repartitionById(buckets, "bucket")
    return together.mapInArrow(telling(joined.join_partition), step.SPARK_SCHEMA)


def _from_payloads(pieces: GroupedData, text: str, finish: files.Finish, schema: str) -> DataFrame:
    # Spark reads from the types which kind of function this is.
    def answer(packed: pa.Table) -> pa.Table:
        try:
            answers = step.answer_piece(packed, load(text))
        except LarsparkError as error:
            raise ToldError(error) from None
        return finish(answers, packed["piece"][0].as_py())

    return pieces.applyInArrow(answer, schema)


def _as_they_are(answers: pa.Table, piece: int) -> pa.Table:
    """One slice is the whole time: its intervals are maximal."""
    return answers


def by_themselves(sources: Sources, job: Job) -> bool:
    """Do pieces read what they need, without a shuffle?"""
    in_files = all(isinstance(source, FileSource) for source in sources)
    return in_files and job.grid.shards <= files.READ_BY_EACH


def parts_of(sources: Sources, surveyed: Sequence[Sequence[Any]]) -> list[files.Part]:
    """What there is to read, and when it happened."""
    parts = []
    for source, rows in zip(sources, surveyed, strict=True):
        if isinstance(source, FileSource):
            extents = (
                files.Extent(split, row["first"], row["last"])
                for split, row in zip(source.splits, rows, strict=True)
                if row["first"] is not None
            )
            parts.append(files.Part(source.shape, tuple(extents)))
    return parts


def shuffled(spark: SparkSession, sources: Sources, job: Job) -> GroupedData:
    """The packed facts of every piece, in one group and in one task."""
    pieces = job.grid.pieces
    # A piece without facts can have answers all the same, and Spark makes no empty groups.
    packed = spark.range(pieces).selectExpr(
        "int(id) piece", "int(null) place", "string(null) predicate", "binary(null) payload"
    )
    packed = packed.unionAll(packed_facts(spark, sources, job))
    # By number and not by hash, so that every piece is a task of its own.
    return packed.repartitionById(pieces, "piece").groupBy("piece")


def packed_facts(spark: SparkSession, sources: Sources, job: Job) -> DataFrame:
    """The facts of all sources, packed for the pieces."""
    text = job.text()
    packed = spark.createDataFrame([], pack.SPARK_SCHEMA)
    for source in sources:
        shape = source.shape
        if isinstance(source, Source):
            packing = partial(telling(pack.pack_partition), shape=shape, job_text=text)
            facts = source.rows.mapInArrow(packing, pack.SPARK_SCHEMA)
        else:
            packing = partial(files.pack_splits, splits=source.splits, shape=shape, job_text=text)
            splits = each_number(spark, len(source.splits))
            facts = splits.mapInArrow(packing, pack.SPARK_SCHEMA)
        packed = packed.unionAll(facts)
    return packed


def each_number(spark: SparkSession, count: int, tasks: int | None = None) -> DataFrame:
    """The numbers from 0 in their order, each in a task of its own, or in so many tasks."""
    return spark.range(0, count, 1, max(1, min(count, tasks or count)))


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:
        # Spark Connect does not tell.
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)

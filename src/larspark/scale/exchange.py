"""The exchange on Spark: facts from the sources to the pieces, answers back into one frame."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from larspark.base.problems import LarsparkError
from larspark.scale import parquet_files as files
from larspark.scale import piece_step as step
from larspark.scale import shuffle_payloads as payloads
from larspark.scale.dataframe_facts import Source
from larspark.scale.job import Job, load
from larspark.scale.parquet_files import FileSource
from larspark.scale.problem_transport import ReportedError, reports_problems
from larspark.scale.spark_session import (
    DataFrame,
    GroupedData,
    PySparkException,
    SparkSession,
    active_session,
    local_session,
)

Sources: TypeAlias = Sequence[Source | FileSource]


def session_of(sources: Sources) -> SparkSession:
    """The session of the DataFrames; for files the active session, or a new local one."""
    for source in sources:
        if isinstance(source, Source):
            return source.frame.sparkSession
    return active_session() or local_session()


def answer_pieces(
    spark: SparkSession, sources: Sources, surveyed: Sequence[Sequence[Any]], job: Job
) -> DataFrame:
    """The answers of all pieces as maximal intervals; with `every_model` as time points."""
    text, grid = job.text(), job.grid
    finish, schema = _unchanged, step.SPARK_SCHEMA
    must_merge = len(grid.starts) > 1 and not job.every_model
    if job.every_model:
        schema = step.SPARK_MODEL_SCHEMA
    elif must_merge:
        buckets = min(grid.pieces, parallelism(spark))
        finish = partial(payloads.packed_answers, grid=grid, buckets=buckets)
        schema = payloads.ANSWERS_SPARK_SCHEMA
    if pieces_read_files(sources, job):
        answering = partial(files.answer_from_files, parts=file_parts(sources, surveyed))
        answering = partial(answering, job_text=text, finish=finish)
        answers = number_frame(spark, grid.pieces).mapInArrow(answering, schema)
    else:
        answers = _from_payloads(shuffled(spark, sources, job), text, finish, schema)
    if not must_merge:
        return answers
    by_bucket = answers.repartitionById(buckets, "bucket")
    return by_bucket.mapInArrow(reports_problems(payloads.merge_partition), step.SPARK_SCHEMA)


def _from_payloads(pieces: GroupedData, text: str, finish: files.Finish, schema: str) -> DataFrame:
    # Spark infers from the annotations which kind of function this is.
    def answer(packed: pa.Table) -> pa.Table:
        try:
            answers = step.answer_piece(packed, load(text))
        except LarsparkError as error:
            raise ReportedError(error) from None
        return finish(answers, packed["piece"][0].as_py())

    return pieces.applyInArrow(answer, schema)


def _unchanged(answers: pa.Table, piece: int) -> pa.Table:
    """A single slice covers the whole timeline: its intervals are maximal."""
    return answers


def pieces_read_files(sources: Sources, job: Job) -> bool:
    """Do pieces read their facts from the files, without a shuffle?"""
    in_files = all(isinstance(source, FileSource) for source in sources)
    return in_files and job.grid.shards <= files.READ_BY_EACH


def file_parts(sources: Sources, surveyed: Sequence[Sequence[Any]]) -> list[files.Part]:
    """The splits of all files with the time spans of their facts."""
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
    """The packed facts of each piece, as one group in one task."""
    pieces = job.grid.pieces
    # A piece without facts can still have answers, and Spark makes no empty groups.
    packed = spark.range(pieces).selectExpr(
        "int(id) piece", "int(null) place", "string(null) predicate", "binary(null) payload"
    )
    packed = packed.unionAll(packed_facts(spark, sources, job))
    # Partitioned by number, not by hash, so that each piece is a task of its own.
    return packed.repartitionById(pieces, "piece").groupBy("piece")


def packed_facts(spark: SparkSession, sources: Sources, job: Job) -> DataFrame:
    """The facts of all sources, packed for the pieces."""
    text = job.text()
    packed = spark.createDataFrame([], payloads.FACTS_SPARK_SCHEMA)
    for source in sources:
        shape = source.shape
        if isinstance(source, Source):
            packing = partial(reports_problems(payloads.pack_partition), shape=shape, job_text=text)
            facts = source.rows.mapInArrow(packing, payloads.FACTS_SPARK_SCHEMA)
        else:
            packing = partial(files.pack_splits, splits=source.splits, shape=shape, job_text=text)
            splits = number_frame(spark, len(source.splits))
            facts = splits.mapInArrow(packing, payloads.FACTS_SPARK_SCHEMA)
        packed = packed.unionAll(facts)
    return packed


def number_frame(spark: SparkSession, count: int, tasks: int | None = None) -> DataFrame:
    """The numbers from 0 to `count` - 1 in order, one for each task unless `tasks` is given."""
    return spark.range(0, count, 1, max(1, min(count, tasks or count)))


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at the same time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:
        # Spark Connect has no Spark context.
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)

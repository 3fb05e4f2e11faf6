"""How Spark brings the facts of sources to the pieces of a run."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, TypeAlias

import pyarrow as pa

from larspark.base.problems import LarsparkError
from larspark.meaning.partition import Key
from larspark.scale import files, pack, step, survey
from larspark.scale.files import FileSource
from larspark.scale.job import Job
from larspark.scale.prepare import Prepared
from larspark.scale.session import local_session
from larspark.scale.shapes import Source
from larspark.scale.sql import DataFrame, SparkSession
from larspark.scale.streaming.telling import ToldError, telling

Sources: TypeAlias = Sequence[Source | FileSource]


def session_of(sources: Sources) -> SparkSession:
    """The session of the DataFrames; for files the one that is running, or a new one."""
    for source in sources:
        if isinstance(source, Source):
            return source.frame.sparkSession
    return SparkSession.getActiveSession() or local_session()


def survey_of(spark: SparkSession, sources: Sources, prepared: Prepared) -> list[list[Any]]:
    """For every source rows about its facts: one for each split of files, in their order."""
    tick, key = prepared.tick, prepared.cuts.key or {}
    read = [source for source in sources if isinstance(source, FileSource)]
    # All files are looked at in one job: a stream can have many predicates.
    splits = [(split, source.shape) for source in read for split in source.splits]
    look = partial(files.survey_splits, splits=splits, tick=tick, key=key)
    looked = _each(spark, len(splits)).mapInArrow(look, survey.SPARK_SCHEMA)
    about = iter(looked.collect() if splits else ())
    return [
        [next(about) for _ in source.splits]
        if isinstance(source, FileSource)
        else _survey_of_rows(source, tick, key)
        for source in sources
    ]


def _survey_of_rows(source: Source, tick: int | None, key: Key) -> list[Any]:
    look = partial(telling(survey.survey_partition), shape=source.shape, tick=tick, key=key)
    return source.rows.mapInArrow(look, survey.SPARK_SCHEMA).collect()


def answers_of(
    spark: SparkSession, sources: Sources, surveyed: Sequence[Sequence[Any]], job: Job
) -> DataFrame:
    """The answers of all pieces."""
    text, grid = job.text(), job.grid
    frames: list[DataFrame] = []
    parts: list[files.Part] = []
    for source, rows in zip(sources, surveyed, strict=True):
        shape = source.shape
        if isinstance(source, Source):
            packing = partial(telling(pack.pack_partition), shape=shape, job_text=text)
            frames.append(source.rows.mapInArrow(packing, pack.SPARK_SCHEMA))
        elif grid.shards > files.READ_BY_EACH:
            packing = partial(files.pack_splits, splits=source.splits, shape=shape, job_text=text)
            each = _each(spark, len(source.splits))
            frames.append(each.mapInArrow(packing, pack.SPARK_SCHEMA))
        else:
            extents = (
                files.Extent(split, row["first"], row["last"])
                for split, row in zip(source.splits, rows, strict=True)
                if row["first"] is not None
            )
            parts.append(files.Part(shape, tuple(extents)))
    if frames:
        return _shuffled(spark, frames, text, grid.pieces)
    answering = partial(files.answer_from_files, parts=parts, job_text=text)
    return _each(spark, grid.pieces).mapInArrow(answering, step.SPARK_SCHEMA)


def _shuffled(
    spark: SparkSession, frames: Sequence[DataFrame], text: str, pieces: int
) -> DataFrame:
    # A piece without facts can have answers all the same, and Spark makes no empty groups.
    empty = spark.range(pieces).selectExpr(
        "int(id) piece", "int(null) place", "string(null) predicate", "binary(null) payload"
    )

    # Spark reads from the types which kind of function this is.
    def answer(packed: pa.Table) -> pa.Table:
        try:
            return step.answer_piece(packed, text)
        except LarsparkError as error:
            raise ToldError(error) from None

    return (
        reduce(DataFrame.unionAll, frames, empty)
        # By number and not by hash, so that every piece is a task of its own.
        .repartitionById(pieces, "piece")
        .groupBy("piece")
        .applyInArrow(answer, step.SPARK_SCHEMA)
    )


def _each(spark: SparkSession, count: int) -> DataFrame:
    """The numbers from 0, each in a task of its own."""
    return spark.range(0, count, 1, max(1, count))

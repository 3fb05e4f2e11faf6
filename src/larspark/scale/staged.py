"""Stages on Spark: each shuffles what the ones before have derived, and works on it by its key."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError
from larspark.scale import files, joined, parcels, step
from larspark.scale.job import Job, load
from larspark.scale.spread import Sources, by_themselves, packed_facts, parallelism, parts_of
from larspark.scale.sql import DataFrame, SparkSession
from larspark.scale.telling import ToldError, telling

_NOTHING = ("int(null) place", "string(null) predicate", "binary(null) payload")


def answers_in_stages(
    spark: SparkSession, sources: Sources, surveyed: Sequence[Sequence[Any]], jobs: Sequence[Job]
) -> DataFrame:
    """The answers of all stages, as maximal intervals."""
    tasks = parallelism(spark)
    sent: DataFrame | None = None
    for job in jobs:
        read = [
            (source, rows)
            for source, rows in zip(sources, surveyed, strict=True)
            if _is_read(source.shape.signature, job)
        ]
        sent = _stage(spark, [s for s, _ in read], [rows for _, rows in read], job, sent, tasks)
    if sent is None:
        raise ValueError("there are no stages")
    answers = sent.selectExpr("target bucket", "(place = 1) complete", "payload")
    if len(jobs[0].grid.starts) > 1 or any(stage.parts for stage in load(jobs[0].text()).stages):
        answers = answers.repartitionById(tasks, "bucket")
    return answers.mapInArrow(telling(joined.join_partition), step.SPARK_SCHEMA)


def _is_read(signature: Signature | None, job: Job) -> bool:
    """Can a stage need facts of a predicate? Rows with atoms as text can hold any."""
    loaded = load(job.text())
    inputs = loaded.stages[job.stage or 0].inputs
    return (
        signature is None or inputs is None or signature in inputs or signature in loaded.everywhere
    )


def _stage(
    spark: SparkSession,
    sources: Sources,
    surveyed: Sequence[Sequence[Any]],
    job: Job,
    before: DataFrame | None,
    tasks: int,
) -> DataFrame:
    """What a stage sends, and what it hands on of earlier ones."""
    pieces, text = job.grid.pieces, job.text()
    read = None
    # A piece without facts can have answers all the same, and Spark makes no empty groups.
    markers = spark.range(pieces).selectExpr(f"{job.stage} stage", "int(id) target", *_NOTHING)
    incoming = [markers]
    if by_themselves(sources, job):
        parts = parts_of(sources, surveyed)
        read = partial(files.facts_of, parts=parts)
    else:
        facts = packed_facts(spark, sources, job)
        incoming.append(
            facts.selectExpr(f"{job.stage} stage", "piece target", "place", "predicate", "payload")
        )
    if before is not None:
        incoming.append(before)
    # Parcels for later stages are carried along, and not all by the same task.
    piece = f"if(stage = {job.stage}, target, {pieces} + pmod(target, {tasks})) piece"
    addressed = reduce(DataFrame.unionAll, incoming).selectExpr("*", piece)
    together = addressed.repartitionById(pieces + tasks, "piece").groupBy("piece")

    # Spark reads from the types which kind of function this is.
    def work(given: pa.Table) -> pa.Table:
        try:
            loaded = load(text)
            reading = None if read is None else partial(read, loaded=loaded)
            return parcels.work(given, loaded, tasks, reading)
        except LarsparkError as error:
            raise ToldError(error) from None

    return together.applyInArrow(work, parcels.SPARK_SCHEMA)

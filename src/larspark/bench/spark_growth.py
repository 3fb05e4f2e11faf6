"""The cost model of batch on Spark, compared with runs on 1, 2 and 4 executor threads.

The model predicts how many facts reach the pieces, how many bytes are shuffled, and how long a run
takes. Spark reports the shuffled bytes, pieces count their facts, and the sums of the answers must
equal those of one local engine.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from larspark.base.problems import LarsparkError, Problem
from larspark.bench.contest import Measurement, Progress
from larspark.bench.spark_batch import (
    COOLING,
    Sums,
    Task,
    cooling_facts,
    local,
    measured,
    on_spark,
    transfer,
    write_task,
)
from larspark.bench.workload import Stopwatch
from larspark.scale.spark_session import SparkSession
from larspark.spark import local_session

_EXECUTORS = (1, 2, 4)
# Bytes of a shuffled fact: its time and two numbers.
_FACT_BYTES = 24
# Without compression, so that shuffled bytes can be predicted.
_SETTINGS = {"spark.shuffle.compress": "false"}


class Way(NamedTuple):
    """A way to partition a run: shards and slices for each executor."""

    name: str
    frame: bool
    shards: int
    slices: int


_WAYS = (
    Way("a DataFrame by key", frame=True, shards=2, slices=0),
    Way("a DataFrame by time", frame=True, shards=0, slices=2),
    Way("files by time", frame=False, shards=0, slices=2),
)


def growth(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """One run for each number of executors and each way, with the predictions of the model."""
    with TemporaryDirectory(prefix="larspark-bench-") as name:
        progress(f"{bench}: writing facts")
        table = cooling_facts(200_000 if quick else 2_000_000)
        task = write_task(Path(name, "facts"), table, COOLING, "temp")
        progress(f"{bench}: one local engine")
        local(task)
        seconds, sums = _timed(lambda: local(task))
        yield measured(bench, task, "interval, one local engine", seconds, seconds, {})
        for executors in _EXECUTORS:
            progress(f"{bench}: starting Spark with {executors}")
            if (running := SparkSession.getActiveSession()) is not None:
                running.stop()
            session = local_session(executors, quiet=True, settings=_SETTINGS)
            for way in _WAYS:
                progress(f"{bench}: {way.name}, {executors} executors")
                yield _with_executors(bench, session, task, way, executors, seconds, sums)
            session.stop()


def _with_executors(
    bench: str,
    session: SparkSession,
    task: Task,
    way: Way,
    executors: int,
    alone: float,
    expected: Sums,
) -> Measurement:
    cuts = {"shards": max(1, executors * way.shards), "slices": max(1, executors * way.slices)}
    # The first run starts the Python workers and checks the answers.
    if on_spark(session, task, frame=way.frame, **cuts) != expected:
        message = f"{bench}: `{way.name}` and one local engine differ"
        raise LarsparkError(Problem("L552", message))
    before = shuffled_bytes(session)
    without, transferred = _timed(lambda: transfer(session, task, frame=way.frame, **cuts))
    written = shuffled_bytes(session) - before
    seconds = min(
        _timed(lambda: on_spark(session, task, frame=way.frame, **cuts))[0] for _ in range(2)
    )
    if transferred is None:
        raise LarsparkError(Problem("L552", f"{bench}: there are no facts"))
    length, lookback = task.time_points, transferred.grid.lookback
    copies = 1 + (cuts["slices"] - 1) * lookback / length
    cores = min(executors, os.cpu_count() or 1)
    more = {
        "executors": executors,
        **cuts,
        "lookback": lookback,
        "facts_transferred": transferred.facts,
        "facts_transferred_model": round(task.facts * copies),
        "shuffled_bytes": written,
        "shuffled_bytes_model": round(task.facts * copies * _FACT_BYTES) if way.frame else 0,
        "seconds_without_reasoning": round(without, 2),
        "seconds_model": round(without + alone * copies / cores, 2),
    }
    return measured(bench, task, f"{way.name}, {executors}", seconds, alone, more)


def shuffled_bytes(session: SparkSession) -> int:
    """The shuffle bytes that all stages so far have written."""
    context: Any = session.sparkContext
    java = context._gateway
    quantiles = java.new_array(java.jvm.double, 0)
    statuses = java.jvm.java.util.ArrayList()
    stages = context._jsc.sc().statusStore().stageList(None, False, False, quantiles, statuses)
    return sum(stages.apply(number).shuffleWriteBytes() for number in range(stages.size()))


def _timed(work: Any) -> tuple[float, Any]:
    watch = Stopwatch()
    with watch.running():
        found = work()
    return watch.seconds, found

"""`larspark.spark`: programs over Spark DataFrames. Needs the extra `spark`."""

from collections.abc import Mapping
from typing import Any

from larspark.api import Program
from larspark.feeds import Stream
from larspark.feeds.live.mqtt_spool import spool
from larspark.scale import batch, replay_on_spark
from larspark.scale.answer_tables import outputs, points
from larspark.scale.dataframe_facts import FactInput
from larspark.scale.problem_transport import collect, problems
from larspark.scale.spark_session import DataFrame, local_session
from larspark.scale.streaming import stream_query as query
from larspark.scale.streaming.growing_file import follow
from larspark.scale.streaming.output import json_lines
from larspark.scale.streaming.stream_progress import progress, start, wait, watch

__all__ = [
    "collect",
    "follow",
    "json_lines",
    "local_session",
    "models",
    "outputs",
    "points",
    "problems",
    "progress",
    "replay",
    "run",
    "spool",
    "start",
    "stream",
    "wait",
    "watch",
]


def run(program: Program | str, facts: FactInput, **options: Any) -> DataFrame:
    """The answers of a program over DataFrames or Parquet files, as maximal intervals.

    The options are those of `larspark.scale.batch.run`: `time`, `map`, `order`, `background`,
    `engine`, `start`, `to`, `hindsight`, `until`, `shards`, `slices`, `on_error`.
    """
    syntax = program.syntax if isinstance(program, Program) else program
    return batch.run(syntax, facts, **options)


def models(program: Program | str, facts: FactInput, **options: Any) -> DataFrame:
    """The outputs of all answer streams at every time point, with a column for the model.

    The options are those of `larspark.scale.batch.models`: `time`, `map`, `order`, `background`,
    `engine`, `start`, `to`, `slices`, `on_error`.
    """
    syntax = program.syntax if isinstance(program, Program) else program
    return batch.models(syntax, facts, **options)


def replay(
    program: Program | str, stream: Stream, **options: Any
) -> replay_on_spark.CollectedAnswers | None:
    """The answers of a program over a stream that this process reads, evaluated on Spark.

    The options are those of `larspark.scale.replay_on_spark.replay`: `background`, `engine`,
    `settings`, `to`, `progress`, `observers`.
    """
    syntax = program.syntax if isinstance(program, Program) else program
    return replay_on_spark.replay(syntax, stream, **options)


def stream(
    program: Program | str, facts: DataFrame | Mapping[str, DataFrame], **options: Any
) -> DataFrame:
    """The answers of a program over streaming DataFrames of facts, as a streaming DataFrame.

    The options are those of `larspark.scale.streaming.stream_query.stream`: `time`, `map`, `order`,
    `watermark`, `keep`, `background`, `engine`, `start`, `until`, `shards`, `form`, `late`,
    `on_error`, `on_program_change`.
    """
    syntax = program.syntax if isinstance(program, Program) else program
    return query.stream(syntax, facts, **options)

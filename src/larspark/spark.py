"""`larspark.spark`: programs over Spark DataFrames. Needs the extra `spark`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from larspark.api import Program
from larspark.feeds import Stream
from larspark.feeds.live.mqtt_spool import spool
from larspark.language import tree
from larspark.scale import answer_tables, batch, replay_on_spark
from larspark.scale.answer_tables import points
from larspark.scale.dataframe_facts import FactInput
from larspark.scale.kafka_connector import kafka_jars
from larspark.scale.problem_transport import collect, problems
from larspark.scale.spark_session import DataFrame, local_session
from larspark.scale.streaming import stream_query as query
from larspark.scale.streaming import table_sink as tables
from larspark.scale.streaming.growing_file import follow
from larspark.scale.streaming.output import json_lines
from larspark.scale.streaming.stream_progress import progress, start, wait, watch
from larspark.scale.streaming.topic_sink import topic_sink

__all__ = [
    "collect",
    "follow",
    "json_lines",
    "kafka_jars",
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
    "table_sink",
    "topic_sink",
    "wait",
    "watch",
]


def run(program: Program | str, facts: FactInput, **options: Any) -> DataFrame:
    """The answers of a program over DataFrames or Parquet files, as maximal intervals.

    The options are those of `larspark.scale.batch.run`: `time`, `map`, `order`, `background`,
    `engine`, `start`, `to`, `hindsight`, `until`, `shards`, `slices`, `on_error`.
    """
    return batch.run(_syntax(program), facts, **options)


def models(program: Program | str, facts: FactInput, **options: Any) -> DataFrame:
    """The outputs of all answer streams at every time point, with a column for the model.

    The options are those of `larspark.scale.batch.models`: `time`, `map`, `order`, `background`,
    `engine`, `start`, `to`, `slices`, `on_error`.
    """
    return batch.models(_syntax(program), facts, **options)


def replay(
    program: Program | str, stream: Stream, **options: Any
) -> replay_on_spark.CollectedAnswers | None:
    """The answers of a program over a stream that this process reads, evaluated on Spark.

    The options are those of `larspark.scale.replay_on_spark.replay`: `background`, `engine`,
    `settings`, `to`, `progress`, `observers`.
    """
    return replay_on_spark.replay(_syntax(program), stream, **options)


def stream(
    program: Program | str, facts: DataFrame | Mapping[str, DataFrame], **options: Any
) -> DataFrame:
    """The answers of a program over streaming DataFrames of facts, as a streaming DataFrame.

    The options are those of `larspark.scale.streaming.stream_query.stream`: `time`, `map`, `order`,
    `watermark`, `keep`, `background`, `engine`, `start`, `until`, `shards`, `form`, `late`,
    `on_error`, `on_program_change`.
    """
    return query.stream(_syntax(program), facts, **options)


def outputs(
    answers: DataFrame, columns: Mapping[str, str], program: Program | str | None = None
) -> dict[str, DataFrame]:
    """For each predicate a DataFrame with typed columns; with the program also with timestamps.

    See `larspark.scale.answer_tables.outputs`.
    """
    return answer_tables.outputs(answers, columns, None if program is None else _syntax(program))


def table_sink(
    place: str | Path, program: Program | str, columns: Mapping[str, str], **options: Any
) -> Callable[[DataFrame, int], None]:
    """A function for `writeStream.foreachBatch` that appends the answers to typed tables.

    The options are those of `larspark.scale.streaming.table_sink.table_sink`: `format`, `app`,
    `storage`.
    """
    return tables.table_sink(place, _syntax(program), columns, **options)


def _syntax(program: Program | str) -> str | tree.Program:
    return program.syntax if isinstance(program, Program) else program

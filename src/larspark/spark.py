"""`larspark.spark`: programs over Spark DataFrames. Needs the extra `spark`."""

from collections.abc import Mapping
from typing import Any

from larspark.api import Program
from larspark.scale import batch
from larspark.scale.batch import outputs
from larspark.scale.failing import collect, problems
from larspark.scale.session import local_session
from larspark.scale.shapes import Given
from larspark.scale.sql import DataFrame
from larspark.scale.streaming import query
from larspark.scale.streaming.failures import wait
from larspark.scale.streaming.progress import watch
from larspark.scale.streaming.sink import json_lines

__all__ = [
    "collect",
    "json_lines",
    "local_session",
    "outputs",
    "problems",
    "run",
    "stream",
    "wait",
    "watch",
]


def run(program: Program | str, facts: Given, **options: Any) -> DataFrame:
    """The answers of a program over DataFrames or Parquet files, as maximal intervals.

    The options are those of `larspark.scale.batch.run`: `time`, `map`, `order`, `background`,
    `engine`, `start`, `to`, `hindsight`, `until`, `shards`, `slices`, `on_error`.
    """
    syntax = program.syntax if isinstance(program, Program) else program
    return batch.run(syntax, facts, **options)


def stream(
    program: Program | str, facts: DataFrame | Mapping[str, DataFrame], **options: Any
) -> DataFrame:
    """The answers of a program over streaming DataFrames of facts, as a streaming DataFrame.

    The options are those of `larspark.scale.streaming.query.stream`: `time`, `map`, `order`,
    `watermark`, `background`, `engine`, `start`, `until`, `shards`, `form`, `late`, `on_error`,
    `on_program_change`.
    """
    syntax = program.syntax if isinstance(program, Program) else program
    return query.stream(syntax, facts, **options)

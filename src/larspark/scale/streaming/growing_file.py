"""A file of lines that grows, as a stream: what is read is known by its place in the file.

Spark's own source takes a file once, as it is when it is seen first. This one takes the whole lines
that were added since, and takes the same ones again after a crash.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from larspark.base.problems import Problem
from larspark.feeds.live.growing import end_of_lines
from larspark.scale.failures import ToldError
from larspark.scale.spark_session import (
    DataFrame,
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SparkSession,
)
from larspark.scale.streaming.json_lines import VALUE

_FORMAT = "larspark-lines"
_PLACE = "bytes"
# A task reads about so many bytes.
_PART = 8 << 20


def follow(spark: SparkSession, path: str | Path) -> DataFrame:
    """The lines of a file as a streaming DataFrame, and those that are added to it.

    The file must only grow. All executors read it, so with several machines it lies where all of
    them see it. While it is not there yet it has no lines.
    """
    spark.dataSource.register(GrowingLines)
    return spark.readStream.format(_FORMAT).load(str(Path(path).absolute()))


class GrowingLines(DataSource):
    """The source as Spark knows it."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return f"{VALUE} string"

    # Spark calls it with this name.
    def streamReader(self, schema: object) -> "GrowingReader":  # noqa: N802
        return GrowingReader(Path(self.options["path"]))


class Part(NamedTuple):
    """Whole lines of a file, from a place up to another."""

    start: int
    end: int


class GrowingReader(DataSourceStreamReader):
    """Reads a file from place to place."""

    def __init__(self, path: Path) -> None:
        self._path = path

    # Spark calls these with their names.
    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {_PLACE: 0}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # noqa: N802
        return {_PLACE: end_of_lines(self._path)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(part) for part in _parts(self._path, start[_PLACE], end[_PLACE])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        lines = read_part(self._path, partition.value)
        if lines:
            yield pa.RecordBatch.from_arrays([pa.array(lines, pa.string())], [VALUE])


def read_part(path: Path, part: Part) -> list[str]:
    """The lines of a part; what is no text is marked, so that it is told and not taken."""
    with path.open("rb") as file:
        file.seek(part.start)
        lines = file.read(part.end - part.start).split(b"\n")
    return [_text(line) for line in lines if line.strip()]


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return "\N{REPLACEMENT CHARACTER}" + line.decode(errors="replace")


def _parts(path: Path, start: int, end: int) -> Iterator[Part]:
    """The lines from a place to another, in parts of a size that a task reads at once."""
    if end < start or (start < end and _size(path) < end):
        message = f"{path} was read up to {max(start, end)} bytes, and has become shorter"
        hint = "a file that is followed must only grow: begin with a new one and a new checkpoint"
        raise ToldError(Problem("L496", message, hint=hint))
    while start < end:
        following = min(end, start + _PART)
        if following < end:
            with path.open("rb") as file:
                file.seek(following)
                file.readline()
                following = min(end, file.tell())
        yield Part(start, following)
        start = following


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0

"""A Spark source for a growing file of lines; its offset is the position in the file.

Spark's own file source reads a file once, as it first finds it. This source reads the complete
lines that were appended since, and the same lines again after a crash.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from larspark.base.problems import Problem
from larspark.feeds.live.growing import end_of_lines
from larspark.scale.problem_transport import ReportedError
from larspark.scale.spark_session import (
    DataFrame,
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SparkSession,
)
from larspark.scale.streaming.intake import VALUE
from larspark.scale.travel import prepare_executors

_FORMAT = "larspark-lines"
_PLACE = "bytes"
# Bytes that a task reads, approximately.
_PART = 8 << 20


def follow(spark: SparkSession, path: str | Path) -> DataFrame:
    """The lines of a file, and those that are appended to it, as a streaming DataFrame.

    The file must only grow. Executors read it, so on several machines it has to be on a shared file
    system. A file that does not exist yet has no lines.
    """
    prepare_executors(spark)
    spark.dataSource.register(GrowingLines)
    return spark.readStream.format(_FORMAT).load(str(Path(path).absolute()))


class GrowingLines(DataSource):
    """The source as registered with Spark."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return f"{VALUE} string"

    # The name is given by Spark.
    def streamReader(self, schema: object) -> "GrowingReader":  # noqa: N802
        return GrowingReader(Path(self.options["path"]))


class Part(NamedTuple):
    """Complete lines of a file, from one position to another."""

    start: int
    end: int


class GrowingReader(DataSourceStreamReader):
    """Reads a file from offset to offset."""

    def __init__(self, path: Path) -> None:
        self._path = path

    # The names are given by Spark.
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
    """The lines of a part; a line that is not UTF-8 is marked and later reported as invalid."""
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
    """Divide the lines between two positions into parts for tasks."""
    if end < start or (start < end and _size(path) < end):
        message = f"{path} was read up to byte {max(start, end)}, but is now shorter"
        hint = "a followed file must only grow: use a new file and a new checkpoint"
        raise ReportedError(Problem("L496", message, hint=hint))
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

"""Streams from files to files on Spark."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from larspark.scale.streaming.stream_progress import start, wait

Rows = Sequence[dict[str, Any]]


def put_files(folder: Path, batches: Sequence[Rows], first: int = 0) -> None:
    """One file for each batch; Spark reads files by the time of their last change."""
    folder.mkdir(exist_ok=True, parents=True)
    for number, rows in enumerate(batches, first):
        unfinished = folder.parent / f"unfinished-{number}"
        unfinished.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        os.utime(unfinished, (1_000_000 + number, 1_000_000 + number))
        unfinished.rename(folder / f"{number:04}.json")


def read_files(spark: Any, folder: Path, schema: str = "t long, atom string, n long") -> Any:
    """A stream of files, one in each micro-batch."""
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def run_to_end(answers: Any, folder: Path) -> Any:
    """Write all answers that there are now; the query, which has ended."""
    writing = answers.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query = start(writing.trigger(availableNow=True), str(folder / "answers"))
    wait(query)
    return query


def written(spark: Any, folder: Path) -> list[tuple[Any, ...]]:
    rows = spark.read.parquet(str(folder / "answers")).collect()
    return sorted(map(tuple, rows))


def observed(query: Any, name: str) -> int:
    """A number that the progress of a query shows, over all its micro-batches."""
    seen = [progress["observedMetrics"].get("larspark") for progress in query.recentProgress]
    return sum(row[name] or 0 for row in seen if row is not None)

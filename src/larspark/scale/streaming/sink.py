"""Answers of a stream as files of JSON Lines, each micro-batch a file, each file written once.

A micro-batch that Spark runs again after a crash writes the same file again: nothing is lost and
nothing doubled. The files lie on the machine that drives the query.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from larspark.feeds import change_line, interval_line, point_line
from larspark.scale.sql import DataFrame


def json_lines(
    folder: str | Path, late: str | Path | None = None
) -> Callable[[DataFrame, int], None]:
    """What `writeStream.foreachBatch` takes, to write answers as `larspark run` prints them.

    Facts that came too late are written into the folder `late` as lines of a stream, when the
    stream gives them (`late="output"`) and the folder is named.
    """
    return partial(_write_batch, folder=Path(folder), late=None if late is None else Path(late))


def _write_batch(answers: DataFrame, batch: int, folder: Path, late: Path | None) -> None:
    # One action: each would run the engines again.
    rows = answers.toArrow().to_pylist()
    _write(folder, batch, _answer_lines(row for row in rows if not row.get("late")))
    if late is not None:
        _write(late, batch, _late_lines(row for row in rows if row.get("late")))


def _answer_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Lines of intervals by start, or of changes by time.

    >>> rows = [{"t": 3, "change": "add", "atom": "q"}, {"t": 3, "change": "del", "atom": "p"}]
    >>> list(_answer_lines(rows))
    ['{"t": 3, "add": ["q"], "del": ["p"]}']
    >>> list(_answer_lines([{"atom": "p", "from": 1, "to": 2}]))
    ['{"atom": "p", "from": 1, "to": 2}']
    """
    changes: defaultdict[int, dict[str, list[str]]] = defaultdict(lambda: {"add": [], "del": []})
    intervals: list[tuple[int, str, int]] = []
    for row in rows:
        # As `larspark run` does, nothing is said where there is no answer stream.
        if row["atom"] is None:
            continue
        if "change" in row:
            changes[row["t"]][row["change"]].append(row["atom"])
        else:
            intervals.append((row["from"], row["atom"], row["to"]))
    for t in sorted(changes):
        yield change_line(t, changes[t]["add"], changes[t]["del"])
    for start, atom, end in sorted(intervals):
        yield interval_line(atom, start, end)


def _late_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    for t, atom in sorted((row["t" if "t" in row else "from"], row["atom"]) for row in rows):
        yield point_line(t, [atom])


def _write(folder: Path, batch: int, lines: Iterable[str]) -> None:
    """The file of a micro-batch, there as a whole or not at all; none when it gave nothing."""
    text = "".join(f"{line}\n" for line in lines)
    if not text:
        return
    folder.mkdir(parents=True, exist_ok=True)
    # Not `.jsonl`, so that nobody reads it before it is whole.
    unfinished = folder / f"{batch:09}.unfinished"
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / f"{batch:09}.jsonl")

"""Rows that hold lines of our JSON Lines: text files, sockets, the values of a message broker."""

from collections.abc import Iterable
from dataclasses import replace
from io import BytesIO

import pyarrow as pa

from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import Problem
from larspark.feeds.formats.jsonl import stream_blocks
from larspark.feeds.reading import PROBLEMS_KEPT
from larspark.scale.table_facts import Found

# The column that Spark's sources of text have.
VALUE = "value"


def find_line_facts(table: pa.Table, tick: int | None) -> tuple[Found, list[int]]:
    """The facts of lines, and the time points of lines that only move time.

    >>> lines = ['{"t": 36, "atom": "tram(a1,b)"}', '{"t": 50}', "no line", None]
    >>> found, moved_to = find_line_facts(pa.table({"value": lines}), None)
    >>> [segment.table["t"].to_pylist() for segment in found.segments], moved_to
    ([[36]], [50])
    >>> found.skipped, found.problems[0].message
    (1, "not JSON: invalid literal, expected 'null'")
    """
    rows: list[Row] = []
    moved_to: list[int] = []
    problems: list[Problem] = []
    for arrival in _arrivals(table[VALUE].to_pylist(), tick):
        if isinstance(arrival, Problem):
            problems.append(arrival)
            continue
        t, atoms, _ = arrival
        if not atoms:
            moved_to.append(t)
        rows += [Row(t, atom, len(rows) + number) for number, atom in enumerate(atoms)]
    # The number of a line within a micro-batch means nothing to whoever reads the problem.
    told = [replace(problem, span=None, line_text="") for problem in problems[:PROBLEMS_KEPT]]
    found = Found(list(RowBatch(rows).segments()), len(problems), tuple(dict.fromkeys(told)))
    return found, moved_to


def _arrivals(
    lines: Iterable[str | None], tick: int | None
) -> Iterable[tuple[int, tuple[Atom, ...], int] | Problem]:
    text = "\n".join(line.replace("\n", " ") for line in lines if line is not None)
    for block in stream_blocks(BytesIO(text.encode()), "the stream", tick):
        yield from block

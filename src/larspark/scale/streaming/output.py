"""Output rows of a stream, final once emitted, and their JSON Lines files.

As intervals, an atom is emitted when it ceases to hold, with its whole interval. As changes, it is
emitted when it starts and when it ceases to hold.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import atom_text
from larspark.base.facts import ColumnBatch
from larspark.feeds import change_line, interval_line, point_line
from larspark.scale.piece_step import SCHEMA, Facts, in_arrival_order
from larspark.scale.problem_transport import reports_problems
from larspark.scale.spark_session import DataFrame
from larspark.scale.streaming.shard_state import HOLDING
from larspark.scale.streaming.stream_job import Form, Late

_ADD, _DEL = "add", "del"
_COLUMNS: dict[Form, dict[str, pa.DataType]] = {
    "intervals": dict(zip(SCHEMA.names, SCHEMA.types, strict=True)),
    "changes": {"t": pa.int64(), "change": pa.string(), "atom": pa.string()},
}
_SPARK_TYPES = {pa.int64(): "long", pa.string(): "string", pa.bool_(): "boolean"}


class AnswerSpan(NamedTuple):
    """Maximal intervals within [first, last], and the last time point answered before."""

    table: pa.Table
    first: int
    last: int
    before: int | None


def schema(form: Form, late: Late) -> pa.Schema:
    """The columns of the output; with late facts there is a column that marks them."""
    marked = {"late": pa.bool_()} if late == "output" else {}
    return pa.schema([*_COLUMNS[form].items(), *marked.items()])


def spark_schema(form: Form, late: Late) -> str:
    return ", ".join(f"`{f.name}` {_SPARK_TYPES[f.type]}" for f in schema(form, late))


def answer_rows(
    answered: AnswerSpan, holding: pa.Table, form: Form, late: Late
) -> tuple[pa.Table, pa.Table]:
    """The output rows of answers, and the atoms that hold at their end, with their starts.

    >>> table = pa.table({"atom": ["p", "q"], "from": [3, 4], "to": [5, 4]}, schema=SCHEMA)
    >>> holding = pa.table({"atom": ["p", "r"], "from": [1, 2]}, schema=HOLDING)
    >>> rows, still = answer_rows(AnswerSpan(table, 3, 5, before=2), holding, "intervals", "count")
    >>> [tuple(row.values()) for row in rows.to_pylist()], still.to_pylist()
    ([('r', 2, 2), ('q', 4, 4)], [{'atom': 'p', 'from': 1}])
    """
    table, first, last, before = answered
    since: dict[str, int] = dict(zip(*(c.to_pylist() for c in holding.columns), strict=True))
    # A timeline that restarts after a gap continues no interval.
    if before == first - 1:
        table = _continued(table, first, since)
    at_end = pc.equal(table["to"], last)
    still = table.filter(at_end).select(["atom", "from"]).cast(HOLDING)
    ended = pa.concat_tables([_ended(since, before), table.filter(pc.invert(at_end))])
    if form == "changes":
        begun = table.filter(pc.greater_equal(table["from"], first))
        return _marked(_changes(begun, ended), late, False), still
    return _marked(ended, late, False), still


def late_rows(facts: Sequence[Facts], form: Form) -> pa.Table:
    """Late facts as output rows: their times and atoms."""
    segments = in_arrival_order(facts, counts_tuples=True)
    rows = list(ColumnBatch(segments).rows())
    atoms = pa.array([atom_text(row.atom) for row in rows], pa.string())
    times = pa.array([row.t for row in rows], pa.int64())
    if form == "intervals":
        columns = [atoms, times, times]
    else:
        columns = [times, pa.nulls(len(rows), pa.string()), atoms]
    return _marked(pa.table(columns, names=list(_COLUMNS[form])), "output", True)


@reports_problems
def unpack(batches: Iterable[pa.RecordBatch], form: Form, late: Late) -> Iterator[pa.RecordBatch]:
    """Unpack the output rows of shards."""
    for batch in batches:
        for payload in batch.column("payload").to_pylist():
            table = pa.ipc.open_stream(payload).read_all()
            yield from table.cast(schema(form, late)).to_batches()


def _continued(table: pa.Table, first: int, since: dict[str, int]) -> pa.Table:
    """Extend intervals that continue earlier ones to their start; remove them from `since`."""
    rows = pc.indices_nonzero(pc.equal(table["from"], first))
    starts = table["from"].to_numpy().copy()
    for row, atom in zip(rows.to_pylist(), table["atom"].take(rows).to_pylist(), strict=True):
        starts[row] = since.pop(atom, first)
    return table.set_column(1, "from", pa.array(starts))


def _ended(since: dict[str, int], before: int | None) -> pa.Table:
    """The intervals that ended with the last time point answered before."""
    atoms, starts = list(since), list(since.values())
    columns = [atoms, starts, [before] * len(atoms)]
    return pa.table(columns, schema=SCHEMA)


def _changes(new: pa.Table, gone: pa.Table) -> pa.Table:
    parts = [
        [new["from"], pa.array([_ADD] * new.num_rows, pa.string()), new["atom"]],
        [pc.add(gone["to"], 1), pa.array([_DEL] * gone.num_rows, pa.string()), gone["atom"]],
    ]
    tables = [pa.table(columns, names=list(_COLUMNS["changes"])) for columns in parts]
    return pa.concat_tables(tables).sort_by([("t", "ascending"), ("change", "descending")])


def _marked(rows: pa.Table, late: Late, mark: bool) -> pa.Table:
    if late == "count":
        return rows
    return rows.append_column("late", pa.array([mark] * rows.num_rows, pa.bool_()))


def json_lines(
    folder: str | Path, late: str | Path | None = None
) -> Callable[[DataFrame, int], None]:
    """A function for `writeStream.foreachBatch` that writes answers as `larspark run` prints them.

    Late facts are written to the folder `late` as lines of a stream, if the stream outputs them
    (`late="output"`) and the folder is given.
    """
    return partial(_write_batch, folder=Path(folder), late=None if late is None else Path(late))


def _write_batch(answers: DataFrame, batch: int, folder: Path, late: Path | None) -> None:
    # One action only: each action would evaluate the micro-batch again.
    rows = answers.toArrow().to_pylist()
    _write(folder, batch, answer_lines(row for row in rows if not row.get("late")))
    if late is not None:
        _write(late, batch, _late_lines(row for row in rows if row.get("late")))


def answer_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Lines of intervals by start, or of changes by time.

    >>> rows = [{"t": 3, "change": "add", "atom": "q"}, {"t": 3, "change": "del", "atom": "p"}]
    >>> list(answer_lines(rows))
    ['{"t": 3, "add": ["q"], "del": ["p"]}']
    >>> list(answer_lines([{"atom": "p", "from": 1, "to": 2}]))
    ['{"atom": "p", "from": 1, "to": 2}']
    """
    changes: defaultdict[int, dict[str, list[str]]] = defaultdict(lambda: {"add": [], "del": []})
    intervals: list[tuple[int, str, int]] = []
    for row in rows:
        # Like `larspark run`, write no line where there is no answer stream.
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
    """Write the file of a micro-batch atomically; none when there are no lines."""
    text = "".join(f"{line}\n" for line in lines)
    if not text:
        return
    folder.mkdir(parents=True, exist_ok=True)
    # Another suffix than `.jsonl`, so that readers ignore the unfinished file.
    unfinished = folder / f"{batch:09}.unfinished"
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / f"{batch:09}.jsonl")

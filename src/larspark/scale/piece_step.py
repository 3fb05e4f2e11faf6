"""Evaluation of one piece: its facts in, its answers out, Arrow to Arrow, without Spark.

Facts are ordered by time, then by the order column if there is one, then by their source, then by
their text: the order does not depend on how the data was partitioned.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Signature, atom_text
from larspark.base.facts import ColumnBatch, Segment
from larspark.run.protocol import Answers
from larspark.run.registry import ENGINES
from larspark.run.session import Session
from larspark.scale.job import Loaded
from larspark.scale.table_facts import ORDER

SCHEMA = pa.schema([("atom", pa.string()), ("from", pa.int64()), ("to", pa.int64())])
SPARK_SCHEMA = "atom string, `from` long, `to` long"
MODEL_SCHEMA = pa.schema([("t", pa.int64()), ("model", pa.int64()), ("atom", pa.string())])
SPARK_MODEL_SCHEMA = "t long, model long, atom string"


def answer_piece(packed: pa.Table, loaded: Loaded) -> pa.Table:
    """The answers of one piece from its packed facts."""
    # Every piece has a row without a payload, so that it is evaluated even without facts.
    rows = (row for row in packed.to_pylist() if row["payload"] is not None)
    facts = unpacked((row["place"], row["predicate"], row["payload"]) for row in rows)
    return answer(packed["piece"][0].as_py(), facts, loaded)


def answer(piece: int, facts: Sequence["Facts"], loaded: Loaded) -> pa.Table:
    """The answers of one piece, as maximal intervals within its slice."""
    job = loaded.job
    first, last = job.grid.slice(piece)
    session = loaded.session(job.grid.timeline_start(piece))
    segments = in_arrival_order(facts, job.counts_tuples)
    session.append(ColumnBatch(segments, job.end if job.hindsight else last))
    if session.start is not None and session.start < first:
        # The overlap with the slice before: its facts are needed, its answers are not.
        session.advance(first - 1)
    if job.every_model:
        return _models(session, first, last)
    answers = shard_answers(session.advance(last), job.grid.shard(piece), loaded)
    return with_notes(answers, session.notes, job.grid.last)


def with_notes(answers: pa.Table, notes: Sequence[str], last: int) -> pa.Table:
    """Answers up to a time point, and notes for the user as rows with an empty interval.

    >>> answers = SCHEMA.empty_table()
    >>> with_notes(answers, ["one of several"], 9).to_pylist()
    [{'atom': 'one of several', 'from': 11, 'to': 10}]
    """
    if not notes:
        return answers
    # Beyond the last time point they touch no slice boundary.
    columns = [list(notes), [last + 2] * len(notes), [last + 1] * len(notes)]
    return pa.concat_tables([answers, pa.table(columns, schema=SCHEMA)])


def shard_answers(answers: Answers, shard: int, loaded: Loaded) -> pa.Table:
    """The answers of a shard as maximal intervals.

    A row without an atom marks time points without an answer stream.
    """
    table = _owned(answers, shard, loaded)
    if not ENGINES[loaded.job.engine].several_models or shard > 0:
        return table
    return pa.concat_tables([table, _inconsistent(answers)])


def _models(session: Session, first: int, last: int) -> pa.Table:
    """The distinct outputs of all answer streams at every time point.

    They are numbered in the order of their sorted texts, so that numbers do not depend on the
    slices. An output without atoms has one row without an atom.
    """
    rows: list[tuple[int, int, str | None]] = []
    for t in range(first, last + 1):
        found = {
            tuple(sorted(map(atom_text, model.stream.get(t, ())))) for model in session.models(t)
        }
        for number, texts in enumerate(sorted(found), 1):
            rows += [(t, number, text) for text in texts or (None,)]
        session.advance(t)
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, MODEL_SCHEMA, strict=True)], MODEL_SCHEMA
    )


def _inconsistent(answers: Answers) -> pa.Table:
    """The time points without an answer stream, as intervals without an atom."""
    times = [point.t for point in answers.points() if point.atoms is None]
    spans: list[list[int]] = []
    for t in times:
        if spans and spans[-1][1] == t - 1:
            spans[-1][1] = t
        else:
            spans.append([t, t])
    columns = [[None] * len(spans), [s[0] for s in spans], [s[1] for s in spans]]
    return pa.table(columns, schema=SCHEMA)


class Facts(NamedTuple):
    """Facts of one predicate with the same argument types; `place` is that of their shape."""

    place: int
    predicate: str
    table: pa.Table


def unpacked(packed: Iterable[tuple[int, str, bytes]]) -> list[Facts]:
    """The facts of payloads, given as (place, predicate, payload)."""
    tables = ((p, name, pa.ipc.open_stream(payload).read_all()) for p, name, payload in packed)
    return merged(Facts(*each) for each in tables)


def merged(facts: Iterable[Facts]) -> list[Facts]:
    """One table for all facts of the same place, predicate and types.

    Tables are concatenated in the order of their first time point, which avoids sorting later.
    """
    groups: dict[tuple[int, str, tuple[str, ...]], list[pa.Table]] = {}
    for place, predicate, table in facts:
        kinds = tuple(map(str, table.schema.types))
        groups.setdefault((place, predicate, kinds), []).append(table)
    return [
        Facts(place, predicate, pa.concat_tables(sorted(tables, key=_begin)).combine_chunks())
        for (place, predicate, _), tables in sorted(groups.items(), key=lambda item: item[0])
    ]


def _begin(table: pa.Table) -> int:
    return table["t"][0].as_py() if table.num_rows else 0


def in_arrival_order(facts: Sequence[Facts], counts_tuples: bool) -> list[Segment]:
    """The facts as segments, numbered in arrival order."""
    segments = []
    for (_, predicate, table), seq in zip(facts, _arrivals(facts, counts_tuples), strict=True):
        arguments = [name for name in table.column_names if name not in ("t", ORDER)]
        columns = [table["t"], pa.array(seq), *(table[name] for name in arguments)]
        ordered = pa.table(columns, names=["t", "seq", *arguments])
        if not _ascending(seq):
            ordered = ordered.take(pa.array(np.argsort(seq)))
        segments.append(Segment(Signature(predicate, len(arguments)), ordered))
    return segments


def _ascending(numbers: npt.NDArray[np.int64]) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())


def _arrivals(facts: Sequence[Facts], counts_tuples: bool) -> list[npt.NDArray[np.int64]]:
    """The arrival number of each fact of each table."""
    if not facts:
        return []
    tables = [table for _, _, table in facts]
    if len(tables) == 1 and not counts_tuples and _ascending(tables[0]["t"].to_numpy()):
        return [np.arange(tables[0].num_rows)]
    keys = {"t": pa.concat_arrays([_flat(table["t"]) for table in tables])}
    if counts_tuples:
        # Within a time point the order matters to tuple windows only.
        if ORDER in tables[0].column_names:
            keys[ORDER] = pa.concat_arrays([_flat(table[ORDER]) for table in tables])
        keys["place"] = pa.array(np.repeat([f[0] for f in facts], [t.num_rows for t in tables]))
        keys["text"] = pa.array([text for _, name, table in facts for text in _texts(name, table)])
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order.to_numpy()] = np.arange(len(order))
    return np.split(numbers, np.cumsum([table.num_rows for table in tables])[:-1])


def _texts(predicate: str, table: pa.Table) -> list[str]:
    names = [name for name in table.column_names if name not in ("t", ORDER)]
    rows = ColumnBatch([_numbered(predicate, names, table)]).rows()
    return [atom_text(row.atom) for row in rows]


def _numbered(predicate: str, names: list[str], table: pa.Table) -> Segment:
    columns = [table["t"], pa.array(np.arange(table.num_rows)), *(table[name] for name in names)]
    return Segment(Signature(predicate, len(names)), pa.table(columns, names=["t", "seq", *names]))


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _owned(answers: Answers, shard: int, loaded: Loaded) -> pa.Table:
    """The answers that this shard owns.

    Atoms that follow without facts of the stream are derived by every shard and emitted by one.
    """
    if loaded.job.grid.shards == 1 or not loaded.must_filter_answers:
        return answers.table().cast(SCHEMA)
    rows = [row for row in answers.intervals() if loaded.owner(row[0]) == shard]
    return pa.table(
        [[atom_text(atom) for atom, _, _ in rows], [r[1] for r in rows], [r[2] for r in rows]],
        schema=SCHEMA,
    )

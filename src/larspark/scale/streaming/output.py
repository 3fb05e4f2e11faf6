"""Answers as rows of output, which are final once they are given.

As intervals, an atom is given when it ceases to hold, with all the time that it held. As changes,
it is given when it begins and when it ceases to hold.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import atom_text
from larspark.base.facts import ColumnBatch
from larspark.scale.step import SCHEMA, Facts, in_arrival_order
from larspark.scale.streaming.live import Form, Late
from larspark.scale.streaming.state import OPEN
from larspark.scale.telling import telling

_ADD, _DEL = "add", "del"
_COLUMNS: dict[Form, dict[str, pa.DataType]] = {
    "intervals": dict(zip(SCHEMA.names, SCHEMA.types, strict=True)),
    "changes": {"t": pa.int64(), "change": pa.string(), "atom": pa.string()},
}
_SPARK_TYPES = {pa.int64(): "long", pa.string(): "string", pa.bool_(): "boolean"}


class Answered(NamedTuple):
    """Maximal intervals within [first, last], and up to when it was answered before."""

    table: pa.Table
    first: int
    last: int
    before: int | None


def schema(form: Form, late: Late) -> pa.Schema:
    """The columns of the output; late facts among it are marked."""
    marked = {"late": pa.bool_()} if late == "output" else {}
    return pa.schema([*_COLUMNS[form].items(), *marked.items()])


def spark_schema(form: Form, late: Late) -> str:
    return ", ".join(f"`{f.name}` {_SPARK_TYPES[f.type]}" for f in schema(form, late))


def answer_rows(
    answered: Answered, holding: pa.Table, form: Form, late: Late
) -> tuple[pa.Table, pa.Table]:
    """The rows that answers give, and what holds at the end of them, with its beginning.

    >>> table = pa.table({"atom": ["p", "q"], "from": [3, 4], "to": [5, 4]}, schema=SCHEMA)
    >>> holding = pa.table({"atom": ["p", "r"], "from": [1, 2]}, schema=OPEN)
    >>> rows, still = answer_rows(Answered(table, 3, 5, before=2), holding, "intervals", "count")
    >>> [tuple(row.values()) for row in rows.to_pylist()], still.to_pylist()
    ([('r', 2, 2), ('q', 4, 4)], [{'atom': 'p', 'from': 1}])
    """
    table, first, last, before = answered
    since: dict[str, int] = dict(zip(*(c.to_pylist() for c in holding.columns), strict=True))
    # A timeline that begins anew after a gap continues nothing.
    if before == first - 1:
        table = _continued(table, first, since)
    at_end = pc.equal(table["to"], last)
    still = table.filter(at_end).select(["atom", "from"]).cast(OPEN)
    ended = pa.concat_tables([_ended(since, before), table.filter(pc.invert(at_end))])
    if form == "changes":
        begun = table.filter(pc.greater_equal(table["from"], first))
        return _marked(_changes(begun, ended), late, False), still
    return _marked(ended, late, False), still


def late_rows(facts: Sequence[Facts], form: Form) -> pa.Table:
    """Late facts as rows: when they happened, and what they were."""
    segments = in_arrival_order(facts, counts_tuples=True)
    rows = list(ColumnBatch(segments).rows())
    atoms = pa.array([atom_text(row.atom) for row in rows], pa.string())
    times = pa.array([row.t for row in rows], pa.int64())
    if form == "intervals":
        columns = [atoms, times, times]
    else:
        columns = [times, pa.nulls(len(rows), pa.string()), atoms]
    return _marked(pa.table(columns, names=list(_COLUMNS[form])), "output", True)


@telling
def unpack(batches: Iterable[pa.RecordBatch], form: Form, late: Late) -> Iterator[pa.RecordBatch]:
    """The rows that shards packed, as rows of the output."""
    for batch in batches:
        for payload in batch.column("rows").to_pylist():
            table = pa.ipc.open_stream(payload).read_all()
            yield from table.cast(schema(form, late)).to_batches()


def _continued(table: pa.Table, first: int, since: dict[str, int]) -> pa.Table:
    """Intervals that go on from before, with their beginning; those are taken out of `since`."""
    rows = pc.indices_nonzero(pc.equal(table["from"], first))
    starts = table["from"].to_numpy().copy()
    for row, atom in zip(rows.to_pylist(), table["atom"].take(rows).to_pylist(), strict=True):
        starts[row] = since.pop(atom, first)
    return table.set_column(1, "from", pa.array(starts))


def _ended(since: dict[str, int], before: int | None) -> pa.Table:
    """What held up to the last answers and does not go on."""
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

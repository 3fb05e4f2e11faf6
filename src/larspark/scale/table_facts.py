"""Rows of a table as facts: what a DataFrame says, brought into the segments that engines read.

The law is that of the feeds (`feeds.mapping`, `feeds.columns`); here it is applied to one piece of
a table at a time, wherever that piece happens to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Atom, Signature
from larspark.base.facts import Row, RowBatch, Segment
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import INTEGER_MAX
from larspark.feeds import parse_ground_atom
from larspark.feeds.formats.columns import column_batches
from larspark.feeds.formats.tables import memory_table
from larspark.feeds.mapping import ColumnName, Mapping
from larspark.feeds.reading import PROBLEMS_KEPT, Options, Reading

# The name of the column of a segment that says in which order facts of one time point arrived.
ORDER = "order"

# The predicate of a mapping whose only argument is the text of an atom; no mapping can spell it.
_ATOM_TEXT = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """How one DataFrame gives facts.

    `place` numbers the shapes of a run: facts that nothing else orders arrive in this order.
    """

    place: int
    mapping: Mapping
    order: str | None = None

    @property
    def signature(self) -> Signature | None:
        """The predicate of all its facts; None when rows hold atoms as text."""
        if self.mapping.predicate == _ATOM_TEXT:
            return None
        return Signature(self.mapping.predicate, len(self.mapping.args))

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        order = [] if self.order is None else [self.order]
        return list(dict.fromkeys([*self.mapping.columns, *order]))


def atom_shape(place: int, time: str, atom: str, order: str | None) -> Shape:
    """The shape of rows that hold an atom as text in one column."""
    return Shape(place, Mapping(time, _ATOM_TEXT, (ColumnName(atom),)), order)


@dataclass(frozen=True, slots=True)
class Found:
    """The facts of a piece of a table, each segment sorted by time, and what was left out.

    With an order, segments have one more column, `order`. `seq` says nothing across pieces.
    """

    segments: list[Segment]
    skipped: int
    problems: tuple[Problem, ...]


def find_facts(table: pa.Table, shape: Shape, tick: int | None) -> Found:
    """The facts of a table. A row that is no fact is left out, and the reasons are told.

    Columns that are missing or have a type that can be no constant are an error.

    >>> table = pa.table({"ts": [7, 3], "s": ["a", "b"], "v": [20.5, None]})
    >>> shape = Shape(0, Mapping("ts", "temp", (ColumnName("s"), ColumnName("v"))))
    >>> found = find_facts(table, shape, None)
    >>> found.segments[0].table.to_pylist(), found.skipped, found.problems[0].message
    ([{'t': 7, 'seq': 0, '0': 'a', '1': 20.5}], 1, 'column `v`: there is no value')
    """
    mapping = shape.mapping
    if shape.order is not None:
        # The feeds carry it along as a first argument.
        mapping = replace(mapping, args=(ColumnName(shape.order), *mapping.args))
    # Rows come in any order. Unless they are in order already, they are sorted at the end.
    lateness = 0 if _in_order(table, mapping.time) else INTEGER_MAX
    options = Options(tick, "skip", lateness)
    reading = Reading()
    source = memory_table(table, "the DataFrame", max(1, table.num_rows))
    batches = column_batches(source, (mapping,), options, reading)
    segments = [segment for batch in batches for segment in batch.segments()]
    if shape.order is not None:
        segments = [_with_order(segment) for segment in segments]
    skipped, problems = reading.skipped, list(reading.problems)
    if shape.signature is None:
        segments, refused = _parsed(segments)
        skipped += len(refused)
        problems += refused
    # A row's number within a piece means nothing to whoever reads the problem.
    unplaced = [replace(problem, span=None, line_text="") for problem in problems[:PROBLEMS_KEPT]]
    return Found(segments, skipped, tuple(dict.fromkeys(unplaced)))


def order_type(schema: Any, name: str) -> Any:
    """The Arrow type that an order column has in segments; None when it cannot order facts."""
    kind = schema.field(name).type
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    # Moments are written with as many digits each, so that their texts are ordered as they are.
    return pa.string() if text or pa.types.is_timestamp(kind) or pa.types.is_date(kind) else None


def _in_order(table: pa.Table, time: str) -> bool:
    """Are the times of a table known to ascend? Only numbers and timestamps are looked at."""
    if time not in table.column_names:
        return False
    column = table[time]
    kind = column.type
    if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_timestamp(kind)):
        return False
    times = column.to_numpy()
    return bool((times[1:] >= times[:-1]).all())


def _with_order(segment: Segment) -> Segment:
    """The first argument taken out of the atoms and made the order."""
    (predicate, arity), table = segment
    arguments = table.columns[3:]
    names = ["t", "seq", *map(str, range(arity - 1)), ORDER]
    columns = [*table.columns[:2], *arguments, table.column(2)]
    return Segment(Signature(predicate, arity - 1), pa.table(columns, names=names))


def _parsed(segments: Sequence[Segment]) -> tuple[list[Segment], list[Problem]]:
    """Segments whose only argument is the text of an atom, read."""
    parsed: list[Segment] = []
    problems: list[Problem] = []
    for _, table in segments:
        encoded = pc.dictionary_encode(pc.cast(table["0"], pa.string())).combine_chunks()
        atoms = [_atom_or_problem(text) for text in encoded.dictionary.to_pylist()]
        rows: list[Row] = []
        codes = encoded.indices.to_pylist()
        for row, (t, code) in enumerate(zip(table["t"].to_pylist(), codes, strict=True)):
            atom = atoms[code]
            if isinstance(atom, Problem):
                problems.append(atom)
            else:
                rows.append(Row(t, atom, row))
        for signature, part in RowBatch(rows).segments():
            if ORDER in table.column_names:
                part = part.append_column(ORDER, table[ORDER].take(part["seq"]))
            parsed.append(Segment(signature, part))
    return parsed, problems


def _atom_or_problem(text: str) -> Atom | Problem:
    try:
        return parse_ground_atom(text)
    except LarsparkError as error:
        return error.problems[0]

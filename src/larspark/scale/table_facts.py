"""Rows of a table as facts: converts Arrow tables to the segments that engines read.

The conversion is that of the feeds (`feeds.mapping`, `feeds.formats.columns`), applied to one part
of a table at a time, on any executor.
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

# The column of a segment that orders the facts of one time point.
ORDER = "order"

# The predicate of a mapping whose only argument is the text of an atom; not a valid predicate.
_ATOM_TEXT = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the rows of one source become facts.

    `place` is the position of the shape in the run: ties in the arrival order are broken by it.
    """

    place: int
    mapping: Mapping
    order: str | None = None

    @property
    def signature(self) -> Signature | None:
        """The predicate of the facts; None when rows hold atoms as text."""
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
    """The facts of a part of a table, each segment sorted by time, and the skipped rows.

    With an order column, segments have an additional column `order`. `seq` is only meaningful
    within the part.
    """

    segments: list[Segment]
    skipped: int
    problems: tuple[Problem, ...]


def find_facts(table: pa.Table, shape: Shape, tick: int | None) -> Found:
    """The facts of a table; rows that are not facts are skipped, and the reasons are returned.

    Missing columns, and columns of a type that is not a constant, are an error.

    >>> table = pa.table({"ts": [7, 3], "s": ["a", "b"], "v": [20.5, None]})
    >>> shape = Shape(0, Mapping("ts", "temp", (ColumnName("s"), ColumnName("v"))))
    >>> found = find_facts(table, shape, None)
    >>> found.segments[0].table.to_pylist(), found.skipped, found.problems[0].message
    ([{'t': 7, 'seq': 0, '0': 'a', '1': 20.5}], 1, 'column `v`: there is no value')
    """
    mapping = shape.mapping
    if shape.order is not None:
        # The feeds treat it as an additional first argument.
        mapping = replace(mapping, args=(ColumnName(shape.order), *mapping.args))
    # Rows may be in any order; the feed sorts them unless they are already sorted.
    lateness = 0 if _in_order(table, mapping.time) else INTEGER_MAX
    options = Options(tick, "skip", lateness, max(1, table.num_rows))
    reading = Reading()
    source = memory_table(table, "the DataFrame")
    batches = column_batches(source, (mapping,), options, reading)
    segments = [segment for batch in batches for segment in batch.segments()]
    if shape.order is not None:
        segments = [_with_order(segment) for segment in segments]
    skipped, problems = reading.skipped, list(reading.problems)
    if shape.signature is None:
        segments, refused = _parsed(segments)
        skipped += len(refused)
        problems += refused
    # The number of a row within a part is of no use to the user.
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
    # Timestamps are written with a fixed number of digits, so their texts sort like their values.
    return pa.string() if text or pa.types.is_timestamp(kind) or pa.types.is_date(kind) else None


def _in_order(table: pa.Table, time: str) -> bool:
    """Is a table known to be sorted by time? Only numbers and timestamps are tested."""
    if time not in table.column_names:
        return False
    column = table[time]
    kind = column.type
    if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_timestamp(kind)):
        return False
    times = column.to_numpy()
    return bool((times[1:] >= times[:-1]).all())


def _with_order(segment: Segment) -> Segment:
    """The segment with its first argument moved to the column `order`."""
    (predicate, arity), table = segment
    arguments = table.columns[3:]
    names = ["t", "seq", *map(str, range(arity - 1)), ORDER]
    columns = [*table.columns[:2], *arguments, table.column(2)]
    return Segment(Signature(predicate, arity - 1), pa.table(columns, names=names))


def _parsed(segments: Sequence[Segment]) -> tuple[list[Segment], list[Problem]]:
    """Parse segments whose only argument is the text of an atom."""
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

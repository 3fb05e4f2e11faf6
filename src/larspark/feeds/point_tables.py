"""Tables whose rows all happen at one time point, as facts, without looking at single values."""

import math
from collections.abc import Iterable
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Atom, Signature
from larspark.base.facts import ARGUMENT_TYPES, ColumnBatch, Segment
from larspark.base.terms import Constant, constant
from larspark.feeds.mapping import ColumnName, Mapping, parse_mappings

# Mappings are parsed once, as long as there are not too many.
_KEPT = 1000
# Stands for the time column in mappings that have none.
_TIME = "t"
# Making columns of a table costs as much as making atoms of so many rows.
_FEW = 64
_FLOAT = pa.float64()


class _Wanted(NamedTuple):
    """What a text of mappings asks of a table."""

    mappings: tuple[Mapping, ...]
    # The columns that arguments are, each once.
    columns: tuple[str, ...]
    plain: bool


class PointTables:
    """Makes facts of Arrow tables whose columns need no conversion.

    >>> table = pa.table({"m": ["m1", "m2"], "v": [95, 20]})
    >>> batch = PointTables().batch(table, "temp(m, v)", t=4, seq=0)
    >>> [(row.t, str(row.atom)) for row in batch.rows()]
    [(4, 'temp(m1,95)'), (4, 'temp(m2,20)')]
    """

    def __init__(self) -> None:
        self._parsed: dict[str, _Wanted] = {}

    def atoms(self, table: Any, text: str) -> list[Atom] | None:
        """The facts of a table with a few rows, the sooner way; None if it has to be another.

        >>> table = pa.table({"m": ["m1", "m2"], "v": [95.0, 20.5]})
        >>> [str(atom) for atom in PointTables().atoms(table, "temp(m, v); seen(m)")]
        ['temp(m1,95)', 'seen(m1)', 'temp(m2,20.5)', 'seen(m2)']
        """
        if not isinstance(table, pa.Table | pa.RecordBatch) or not 0 < table.num_rows <= _FEW:
            return None
        wanted = self._wanted(text)
        names = table.schema.names
        if not wanted.plain:
            return None
        columns: dict[str, list[Constant]] = {}
        for name in wanted.columns:
            values = _few_values(table[name]) if names.count(name) == 1 else None
            if values is None:
                return None
            columns[name] = values
        made: list[Iterable[Atom]] = []
        for mapping in wanted.mappings:
            args = [
                columns[arg.name] if isinstance(arg, ColumnName) else repeat(arg)
                for arg in mapping.args
            ]
            rows = zip(*args, strict=False) if args else repeat(())
            made.append(map(Atom, repeat(mapping.predicate, table.num_rows), rows))
        if len(made) == 1:
            return list(made[0])
        return [atom for row in zip(*made, strict=False) for atom in row]

    def batch(self, table: Any, text: str, t: int, seq: int) -> ColumnBatch | None:
        """The facts of a table, numbered from `seq`; None if some column has to be converted."""
        if not isinstance(table, pa.Table | pa.RecordBatch) or not table.num_rows:
            return None
        mappings, used, plain = self._wanted(text)
        names = table.schema.names
        if not plain:
            return None
        columns: dict[str, Any] = {}
        for name in used:
            column = table[name] if names.count(name) == 1 else None
            if column is None or not _is_ready(column):
                return None
            columns[name] = column
        count = table.num_rows
        times = pa.array(np.full(count, t, np.int64))
        segments: list[Segment] = []
        for place, mapping in enumerate(mappings):
            end = seq + place + count * len(mappings)
            order = pa.array(np.arange(seq + place, end, len(mappings)))
            args = [
                columns[arg.name] if isinstance(arg, ColumnName) else pa.repeat(arg, count)
                for arg in mapping.args
            ]
            labels = ["t", "seq", *map(str, range(len(args)))]
            facts = pa.table([times, order, *args], names=labels)
            segments.append(Segment(Signature(mapping.predicate, len(args)), facts))
        return ColumnBatch(segments, t)

    def _wanted(self, text: str) -> _Wanted:
        found = self._parsed.get(text)
        if found is None:
            if len(self._parsed) >= _KEPT:
                self._parsed.clear()
            mappings = parse_mappings(text, time=_TIME)
            columns = dict.fromkeys(arg.name for each in mappings for arg in each.arguments)
            plain = all(mapping.plain for mapping in mappings)
            found = self._parsed[text] = _Wanted(mappings, tuple(columns), plain)
        return found


def _few_values(column: Any) -> list[Constant] | None:
    """The values of a short column as constants; None if it has to be converted."""
    kind = column.type
    values: list[Any] = column.to_pylist()
    if kind not in ARGUMENT_TYPES or None in values:
        return None
    if kind != _FLOAT:
        return values
    return [constant(value) for value in values] if all(map(math.isfinite, values)) else None


def _is_ready(column: Any) -> bool:
    """Does a column have the type of an argument, and a constant in every row?"""
    if column.type not in ARGUMENT_TYPES or column.null_count:
        return False
    if column.type != _FLOAT:
        return True
    return bool(pc.all(pc.is_finite(column)).as_py())

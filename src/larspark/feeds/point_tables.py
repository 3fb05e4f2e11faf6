"""Tables whose rows all happen at one time point, as facts, without looking at single values."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Signature
from larspark.base.facts import ARGUMENT_TYPES, ColumnBatch, Segment
from larspark.feeds.mapping import ColumnName, Mapping, parse_mappings

# Mappings are parsed once, as long as there are not too many.
_KEPT = 1000
# Stands for the time column in mappings that have none.
_TIME = "t"


class PointTables:
    """Makes facts of Arrow tables whose columns need no conversion.

    >>> table = pa.table({"m": ["m1", "m2"], "v": [95, 20]})
    >>> batch = PointTables().batch(table, "temp(m, v)", t=4, seq=0)
    >>> [(row.t, str(row.atom)) for row in batch.rows()]
    [(4, 'temp(m1,95)'), (4, 'temp(m2,20)')]
    """

    def __init__(self) -> None:
        self._mappings: dict[str, tuple[Mapping, ...]] = {}

    def batch(self, table: Any, text: str, t: int, seq: int) -> ColumnBatch | None:
        """The facts of a table, numbered from `seq`; None if some column has to be converted."""
        if not isinstance(table, pa.Table | pa.RecordBatch) or not table.num_rows:
            return None
        mappings = self._parsed(text)
        names = table.schema.names
        used = {arg.name for mapping in mappings for arg in mapping.arguments}
        if not all(mapping.plain for mapping in mappings):
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

    def _parsed(self, text: str) -> tuple[Mapping, ...]:
        found = self._mappings.get(text)
        if found is None:
            if len(self._mappings) >= _KEPT:
                self._mappings.clear()
            found = self._mappings[text] = parse_mappings(text, time=_TIME)
        return found


def _is_ready(column: Any) -> bool:
    """Does a column have the type of an argument, and a constant in every row?"""
    if column.type not in ARGUMENT_TYPES or column.null_count:
        return False
    if column.type != pa.float64():
        return True
    return bool(pc.all(pc.is_finite(column)).as_py())

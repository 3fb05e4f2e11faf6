"""Facts without times in tables: background data."""

import os
from pathlib import Path
from typing import Any

from larspark.base.atoms import Atom, Signature
from larspark.feeds import Stream, read_background
from larspark.feeds.mapping import parse_table_columns


def facts(table: Any, map: str) -> list[Atom]:  # noqa: A002 - as in `Stream.from_table`
    """The facts in a table, for `background=`: `facts(frame, "site(text(id), name)")`.

    The table is the path of a file, or in memory: pyarrow, pandas, polars, DuckDB.

    >>> import pyarrow as pa
    >>> [str(fact) for fact in facts(pa.table({"id": [7], "limit": [90]}), "site(text(id), limit)")]
    ['site("7",90)']
    """
    if not isinstance(table, str | os.PathLike):
        return [row.atom for row in Stream.from_table(table, map=map, at=0).elements()]
    predicate, columns = parse_table_columns(map)
    found = read_background(
        Path(table),
        Signature(predicate, len(columns)),
        columns=[column.name for column in columns],
        kinds=[column.kind for column in columns],
    )
    return list(found)

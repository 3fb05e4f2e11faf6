"""Answers as typed tables, one for each predicate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.answer_columns import (
    column_names,
    guessed_columns,
    read_columns,
    read_signature,
    typed_answers,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True)
class OutputTable:
    """The answers of one predicate: a column for each argument, then `from` and `to`.

    Other libraries read it as an Arrow stream; `arrow` is the pyarrow table.
    """

    arrow: pa.Table

    def to_pandas(self) -> "pd.DataFrame":
        """The table as a pandas data frame."""
        return self.arrow.to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """The table as a polars data frame."""
        try:
            import polars
        except ModuleNotFoundError:
            hint = "install it with `pip install polars`"
            raise LarsparkError(Problem("L302", "there is no package polars", hint=hint)) from None
        return polars.DataFrame(self.arrow)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        rows: list[dict[str, Any]] = self.arrow.to_pylist()
        return rows

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)


def outputs(answers: pa.Table, columns: Mapping[str, str] | None = None) -> dict[str, OutputTable]:
    """For each predicate a table with a typed column for each argument, then from and to.

    `answers` is what `run` gives. `columns` maps predicates to the columns of their arguments, in
    order, as on Spark: `{"alarm/2": "sensor string, value double"}`; a type is `long`, `double` or
    `string`. Without it, every predicate has a table with the types that fit; columns have the
    names that `#show alarm(sensor, value)` gives them in the program, or `arg1`, `arg2` and so on.

    >>> rows = {"atom": ["p(a,3)", "q"], "from": [1, 2], "to": [1, 5]}
    >>> outputs(pa.table(rows))["p/2"].to_pylist()
    [{'arg1': 'a', 'arg2': 3, 'from': 1, 'to': 1}]
    """
    if columns is None:
        requested = guessed_columns(answers["atom"].to_pylist(), column_names(answers))
    else:
        requested = {read_signature(n): read_columns(n, text) for n, text in columns.items()}
    batches = answers.to_batches() or [pa.RecordBatch.from_pylist([], schema=answers.schema)]
    return {
        str(signature): OutputTable(
            pa.Table.from_batches(list(typed_answers(batches, signature.predicate, named)))
        )
        for signature, named in requested.items()
    }

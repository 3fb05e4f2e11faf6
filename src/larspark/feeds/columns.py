"""Tables brought into batches of columns: mapped to atoms, checked, put into time order.

Every row gives one element for each mapping, in the order of the mappings.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.base.facts import ColumnBatch, Segment
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.cells import Column, decoded, is_argument_type, text_column, typed_column
from larspark.feeds.mapping import ColumnName, Mapping, missing_columns
from larspark.feeds.ordering import ColumnOrder
from larspark.feeds.reading import PROBLEMS_KEPT, Options, Reading, late_by
from larspark.feeds.refusal import Refused
from larspark.feeds.times import (
    Mask,
    Times,
    natural_times,
    needs_tick,
    text_times,
    time_point,
    timestamp_times,
)

Rows = npt.NDArray[np.int64]


class Table(NamedTuple):
    """A table that arrives piece by piece.

    `text` says that the columns are CSV cells. `line_of` gives the line of a row, from 0, and
    `refused` the problems of lines that never became rows, since it was last asked.
    """

    name: str
    schema: Any
    batches: Iterable[Any]
    text: bool
    line_of: Callable[[int], int]
    refused: Callable[[], list[Problem]]


def check_table(table: Table, mappings: tuple[Mapping, ...], tick: int | None) -> None:
    """Everything about the columns that makes the mappings impossible, at once."""
    problems = missing_columns(mappings, table.schema.names)
    if not problems and not table.text:
        kinds = {field.name: field.type for field in table.schema}
        for name in dict.fromkeys(mapping.time for mapping in mappings):
            problems += _time_type_problems(name, kinds[name], tick)
        for name in dict.fromkeys(name for mapping in mappings for name in mapping.columns[1:]):
            if not is_argument_type(kinds[name]):
                message = f"column `{name}` has the type {kinds[name]}, which is no constant"
                problems.append(Problem("L305", message))
    if problems:
        raise LarsparkError(problems)


def _time_type_problems(name: str, kind: Any, tick: int | None) -> Iterator[Problem]:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        if tick is None:
            refused = needs_tick(f"column `{name}` holds timestamps")
            yield Problem(refused.code, refused.message, hint=refused.hint)
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_null(kind)
        or _is_text(kind)
    ):
        yield Problem("L305", f"column `{name}` has the type {kind}, which is no time")


def _is_text(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def column_batches(
    table: Table, mappings: tuple[Mapping, ...], options: Options, reading: Reading
) -> Iterator[ColumnBatch]:
    """Batches in time order.

    A problem that is not skipped is raised after everything accepted before it was delivered.
    """
    order = ColumnOrder(options.lateness, reading)
    reader = _Reader(table, mappings, options, reading)
    for batch in table.batches:
        segments, failure = reader.read(batch)
        yield from order.release(segments, reader.newest)
        if failure is not None:
            yield from order.flush()
            raise LarsparkError(failure)
    failure = reader.refused_lines(None)
    yield from order.flush()
    if failure is not None:
        raise LarsparkError(failure)


class _Reader:
    """Turns batches of rows into segments, numbered by arrival, of the elements that are right."""

    def __init__(
        self, table: Table, mappings: tuple[Mapping, ...], options: Options, reading: Reading
    ) -> None:
        self._table = table
        self._mappings = mappings
        self._options = options
        self._reading = reading
        self._rows = 0
        self._arrivals = 0
        self.newest = 0

    def read(self, batch: Any) -> tuple[list[Segment], Problem | None]:
        """The segments of a batch, and the problem that ends the reading, if one does."""
        size = batch.num_rows
        columns = {name: self._column(batch, name) for name in self._argument_names()}
        times = {m.time: self._times(batch, m.time) for m in self._mappings}
        t = np.stack([times[m.time][0] for m in self._mappings], axis=1)
        bad = np.stack([self._bad(m, times, columns) for m in self._mappings], axis=1)
        late, newest = self._late(t, bad)
        refused = bad | late
        keep = ~refused
        failure: Problem | None = None
        if refused.any():
            explain = _Explainer(self, columns, times, t, bad, newest)
            if self._options.on_error == "fail":
                first = int(np.argmax(refused))
                failure = explain.problem(first)
                keep.ravel()[first:] = False
            else:
                self._reading.skipped += int(refused.sum())
                self._reading.late += int(late.sum())
                room = PROBLEMS_KEPT - len(self._reading.problems)
                for place in np.flatnonzero(refused)[:room]:
                    self._reading.note(explain.problem(int(place)))
        seq = (np.cumsum(keep.ravel()) + (self._arrivals - 1)).reshape(keep.shape)
        segments = [
            segment
            for place, mapping in enumerate(self._mappings)
            for segment in _segments(mapping, columns, t[:, place], seq[:, place], keep[:, place])
        ]
        ...

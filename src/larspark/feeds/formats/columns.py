"""Tables read batch by batch: rows become segments of facts by mappings."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.arrow_numpy import arrow_array
from larspark.base.atoms import Signature
from larspark.base.facts import AnyBatch, Segment
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.formats.cells import (
    TEXT_MEANT,
    Column,
    Mask,
    first_decimal_comma,
    guessed_kind,
    is_argument_type,
    text_column,
    typed_column,
    warn_of_text,
)
from larspark.feeds.formats.csv_layout import DELIMITERS
from larspark.feeds.formats.time_columns import (
    TimeColumn,
    Times,
    text_time_column,
    time_type_problems,
    typed_time_column,
)
from larspark.feeds.mapping import ColumnName, Kind, Mapping, missing_columns
from larspark.feeds.ordering import ColumnOrder
from larspark.feeds.reading import PROBLEMS_KEPT, Options, Reading, Refused, late_by
from larspark.feeds.times import LARGE_TIME, warn_of_unit


class Records:
    """Line numbers of a table's rows, from row 0 on, and the lines that are not valid rows.

    >>> records = Records(first_line=2)
    >>> records.refuse(0, lambda line: Problem("L316", f"line {line} is broken"))
    >>> records.line_of(0)
    3
    """

    def __init__(self, first_line: int = 1) -> None:
        self._first_line = first_line
        self._refused = 0
        # Refused lines in or after the current batch: their number before each row, and the first
        # problems, each with that row.
        self._ahead: deque[tuple[int, int]] = deque()
        self._problems: deque[tuple[int, Problem]] = deque()

    def refuse(self, number: int, problem: Callable[[int], Problem]) -> None:
        """Mark the line with this number, from 0 among rows and refused lines, as refused."""
        row = number - self._refused
        if self._refused < PROBLEMS_KEPT:
            self._problems.append((row, problem(self._first_line + number)))
        self._refused += 1
        count = self._ahead.pop()[1] if self._ahead and self._ahead[-1][0] == row else 0
        self._ahead.append((row, count + 1))

    def line_of(self, row: int) -> int:
        """The line of a row of the current batch."""
        before = self._refused - sum(count for place, count in self._ahead if place > row)
        return self._first_line + row + before

    def first(self, row: int) -> tuple[int, Problem] | None:
        """The problem of the first refused line up to a row, with the row after it."""
        return self._problems[0] if self._problems and self._problems[0][0] <= row else None

    def pass_to(self, row: int) -> tuple[int, list[Problem]]:
        """Drop all entries up to a row; returns the number of refused lines and their problems."""
        count, problems = 0, []
        while self._ahead and self._ahead[0][0] <= row:
            count += self._ahead.popleft()[1]
        while self._problems and self._problems[0][0] <= row:
            problems.append(self._problems.popleft()[1])
        return count, problems


class Table(NamedTuple):
    """A table whose columns can be read by name, batch by batch, once.

    With `text`, the columns hold CSV cells.
    """

    name: str
    schema: Any
    read: Callable[[list[str]], Iterator[Any]]
    records: Records
    text: bool = False


def _check(table: Table, mappings: tuple[Mapping, ...], tick: int | None) -> None:
    """Raise all problems of the columns that the mappings use."""
    names = [name for mapping in mappings for name in mapping.columns]
    problems = missing_columns(names, table.schema.names, table.name)
    if table.text and problems and not {*names} & {*table.schema.names}:
        hint = "if the first line is no header, name the columns: `--columns time,sensor,value`"
        other = _other_delimiter(table.schema.names, names)
        if other is not None:
            problems = [replace(problem, hint="") for problem in problems]
            hint = f"the delimiter seems to be `{other}`: name it, or none to have it detected"
        problems = [replace(problem, hint=problem.hint or hint) for problem in problems]
    if not problems and not table.text:
        kinds = {field.name: field.type for field in table.schema}
        for name, unit in dict.fromkeys((mapping.time, mapping.unit) for mapping in mappings):
            problems += time_type_problems(name, kinds[name], tick, unit)
        for name in dict.fromkeys(name for mapping in mappings for name in mapping.columns[1:]):
            if not is_argument_type(kinds[name]):
                message = f"column `{name}` has the type {kinds[name]}, which cannot be a constant"
                problems.append(Problem("L305", message))
    if problems:
        raise LarsparkError(problems)


def _other_delimiter(columns: list[str], names: list[str]) -> str | None:
    """The delimiter that a file with one column seems to have instead of the one it was given."""
    if len(columns) != 1:
        return None
    fitting = (one for one in DELIMITERS if {*names} <= {*columns[0].split(one)})
    return next(("tab" if one == "\t" else one for one in fitting), None)


def _with_fields(table: Table, mappings: tuple[Mapping, ...]) -> Table:
    """The table with the fields of structs that mappings name as columns of their own."""
    paths: dict[str, tuple[str, ...]] = {}
    for mapping in mappings:
        named = [(mapping.time, mapping.time_path)]
        named += [(column.name, column.path) for column in mapping.arguments]
        paths |= {name: path for name, path in named if path and name not in table.schema.names}
    schema = table.schema
    found: dict[str, tuple[str, ...]] = {}
    for name, path in paths.items():
        field = _field(schema, path)
        if field is not None:
            schema, found[name] = schema.append(field.with_name(name)), path
    if not found:
        return table

    def read(columns: list[str]) -> Iterator[Any]:
        outer = dict.fromkeys(found[name][0] if name in found else name for name in columns)
        for batch in table.read([*outer]):
            arrays = [
                field_values(batch, found[name]) if name in found else batch[name]
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=columns)

    return table._replace(schema=schema, read=read)


def _field(schema: Any, path: tuple[str, ...]) -> Any:
    """The field of structs at a path; None if there is none."""
    field: Any = None
    kind: Any = pa.struct(schema)
    for name in path:
        place = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
        if place < 0:
            return None
        field = kind.field(place)
        kind = field.type
    return field


def field_values(batch: Any, path: tuple[str, ...]) -> Any:
    """The values of a column, or of a field of structs."""
    values = batch[path[0]]
    for name in path[1:]:
        values = pc.struct_field(values, name)
    return values


def column_batches(
    table: Table, mappings: tuple[Mapping, ...], options: Options, reading: Reading
) -> Iterator[AnyBatch]:
    """Batches in time order.

    A problem that is not skipped is raised after all facts accepted before it were delivered.
    """
    table = _with_fields(table, mappings)
    _check(table, mappings, options.tick)
    reader = _Reader(table, mappings, options, reading)
    order = ColumnOrder(options.lateness, reading)
    failure: Problem | None = None
    for block in table.read([*dict.fromkeys(n for m in mappings for n in m.columns)]):
        reader.guess(block)
        for start in range(0, block.num_rows, options.batch_size):
            segments, failure = reader.read(block.slice(start, options.batch_size))
            yield from order.release(segments, reader.newest)
            if failure is not None:
                break
        if failure is not None:
            break
    yield from order.flush()
    failure = failure or reader.rest()
    if failure is not None:
        raise LarsparkError(failure)


class _Reader:
    """Turns batches of rows into segments of valid facts, numbered in the order of arrival."""

    def __init__(
        self, table: Table, mappings: tuple[Mapping, ...], options: Options, reading: Reading
    ) -> None:
        self._table = table
        self._mappings = mappings
        self._options = options
        self._reading = reading
        self._rows = 0
        self._arrivals = 0
        # What the columns of a CSV file hold that have no type in the mapping.
        self._kinds: dict[str, Kind] = {}
        self._warned = False
        self.newest = 0

    def guess(self, block: Any) -> None:
        """Decide what CSV columns hold, by the first block that has values for them."""
        if not self._table.text:
            return
        untyped = [c for m in self._mappings for c in m.arguments if c.kind is None]
        for name in dict.fromkeys(column.name for column in untyped):
            if name in self._kinds or (guess := guessed_kind(block[name])) is None:
                continue
            self._kinds[name], odd = guess
            hint = TEXT_MEANT.format(name)
            comma = first_decimal_comma(block[name]) if self._kinds[name] is Kind.TEXT else None
            if comma is not None:
                odd = comma
                hint = f"`comma({name})` reads numbers with a decimal comma"
            if odd is not None:
                line = self._table.records.line_of(self._rows + odd)
                warn_of_text(name, block[name][odd].as_py(), self._table.name, line, hint)

    def read(self, batch: Any) -> tuple[list[Segment], Problem | None]:
        """The segments of a batch, and the problem that ends the reading, if any."""
        grid = Grid(
            batch, self._mappings, self._kinds, self._table.text, self._options, self.newest
        )
        if grid.counted > LARGE_TIME and not self._warned:
            self._warned = warn_of_unit(grid.counted, self._options.tick)
        if grid.counted < 0 and not grid.bad.all():
            self._reading.timestamps = lambda: True
        keep = ~(grid.bad | grid.late)
        failure = None
        if self._options.on_error == "fail":
            failure, limit = self._first_problem(grid, keep)
            keep.ravel()[limit:] = False
        else:
            self._skip(grid, keep)
        self.newest = grid.newest
        self._rows += batch.num_rows
        numbers = np.cumsum(keep.ravel()).reshape(keep.shape) + (self._arrivals - 1)
        self._arrivals += int(keep.sum())
        return grid.segments(keep, numbers), failure

    def rest(self) -> Problem | None:
        """The problem of a refused line after the last row, unless lines are skipped."""
        if self._options.on_error == "fail":
            found = self._table.records.first(self._rows)
            return found[1] if found else None
        self._note(self._skipped_lines(0))
        return None

    def _first_problem(self, grid: "Grid", keep: Mask) -> tuple[Problem | None, int]:
        """The first problem of a batch, and the index of the fact at which reading stops."""
        limit = int(np.argmin(keep)) if not keep.all() else keep.size
        end = self._rows + keep.shape[0]
        if found := self._table.records.first(end):
            place = (found[0] - self._rows) * keep.shape[1]
            if place <= limit:
                return found[1], place
        return (self._problem(grid, limit), limit) if limit < keep.size else (None, limit)

    def _skip(self, grid: "Grid", keep: Mask) -> None:
        self._reading.skipped += keep.size - int(keep.sum())
        self._reading.late += int(grid.late.sum())
        places = np.flatnonzero(~keep)[:PROBLEMS_KEPT]
        problems = [self._problem(grid, int(place)) for place in places]
        self._note([*problems, *self._skipped_lines(keep.shape[0])])

    def _skipped_lines(self, rows: int) -> list[Problem]:
        """The problems of refused lines among the next rows."""
        count, problems = self._table.records.pass_to(self._rows + rows)
        self._reading.skipped += count
        return problems

    def _note(self, problems: list[Problem]) -> None:
        for problem in sorted(problems, key=lambda problem: problem.span or ()):
            self._reading.note(problem)

    def _problem(self, grid: "Grid", place: int) -> Problem:
        row, mapping = divmod(place, len(self._mappings))
        line = self._table.records.line_of(self._rows + row)
        return grid.reason(row, mapping).at(self._table.name, line)


class Grid:
    """A batch as a grid of facts: a row for each row of the batch, a column for each mapping.

    In row-major order, its facts are in the order of arrival.
    """

    def __init__(
        self,
        batch: Any,
        mappings: tuple[Mapping, ...],
        kinds: dict[str, Kind],
        text: bool,
        options: Options,
        newest: int,
    ) -> None:
        self._mappings = mappings
        self._options = options
        read_times = text_time_column if text else typed_time_column
        read_values = text_column if text else typed_column
        self._times: dict[tuple[str, int | None], TimeColumn] = {
            (m.time, m.unit): read_times(batch[m.time], options.tick, m.unit, options.local)
            for m in mappings
        }
        self._values: dict[ColumnName, Column] = {
            column: read_values(batch[column.name], column.kind or kinds.get(column.name))
            for column in dict.fromkeys(column for m in mappings for column in m.arguments)
        }
        self._t: Times = np.stack([self._times[m.time, m.unit].times for m in mappings], axis=1)
        self.bad: Mask = np.stack([self._bad_rows(mapping) for mapping in mappings], axis=1)
        self.counted = max((column.counted for column in self._times.values()), default=-1)
        # The newest time before each fact. Refused facts do not advance time.
        seen = np.maximum.accumulate(np.append(newest, np.where(self.bad, -1, self._t)))
        self._before: Times = seen[:-1].reshape(self._t.shape)
        self.late: Mask = ~self.bad & (self._t < self._before - options.lateness)
        self.newest = int(seen[-1])

    def _bad_rows(self, mapping: Mapping) -> Mask:
        bad = self._times[mapping.time, mapping.unit].bad
        for column in mapping.arguments:
            bad = bad | self._values[column].bad
        return bad

    def reason(self, row: int, place: int) -> Refused:
        """Why a fact was refused."""
        if self.late[row, place]:
            t, newest = int(self._t[row, place]), int(self._before[row, place])
            why = late_by(t, newest, self._options, lambda: self.counted < 0)
            return Refused("L314", *why)
        mapping = self._mappings[place]
        moment = self._times[mapping.time, mapping.unit]
        if moment.bad[row]:
            return moment.explain(row).of_column(mapping.time)
        column = next(column for column in mapping.arguments if self._values[column].bad[row])
        return self._values[column].explain(row).of_column(column.name)

    def segments(self, keep: Mask, numbers: Times) -> list[Segment]:
        """The facts to keep, with their numbers."""
        return [
            segment
            for place, mapping in enumerate(self._mappings)
            for segment in self._mapping_segments(
                mapping, self._t[:, place], numbers[:, place], keep[:, place]
            )
        ]

    def _mapping_segments(
        self, mapping: Mapping, t: Times, numbers: Times, keep: Mask
    ) -> Iterator[Segment]:
        signature = Signature(mapping.predicate, len(mapping.args))
        names = ["t", "seq", *map(str, range(len(mapping.args)))]
        for chosen, kinds in self._kinds(mapping, keep):
            size = int(chosen.sum())
            selection = None if size == len(chosen) else arrow_array(np.flatnonzero(chosen))
            arrays = [arrow_array(t), arrow_array(numbers)]
            arrays += [self._values[column].parts[kind] for column, kind in kinds.items()]
            kept = [array if selection is None else array.take(selection) for array in arrays]
            by_column = dict(zip(kinds, kept[2:], strict=True))
            args = [
                by_column[arg] if isinstance(arg, ColumnName) else pa.repeat(arg, size)
                for arg in mapping.args
            ]
            yield Segment(signature, pa.table([*kept[:2], *args], names=names))

    def _kinds(self, mapping: Mapping, keep: Mask) -> Iterator[tuple[Mask, dict[ColumnName, int]]]:
        """The rows to keep, grouped so that each column of a group has one type."""
        columns = list(dict.fromkeys(mapping.arguments))
        mixed = [column for column in columns if len(self._values[column].parts) > 1]
        if not keep.any():
            return
        if not mixed:
            yield keep, dict.fromkeys(columns, 0)
            return
        codes = np.stack([self._values[column].kind_of for column in mixed], axis=1)
        for code in np.unique(codes[keep], axis=0):
            chosen = keep & (codes == code).all(axis=1)
            yield chosen, dict.fromkeys(columns, 0) | dict(zip(mixed, map(int, code), strict=True))

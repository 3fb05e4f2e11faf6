"""Streams of facts from files, tables, and pairs in memory."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import partial
from typing import Any, Self, TypeAlias

import pyarrow as pa

from larspark.base.atoms import Atom, Element
from larspark.base.facts import AnyBatch, Row
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import Format, Place, Source
from larspark.feeds.formats import jsonl, lars_facts
from larspark.feeds.formats.columns import column_batches
from larspark.feeds.formats.csv_layout import CsvLayout
from larspark.feeds.formats.json_columns import block_reader
from larspark.feeds.formats.line_batches import line_batches, line_reader
from larspark.feeds.formats.tables import at_one_time, memory_table, open_table
from larspark.feeds.ground_atoms import GroundAtoms, predicate, value_constant
from larspark.feeds.mapping import Mapping, parse_mappings
from larspark.feeds.merging import merged_batches
from larspark.feeds.ordering import Arrival, Blocks, row_batches
from larspark.feeds.reading import BATCH_SIZE, OnError, Options, Reading, Refused
from larspark.feeds.time_options import DurationLike, TimeLike, reading_options, ticked, time_option
from larspark.feeds.times import time_point

# A time and an atom or its text; None instead of an atom only advances time.
Pair: TypeAlias = Element | tuple[int | str | datetime, Atom | str | None]

_Reader: TypeAlias = Callable[[Options, Reading], Iterator[AnyBatch]]
_ELEMENTS = "<elements>"
_TABLE = "<table>"
# The name of the time column that is added to a table without one.
_TIME = "<time>"
_MERGED = "<merged>"


class Stream:
    """Facts in time order, read lazily, and anew for each iteration.

    >>> stream = Stream.of([(36, "tram(a1,b)"), (40, "tram(a3,h)")])
    >>> [(row.t, str(row.atom)) for row in stream.elements()]
    [(36, 'tram(a1,b)'), (40, 'tram(a3,h)')]
    >>> stream.facts
    2
    """

    def __init__(
        self, name: str, reader: _Reader, options: Options, *, lasting: bool = True
    ) -> None:
        self.name = name
        self.options = options
        # Whether it can be read more than once; standard input and pipes cannot.
        self.lasting = lasting
        self._reader = reader
        self._reading = Reading()

    @classmethod
    def read(
        cls,
        source: Place,
        *,
        format: str | None = None,  # noqa: A002 - the word users know
        map: str | None = None,  # noqa: A002 - the same as the option `--map`
        delimiter: str | None = None,
        columns: str | Sequence[str] | None = None,
        tick: int | None = None,
        on_error: OnError = "fail",
        lateness: DurationLike = 0,
        batch_size: int = BATCH_SIZE,
        timezone: str | None = None,
    ) -> Self:
        """A stream in a file, an open file, or standard input (`-`).

        The format is `format`, or that of the suffix. Tables (CSV, Parquet, Arrow) need a mapping
        to atoms, such as `map="time -> temp(sensor, value)"`, and so do JSON objects that do not
        hold atoms. For CSV, `delimiter` and the names of the `columns` of a file without a header
        are found out where they are not given. `tick` is the length of a time point in
        microseconds, for timestamps. An invalid line ends the reading; with `on_error="skip"` it is
        skipped and counted. Facts may be late by `lateness`, a number of time points or a duration
        such as `3min`. Timestamps without a zone are local times of `timezone`, or else in UTC.
        """
        options = reading_options(tick, on_error, lateness, batch_size, timezone)
        place = Source(source)
        form = place.format(format)
        mappings = stream_mappings(map, form, place.name)
        layout = CsvLayout.given(delimiter, columns)

        def reader(options: Options, reading: Reading) -> Iterator[AnyBatch]:
            with place.open() as file:
                reading.share = partial(place.share_of, file)
                match form:
                    case "jsonl":
                        lines = line_reader(
                            form, mappings, layout, options, clocked=False, live=False
                        )
                        if not place.lasting:
                            # Lines in a pipe are not to wait for a block.
                            reading.timestamps = lambda: lines.timestamps
                            arrivals = jsonl.arrival_blocks(file, place.name, lines)
                            yield from row_batches(arrivals, place.name, options, reading)
                            return
                        columns = block_reader(mappings, options)
                        reading.timestamps = lambda: lines.timestamps or columns.timestamps
                        yield from line_batches(file, place.name, lines, columns, options, reading)
                    case "lars":
                        blocks = lars_facts.stream_blocks(file, place.name)
                        yield from row_batches(blocks, place.name, options, reading)
                    case _:
                        needed = [name for mapping in mappings for name in mapping.columns]
                        size = options.batch_size
                        table = open_table(file, place.name, form, size, layout, needed)
                        yield from column_batches(table, mappings, options, reading)

        return cls(place.name, reader, options, lasting=place.lasting)

    @classmethod
    def of(
        cls,
        elements: Iterable[Pair],
        *,
        tick: int | None = None,
        on_error: OnError = "fail",
        lateness: DurationLike = 0,
        batch_size: int = BATCH_SIZE,
        timezone: str | None = None,
    ) -> Self:
        """A stream of pairs in memory: a time, and an atom, its text, or None to advance time."""
        pairs = tuple(elements)

        def reader(options: Options, reading: Reading) -> Iterator[AnyBatch]:
            yield from row_batches(
                _pair_blocks(pairs, options, reading), _ELEMENTS, options, reading
            )

        return cls(
            _ELEMENTS, reader, reading_options(tick, on_error, lateness, batch_size, timezone)
        )

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        map: str,  # noqa: A002 - the same as the option `--map`
        at: TimeLike | None = None,
        tick: int | None = None,
        on_error: OnError = "fail",
        lateness: DurationLike = 0,
        batch_size: int = BATCH_SIZE,
        timezone: str | None = None,
    ) -> Self:
        """A stream in a pyarrow table, a pandas or polars data frame, a DuckDB relation, or any
        object with the Arrow stream interface.

        With `at`, every row happens at that time point, and `map` names no time column.
        """
        mappings = parse_mappings(map, time="" if at is None else _TIME)
        once = isinstance(table, pa.RecordBatchReader)
        consumed = False

        def reader(options: Options, reading: Reading) -> Iterator[AnyBatch]:
            nonlocal consumed
            if once and consumed:
                message = f"{_TABLE} can be read only once, and was read already"
                raise LarsparkError(Problem("L317", message))
            consumed = True
            timed = table
            if at is not None:
                timed = at_one_time(table, time_option(at, options.tick, options.local), _TIME)
            opened = memory_table(timed, _TABLE)
            yield from column_batches(opened, mappings, options, reading)

        options = reading_options(tick, on_error, lateness, batch_size, timezone)
        return cls(_TABLE, reader, options, lasting=not once)

    @classmethod
    def merge(cls, *streams: "Stream") -> Self:
        """Several streams merged by time; at equal times in the order of the arguments."""

        def reader(options: Options, reading: Reading) -> Iterator[AnyBatch]:
            parts = [stream.with_tick(options.tick).in_zone(options.zone) for stream in streams]
            reading.timestamps = lambda: any(part.timestamps for part in parts)
            yield from merged_batches([part.batches() for part in parts], reading)
            for part in parts:
                reading.late += part.late
                reading.skipped += part.skipped
                for problem in part.problems:
                    reading.note(problem)

        lasting = all(stream.lasting for stream in streams)
        return cls(_MERGED, reader, Options(), lasting=lasting)

    def with_tick(self, tick: int | None) -> Self:
        """The same stream with this tick, unless it has a tick already."""
        if tick is None or self.options.tick is not None:
            return self
        return self._again(ticked(self.options, tick))

    def in_zone(self, zone: tzinfo | None) -> Self:
        """The same stream with this zone for timestamps without one, unless it has one already."""
        if zone is None or self.options.zone is not None:
            return self
        return self._again(replace(self.options, zone=zone))

    def _again(self, options: Options) -> Self:
        """The same stream with other options, read independently."""
        return type(self)(self.name, self._reader, options, lasting=self.lasting)

    def batches(self) -> Iterator[AnyBatch]:
        """The facts in time order, and in the order of arrival within a time point.

        `seq` numbers the facts in this order, from 0. The first batch begins with the stream's
        first time point: if time advances before the first fact, that batch is empty.
        """
        self._reading = Reading()
        return self._reader(ticked(self.options, None), self._reading)

    def elements(self) -> Iterator[Row]:
        """The facts one by one."""
        for batch in self.batches():
            yield from batch.rows()

    @property
    def facts(self) -> int:
        """The number of facts that the current or last reading has delivered."""
        return self._reading.facts

    @property
    def skipped(self) -> int:
        """The number of lines, rows or facts that it has skipped."""
        return self._reading.skipped

    @property
    def late(self) -> int:
        """The number of skipped facts that were later than allowed."""
        return self._reading.late

    @property
    def timestamps(self) -> bool:
        """Whether it has delivered times that were timestamps, and not integers."""
        return self._reading.timestamps()

    @property
    def problems(self) -> Sequence[Problem]:
        """The first reasons for skipping, at most a fixed number."""
        return tuple(self._reading.problems)

    @property
    def share(self) -> float | None:
        """The fraction of the file that was read, from 0 to 1; None if unknown."""
        return self._reading.share()

    @property
    def first_t(self) -> int | None:
        """The first time point; None before it is known."""
        return self._reading.first_t

    @property
    def last_t(self) -> int | None:
        """The last delivered time point."""
        return self._reading.last_t


# A stream, the path of a file, or a table: pyarrow, pandas, polars, DuckDB, any Arrow stream.
StreamOrTable: TypeAlias = Stream | Any


def as_stream(data: StreamOrTable, map: str | None = None) -> Stream:  # noqa: A002 - as in `Stream.read`
    """A stream as it is, or one of a file, or of a table, whose columns are mapped to atoms.

    >>> import pyarrow as pa
    >>> table = pa.table({"time": [1], "sensor": ["s1"]})
    >>> [str(row.atom) for row in as_stream(table, "time -> seen(sensor)").elements()]
    ['seen(s1)']
    """
    if isinstance(data, Stream):
        if map is not None:
            message = f"{data.name} is a stream already, and a mapping is for tables"
            raise LarsparkError(Problem("L303", message, hint="leave the mapping out"))
        return data
    if isinstance(data, str | os.PathLike):
        return Stream.read(data, map=map)
    if map is None:
        message = f"a {type(data).__name__} needs a mapping from its columns to atoms"
        hint = 'map columns to atoms, e.g. `map="time -> temp(sensor, value)"`'
        raise LarsparkError(Problem("L303", message, hint=hint))
    return Stream.from_table(data, map=map)


def stream_mappings(
    text: str | None, form: Format, name: str, *, optional_time: bool = False
) -> tuple[Mapping, ...]:
    """The mappings of a stream; an error if its format needs some, or has no use for them."""
    if text is not None and form != "lars":
        return parse_mappings(text, optional_time=optional_time)
    if text is not None:
        message = f"{name} holds facts, but a mapping is for tables and JSON objects"
        raise LarsparkError(Problem("L303", message, hint="leave the mapping out"))
    if form not in ("jsonl", "lars"):
        message = f"{name} is a table and needs a mapping from its columns to atoms"
        hint = "map columns to atoms, e.g. `time -> temp(sensor, value)`"
        raise LarsparkError(Problem("L303", message, hint=hint))
    return ()


def _pair_blocks(pairs: Sequence[Pair], options: Options, reading: Reading) -> Blocks:
    atoms = GroundAtoms()
    for start in range(0, len(pairs), options.batch_size):
        block = pairs[start : start + options.batch_size]
        if any(map(_is_stamped, block)):
            reading.timestamps = lambda: True
        yield [_arrival(pair, n, options, atoms) for n, pair in enumerate(block, start + 1)]


def _is_stamped(pair: object) -> bool:
    """Whether the time of a pair is a timestamp."""
    match pair:
        case (str() | datetime(), _):
            return True
        case _:
            return False


def _arrival(pair: object, number: int, options: Options, atoms: GroundAtoms) -> Arrival | Problem:
    def point(time: object) -> int:
        return time_point(time, options.tick, zone=options.local)

    try:
        match pair:
            case (t, None):
                return point(t), (), number
            case (t, str() as text):
                return point(t), (atoms[text],), number
            case (t, Atom() as atom):
                args = tuple([value_constant(value) for value in atom.args])
                return point(t), (Atom(predicate(atom.predicate), args),), number
            case _:
                raise Refused("L312", "an element is a time and an atom or its text")
    except Refused as refused:
        # The text of an atom is shown as the line.
        return refused.moved(0).at(_ELEMENTS, number, refused.quoted or "")

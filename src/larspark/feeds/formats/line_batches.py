"""Lines of a file as batches: whole blocks as columns where that works, else line by line.

A reader of lines is chosen by their format: JSON Lines with atoms, mapped JSON objects, CSV.
"""

from collections.abc import Iterator
from typing import BinaryIO

from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import LINE_LIMIT, Format, byte_blocks
from larspark.feeds.formats.csv_layout import CsvLayout
from larspark.feeds.formats.csv_lines import CsvLines
from larspark.feeds.formats.json_columns import BlockReader
from larspark.feeds.formats.json_objects import MappedObjects
from larspark.feeds.formats.jsonl import JsonLines, LineReader, Times
from larspark.feeds.formats.tables import CSV_FORMATS, csv_layout
from larspark.feeds.mapping import Mapping
from larspark.feeds.ordering import Arrival, ColumnOrder, numbered_rows
from larspark.feeds.reading import Options, Reading, Refused, late_by


def line_batches(
    file: BinaryIO,
    name: str,
    lines: LineReader,
    blocks: BlockReader,
    options: Options,
    reading: Reading,
) -> Iterator[AnyBatch]:
    """Batches in time order.

    A problem that is not skipped is raised after all facts accepted before it were delivered.
    """
    reader = _Reader(name, options, reading)
    number = 1
    for block in byte_blocks(file):
        found = None
        # Intervals that have begun go on between the facts of later lines.
        if block is not None and not lines.holding and options.batch_size >= block.count(b"\n"):
            found = blocks.read(block, reader.newest, reader.arrivals)
        if found is not None:
            reader.newest = found.newest
            reader.arrivals += found.facts
            number += found.lines
            yield from reader.order.release(found.segments, found.newest)
            continue
        cut = [None] if block is None else _lines(block)
        yield from reader.line_by_line(lines.arrivals(cut, number, name))
        number += len(cut)
    yield from reader.line_by_line(iter(lines.rest()))
    yield from reader.order.flush()


def _lines(block: bytes) -> list[bytes | None]:
    lines = block.removesuffix(b"\n").split(b"\n")
    return [None if len(line) > LINE_LIMIT else line for line in lines]


class _Reader:
    """Accepts facts one by one where a block is not read as columns."""

    def __init__(self, name: str, options: Options, reading: Reading) -> None:
        self._name = name
        self._options = options
        self._reading = reading
        self.order = ColumnOrder(options.lateness, reading)
        self.newest = 0
        self.arrivals = 0

    def line_by_line(self, arrivals: Iterator[Arrival | Problem]) -> Iterator[AnyBatch]:
        """The batches that arrivals release."""
        times: list[int] = []
        atoms: list[Atom] = []
        # The times of lines without atoms.
        bare: list[int] = []
        for arrival in arrivals:
            if isinstance(arrival, Problem):
                failure, late = arrival, 0
            else:
                t, found, line = arrival
                if t >= self.newest - self._options.lateness:
                    self.newest = max(self.newest, t)
                    times.extend([t] * len(found))
                    atoms.extend(found)
                    if not found:
                        bare.append(t)
                    if len(atoms) >= self._options.batch_size:
                        yield from self._release(times, atoms, bare)
                        times, atoms, bare = [], [], []
                    continue
                why = late_by(t, self.newest, self._options, self._reading.timestamps)
                failure, late = Refused("L314", *why).at(self._name, line), len(found)
            if self._options.on_error == "fail":
                yield from self._release(times, atoms, bare)
                yield from self.order.flush()
                raise LarsparkError(failure)
            self._reading.skip(failure, late)
        yield from self._release(times, atoms, bare)

    def _release(self, times: list[int], atoms: list[Atom], bare: list[int]) -> Iterator[AnyBatch]:
        rows = numbered_rows(times, atoms, self.arrivals)
        self.arrivals += len(rows)
        yield from self.order.release(RowBatch(rows).segments(), self.newest, bare)


def line_reader(
    form: Format,
    mappings: tuple[Mapping, ...],
    layout: CsvLayout,
    options: Options,
    *,
    clocked: bool,
    live: bool = True,
) -> LineReader:
    """The reader of a format; with `clocked`, lines without a time get that of their arrival.

    An interval, which may stand for any number of facts, is read from files only.
    """
    if form in CSV_FORMATS:
        return CsvLines(mappings, options, csv_layout(form, layout))
    if form != "jsonl":
        message = f"{form} cannot be read line by line"
        raise LarsparkError(Problem("L302", message, hint="live streams are jsonl, csv or tsv"))
    if mappings:
        return MappedObjects(mappings, options)
    times = Times.OPTIONAL if clocked else Times.REQUIRED
    return JsonLines(options, times, intervals=not live)

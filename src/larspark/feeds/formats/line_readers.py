"""Readers of lines by their format: JSON Lines with atoms, mapped JSON objects, CSV."""

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import Format
from larspark.feeds.formats.csv_layout import CsvLayout
from larspark.feeds.formats.csv_lines import CsvLines
from larspark.feeds.formats.json_objects import MappedObjects
from larspark.feeds.formats.jsonl import JsonLines, LineReader, Times
from larspark.feeds.formats.tables import CSV_FORMATS, csv_layout
from larspark.feeds.mapping import Mapping


def line_reader(
    form: Format,
    mappings: tuple[Mapping, ...],
    layout: CsvLayout,
    tick: int | None,
    *,
    clocked: bool,
    live: bool = True,
) -> LineReader:
    """The reader of a format; with `clocked`, lines without a time get that of their arrival.

    An interval, which may stand for any number of facts, is read from files only.
    """
    if form in CSV_FORMATS:
        return CsvLines(mappings, tick, csv_layout(form, layout))
    if form != "jsonl":
        message = f"{form} cannot be read line by line"
        raise LarsparkError(Problem("L302", message, hint="live streams are jsonl, csv or tsv"))
    if mappings:
        return MappedObjects(mappings, tick)
    times = Times.OPTIONAL if clocked else Times.REQUIRED
    return JsonLines(tick, times, intervals=not live)

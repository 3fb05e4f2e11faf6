"""The layout of CSV: the delimiter and the names of the columns, detected or given."""

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import Refused

DELIMITERS = (",", ";", "\t", "|")
_NAMES = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """What is said about a CSV input: its delimiter, and its columns if it has no header."""

    delimiter: str | None = None
    columns: tuple[str, ...] | None = None

    @classmethod
    def given(cls, delimiter: str | None, columns: str | Sequence[str] | None) -> "CsvLayout":
        """The layout of options; columns as text are separated by commas."""
        delimiter = _NAMES.get(delimiter or "", delimiter)
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            message = f"delimiter cannot be {delimiter!r}"
            raise LarsparkError(Problem("L318", message, hint="it is one character, or tab"))
        if isinstance(columns, str):
            columns = [name.strip() for name in columns.split(",")]
        if columns is not None and not all(columns):
            raise LarsparkError(Problem("L318", "a name of columns is empty"))
        return cls(delimiter, None if columns is None else tuple(columns))

    def delimiter_of(self, line: str, needed: Collection[str] = (), width: int = 0) -> str:
        """The delimiter of a first line, in which `needed` names or `width` cells are expected.

        >>> CsvLayout().delimiter_of("time;sensor;value, measured", ["time", "sensor"])
        ';'
        """
        if self.delimiter is not None:
            return self.delimiter
        width = len(self.columns) if self.columns is not None else width

        def fitness(delimiter: str) -> tuple[int, bool, int]:
            cells = header_cells(line, delimiter)
            return len(set(needed) & {*cells}), len(cells) == width, len(cells)

        return max(DELIMITERS, key=fitness)


def split_line(text: str, delimiter: str) -> list[str]:
    """The cells of one line; a quoted cell that is not closed ends with the line.

    >>> split_line('1,"a, b",2', ",")
    ['1', 'a, b', '2']
    """
    text = text.removesuffix("\r")
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error as error:
        raise Refused("L316", f"the record cannot be read: {error}") from None


def header_cells(text: str, delimiter: str) -> list[str]:
    """The cells of a line that may be a header; none if it cannot be read.

    >>> header_cells('a\\rb,"c"', ",")
    []
    """
    try:
        return split_line(text, delimiter)
    except Refused:
        return []

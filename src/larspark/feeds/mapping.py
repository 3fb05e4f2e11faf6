"""Mappings from columns to atoms: `time -> temp(sensor, value)`.

The time column is on the left of the arrow, with a unit if it holds integers: `ms(ts) -> ...`. The
arguments of the atom are column names (in backticks unless they are plain words), numbers, or
quoted strings. `device.id` is a field of an object, and `text(sensor)`, `number(value)` and
`integer(n)` say what a column holds. `;` separates mappings.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import NoReturn, TypeAlias

from larspark.base.column_types import COLUMN_TYPES
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.feeds.ground_atoms import NAME, NUMBER, STRING, number, string
from larspark.feeds.reading import Refused

_SOURCE = "<map>"
_EXAMPLE = "write `time -> temp(sensor, value)`"
_TIMELESS = "; in a live run, `--clock 1s` takes the time of arrival"
_COLUMN = re.compile(r"[^\W\d]\w*|`[^`]+`")
# The time of the facts of a table without times.
_NO_TIME = "<time>"
_SPACE = re.compile(r"\s*")

# The units of integer times, in nanoseconds.
UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


class Kind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    # A number with a decimal comma: `4,1`.
    COMMA = "comma"
    # Of CSV columns without a type. A plain number is written as programs write it: `12`, `-3.5`,
    # `1e-05`, but not `007`, `.5` or `1e5`.
    PLAIN = "plain number"
    PLAIN_OR_TEXT = "plain number or text"


_TYPES = tuple(map(Kind, COLUMN_TYPES))


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column, or a field of an object: then `path` has several parts."""

    name: str
    kind: Kind | None = None
    path: tuple[str, ...] = ()


Argument: TypeAlias = ColumnName | Constant


@dataclass(frozen=True, slots=True)
class Mapping:
    """One atom for every row, at the time of a column.

    `time` is empty if the rows have no time. `unit` is that of integer times, in nanoseconds.
    """

    time: str
    predicate: str
    args: tuple[Argument, ...]
    unit: int | None = None
    time_path: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, the time column first."""
        return (self.time, *(column.name for column in self.arguments))

    @property
    def arguments(self) -> tuple[ColumnName, ...]:
        """The arguments that are columns."""
        return tuple(arg for arg in self.args if isinstance(arg, ColumnName))

    @property
    def plain(self) -> bool:
        """Whether it names only columns, without units, types and fields of objects."""
        paths = [self.time_path, *(column.path for column in self.arguments)]
        typed = any(column.kind is not None for column in self.arguments)
        return self.unit is None and not typed and all(len(path) < 2 for path in paths)


def parse_mappings(
    text: str, time: str = "", *, optional_time: bool = False
) -> tuple[Mapping, ...]:
    """Parse mappings; with `time` they have no time column of their own.

    >>> (mapping,) = parse_mappings("ms(at) -> temp(`Sensor ID`, number(value), 3)")
    >>> mapping.columns, mapping.unit, mapping.args[2]
    (('at', 'Sensor ID', 'value'), 1000000, 3)
    >>> parse_mappings("hot(sensor)", time="at")[0].columns
    ('at', 'sensor')
    """
    reader = _Reader(text)
    try:
        mappings = [reader.mapping(time, optional_time)]
        while reader.take(";"):
            mappings.append(reader.mapping(time, optional_time))
        if not reader.ended:
            reader.fail("`;` or the end")
    except Refused as refused:
        raise LarsparkError(refused.at(_SOURCE, 1, text)) from None
    return tuple(mappings)


def parse_table_columns(text: str) -> tuple[str, tuple[ColumnName, ...]]:
    """The predicate and the columns of a table without times: `site(text(id), limit)`.

    >>> parse_table_columns("site(text(id), limit)")[1][0].kind.value
    'text'
    """
    (mapping,) = parse_mappings(text, time=_NO_TIME)
    columns = mapping.arguments
    if len(columns) < len(mapping.args) or any(column.path for column in columns):
        message = f"`{text}` does not consist of the columns of a table"
        raise LarsparkError(Problem("L303", message, hint="write `site(text(id), name)`"))
    return mapping.predicate, columns


def missing_columns(names: Sequence[str], columns: Sequence[str], table: str) -> list[Problem]:
    """A problem for each named column that is missing or ambiguous."""
    problems = []
    for name in dict.fromkeys(names):
        times = columns.count(name)
        if times == 0:
            listed = ", ".join(columns) if columns else "none"
            close = get_close_matches(name, columns, 1)
            hint = f"did you mean `{close[0]}`?" if close else ""
            message = f"{table} has no column `{name}`; its columns are {listed}"
            problems.append(Problem("L304", message, hint=hint))
        elif times > 1:
            problems.append(Problem("L304", f"{table} has {times} columns `{name}`"))
    return problems


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    @property
    def ended(self) -> bool:
        self._skip()
        return self._position == len(self._text)

    def mapping(self, time: str, optional_time: bool) -> Mapping:
        unit: int | None = None
        path: tuple[str, ...] = ()
        if not time:
            start = self._position
            unit, path = self._time()
            if not self.take("->"):
                if not optional_time:
                    self.fail("`->`")
                self._position, unit, path = start, None, ()
            time = ".".join(path)
        predicate = self._match(NAME) or self.fail("a predicate")
        args: list[Argument] = []
        if self.take("("):
            args.append(self._argument())
            while self.take(","):
                args.append(self._argument())
            self.take(")") or self.fail("`,` or `)`")
        return Mapping(time, predicate, tuple(args), unit, path if len(path) > 1 else ())

    def _time(self) -> tuple[int | None, tuple[str, ...]]:
        """The unit and the path of a time column."""
        self._skip()
        start = self._position
        path = self._path() or self.fail("a time column")
        after = self._position
        if not self.take("("):
            return None, path
        unit = UNITS.get(path[0])
        if unit is None or len(path) > 1:
            if "->" not in self._text[start:].partition(";")[0]:
                # It is the atom.
                self._position = after
                return None, path
            message = f"`{'.'.join(path)}` is not a unit of time"
            raise Refused("L303", message, f"the units are {', '.join(UNITS)}", start)
        path = self._path() or self.fail("a time column")
        self.take(")") or self.fail("`)`")
        return unit, path

    def take(self, symbol: str) -> bool:
        self._skip()
        found = self._text.startswith(symbol, self._position)
        if found:
            self._position += len(symbol)
        return found

    def fail(self, expected: str) -> NoReturn:
        self._skip()
        rest = self._text[self._position :]
        found = f"found `{rest[0]}`" if rest else "the mapping ends"
        hint = _EXAMPLE + (_TIMELESS if expected == "`->`" and rest.startswith("(") else "")
        raise Refused("L303", f"{found} where {expected} is expected", hint, self._position)

    def _argument(self) -> Argument:
        self._skip()
        start = self._position
        try:
            if digits := self._match(NUMBER):
                return number(digits)
            if quoted := self._match(STRING):
                return string(quoted)
        except Refused as refused:
            raise refused.moved(start) from None
        path = self._path() or self.fail("a column or a constant")
        if not self.take("("):
            return _column(path, None)
        kind = next((kind for kind in _TYPES if path == (kind.value,)), None)
        if kind is None:
            message = f"`{'.'.join(path)}` is not a type of columns"
            raise Refused("L303", message, f"the types are {', '.join(_TYPES)}", start)
        path = self._path() or self.fail("a column")
        self.take(")") or self.fail("`)`")
        return _column(path, kind)

    def _path(self) -> tuple[str, ...]:
        """A column, or a field of an object; empty if there is none."""
        path: list[str] = []
        while True:
            name = self._match(_COLUMN).strip("`")
            if not name:
                return tuple(path) if not path else self.fail("a field")
            path.append(name)
            if not self.take("."):
                return tuple(path)

    def _match(self, pattern: re.Pattern[str]) -> str:
        self._skip()
        match = pattern.match(self._text, self._position)
        if match is None:
            return ""
        self._position = match.end()
        return match[0]

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._position)
        self._position = space.end() if space else self._position


def _column(path: tuple[str, ...], kind: Kind | None) -> ColumnName:
    return ColumnName(".".join(path), kind, path if len(path) > 1 else ())

"""Mappings from columns to atoms: `time -> temp(sensor, value)`.

The time column is on the left of the arrow. The arguments of the atom are column names (in
backticks unless they are plain words), numbers, or quoted strings. `;` separates mappings.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn, TypeAlias

from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.feeds.ground_atoms import NAME, NUMBER, STRING, number, string
from larspark.feeds.reading import Refused

_SOURCE = "<map>"
_EXAMPLE = "write `time -> temp(sensor, value)`"
_COLUMN = re.compile(r"[^\W\d]\w*|`[^`]+`")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class ColumnName:
    name: str


Argument: TypeAlias = ColumnName | Constant


@dataclass(frozen=True, slots=True)
class Mapping:
    """One atom for every row, at the time of a column."""

    time: str
    predicate: str
    args: tuple[Argument, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, the time column first."""
        return (self.time, *(arg.name for arg in self.args if isinstance(arg, ColumnName)))


def parse_mappings(text: str, time: str = "") -> tuple[Mapping, ...]:
    """Parse mappings; with `time` they have no time column of their own.

    >>> parse_mappings('at -> temp(`Sensor ID`, 3)')
    (Mapping(time='at', predicate='temp', args=(ColumnName(name='Sensor ID'), 3)),)
    >>> parse_mappings("hot(sensor)", time="at")
    (Mapping(time='at', predicate='hot', args=(ColumnName(name='sensor'),)),)
    """
    reader = _Reader(text)
    try:
        mappings = [reader.mapping(time)]
        while reader.take(";"):
            mappings.append(reader.mapping(time))
        if not reader.ended:
            reader.fail("`;` or the end")
    except Refused as refused:
        raise LarsparkError(refused.at(_SOURCE, 1, text)) from None
    return tuple(mappings)


def missing_columns(mappings: tuple[Mapping, ...], columns: list[str], table: str) -> list[Problem]:
    """A problem for each named column that is missing or ambiguous."""
    named = dict.fromkeys(name for mapping in mappings for name in mapping.columns)
    problems = []
    for name in named:
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

    def mapping(self, time: str) -> Mapping:
        if not time:
            time = self._column() or self.fail("a time column")
            self.take("->") or self.fail("`->`")
        predicate = self._match(NAME) or self.fail("a predicate")
        args: list[Argument] = []
        if self.take("("):
            args.append(self._argument())
            while self.take(","):
                args.append(self._argument())
            self.take(")") or self.fail("`,` or `)`")
        return Mapping(time, predicate, tuple(args))

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
        raise Refused("L303", f"{found} where {expected} is expected", _EXAMPLE, self._position)

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
        return ColumnName(self._column() or self.fail("a column or a constant"))

    def _column(self) -> str:
        return self._match(_COLUMN).strip("`")

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

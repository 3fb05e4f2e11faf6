"""CQL: what a query reads: streams, relations and views, their windows, and joins."""

import re
from fractions import Fraction

from larspark.language.dialects.cql.expression_parser import ExpressionParser
from larspark.language.dialects.cql.query_tokens import RESERVED
from larspark.language.dialects.cql.query_tree import (
    Column,
    Condition,
    Rows,
    Source,
    TimeRange,
    WindowClause,
)
from larspark.language.source import Source as Text
from larspark.language.tokens import LONGEST_SIZE, Token, brief, span_between, whole_number

_SECOND = 1_000_000
_UNITS = {
    **dict.fromkeys(("microsecond", "microseconds"), 1),
    **dict.fromkeys(("millisecond", "milliseconds", "msec", "ms"), 1_000),
    **dict.fromkeys(("second", "seconds", "sec", "s"), _SECOND),
    **dict.fromkeys(("minute", "minutes", "min"), 60 * _SECOND),
    **dict.fromkeys(("hour", "hours", "h"), 3_600 * _SECOND),
    **dict.fromkeys(("day", "days", "d"), 86_400 * _SECOND),
}


# A length such as `1.5 seconds`.
_FRACTION = re.compile(r"[0-9]{1,12}\.[0-9]{1,6}")


class SourceParser(ExpressionParser):
    """Reads the sources of a query; `tick` is the length of a time point in microseconds."""

    def __init__(self, text: Text, tokens: list[Token], tick: int, half_open: bool) -> None:
        super().__init__(text, tokens)
        self._tick = tick
        self._half_open = half_open

    def _source(self) -> Source:
        if self._peek() == "(" and self._peek(1) == "select":
            return self._subquery_source()
        first = self._name("a stream, relation or view")
        window = None
        if self._take("["):
            window = self._window()
            self._need("]")
        alias = first.text.lower()
        if self._take("as") or (self._type() == "NAME" and self._peek() not in RESERVED):
            alias = self._name("a name").text.lower()
        return Source(first.text.lower(), window, alias, self._span(first))

    def _subquery_source(self) -> Source:
        """A source without a name, for a subquery, which is refused."""
        first = self._place()
        self._refuse("a subquery in FROM", first, "make it a view: `CREATE VIEW`")
        self._bracketed()
        if self._take("as") or (self._type() == "NAME" and self._peek() not in RESERVED):
            self._name("a name")
        return Source("", None, "", self._from(first))

    def _is_join(self) -> bool:
        return self._peek() in ("join", "inner", "left", "right", "full", "cross", "natural")

    def _join(self, sources: list[Source], conditions: list[Condition]) -> None:
        """`JOIN source ON condition` is a source and a condition; other joins are refused."""
        token = self._next()
        word = token.text.lower()
        if word in ("left", "right", "full"):
            self._take("outer")
            self._refuse(f"{word.upper()} OUTER JOIN", token.span, "there is no NULL")
        elif word == "natural":
            self._refuse("NATURAL JOIN", token.span, "write the condition")
        if word != "join":
            self._need("join")
        sources.append(self._source())
        if self._peek() == "using":
            self._refuse("USING", self._place(), "write `ON` and the condition")
            self._next()
            if self._take("("):
                self._skip_arguments()
        if self._take("on"):
            conditions.append(self._condition())

    def _window(self) -> WindowClause:
        if self._take("now"):
            return TimeRange(0, now=True)
        if self._take("rows"):
            if self._take("unbounded"):
                return TimeRange(None)
            return self._rows(())
        if self._take("partition"):
            self._need("by")
            columns = [self._column()]
            while self._take(","):
                columns.append(self._column())
            self._need("rows")
            return self._rows(tuple(columns))
        if sample := self._take("sample"):
            self._refuse("SAMPLE", sample.span, "answers are exact")
            self._skip_window()
            return TimeRange(None)
        if not self._take("range"):
            self._unexpected("`NOW`, `RANGE`, `ROWS` or `PARTITION BY`")
        unbounded = self._take("unbounded") is not None
        size = None if unbounded else self._duration("how long the range is")
        if self._take("slide"):
            slide_at = self._place()
            slide = self._duration("how long the slide is")
            covered = (size or 0) + (not self._half_open or not size)
            if slide == 0:
                self._text.report("L118", "a slide lasts at least one time point", slide_at)
                slide = 1
            elif size is not None and slide > covered:
                message = f"the slide leaves time points out: the range has {covered}"
                self._text.report("L118", message, slide_at)
            if size is None:
                self._refuse("SLIDE of an unbounded range", slide_at)
            return TimeRange(size, slide)
        return TimeRange(size)

    def _rows(self, columns: tuple[Column, ...]) -> Rows:
        rows = Rows(self._positive("how many rows"), columns)
        if self._peek() in ("range", "slide"):
            self._refuse(f"ROWS with {self._peek().upper()}", self._place())
            self._skip_window()
        return rows

    def _skip_window(self) -> None:
        while self._type() and self._peek() != "]":
            self._next()

    def _positive(self, what: str) -> int:
        if self._type() != "NUMBER":
            self._unexpected(what)
        token = self._next()
        number = whole_number(token)
        if number == 0:
            self._text.report("L118", "a window has at least one row", token.span)
        return number or 1

    def _duration(self, what: str) -> int:
        """A number of time points; with a unit it is converted by the tick."""
        if self._type() != "NUMBER":
            self._unexpected(what)
        token = self._next()
        if self._type() != "NAME" or self._peek() == "slide":
            number = whole_number(token)
            # What is no number has been reported.
            return 1 if number is None else number
        unit = self._next()
        micros = _UNITS.get(unit.text.lower())
        if micros is None:
            hint = "the units are milliseconds, seconds, minutes, hours and days"
            self._text.report("L116", f"`{brief(unit.text)}` is no unit of time", unit.span, hint)
            return 1
        if _FRACTION.fullmatch(token.text):
            length = Fraction(token.text) * micros
        else:
            length = Fraction(whole_number(token) or 0) * micros
        points, rest = divmod(length, self._tick)
        if rest:
            message = "this is no whole number of time points"
            hint = f"a time point lasts {self._tick / _SECOND:g} s; `--tick` changes it"
            self._text.report("L117", message, span_between(token, unit), hint)
        if points >= 10**LONGEST_SIZE:
            message = "this is too large a number of time points"
            self._text.report("L114", message, span_between(token, unit))
            return 1
        return points

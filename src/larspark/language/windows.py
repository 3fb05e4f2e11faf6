"""Windows as written: sizes with units to time points, and the numbers checked."""

from decimal import Decimal
from typing import NamedTuple

from larspark.base.terms import INTEGER_MAX
from larspark.language.dialects import TICKER_TICK, Dialect
from larspark.language.tokens import Token, span_between
from larspark.language.tree import Tick, TimeWindow

MICROSECONDS = {
    "us": 1,
    "ms": 1_000,
    "msec": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}


class Size(NamedTuple):
    """A number of time points, or a duration when it has a unit."""

    number: Token
    unit: Token | None

    @property
    def last(self) -> Token:
        return self.unit or self.number


def whole_number(token: Token) -> int:
    """A number that must be whole, such as how many tuples or time points."""
    if not token.text.isdigit():
        message = f"`{token.text}` is not a whole number"
        token.source.report("L114", message, token.span)
        return 0
    if len(token.text) > 18:
        token.source.report("L114", f"{_brief(token.text)} is too large a number", token.span)
        return 0
    return int(token.text)


def duration(size: Size) -> int | None:
    """A size with a unit in microseconds; None, and a problem, when it has none."""
    number, unit = size
    source = number.source
    if unit is None or unit.text not in MICROSECONDS:
        known = ", ".join(f"`{name}`" for name in MICROSECONDS)
        if unit is None:
            source.report("L116", "a duration needs a unit", number.span, f"one of {known}")
        else:
            source.report("L116", f"`{unit.text}` is no unit of time", unit.span, f"one of {known}")
        return None
    if len(number.text) > 18:
        source.report("L114", f"{_brief(number.text)} is too large a number", number.span)
        return None
    span = span_between(number, unit)
    exact = Decimal(number.text) * MICROSECONDS[unit.text]
    if exact > INTEGER_MAX:
        source.report("L114", f"{number.text} {unit.text} is too long a time", span)
        return None
    if exact != int(exact):
        source.report("L117", "the duration is not a whole number of microseconds", span)
        return None
    return int(exact)


def time_points(size: Size) -> int:
    """A size in time points; durations are converted by the length of one time point."""
    number, unit = size
    source = number.source
    tick = source.tick
    if unit is None and source.dialect is not Dialect.TICKER:
        return whole_number(number)
    if unit is None:
        length: int | None = whole_number(number) * MICROSECONDS["s"]
        tick = tick or TICKER_TICK
    else:
        length = duration(size)
    if length is None:
        return 0
    span = span_between(number, size.last)
    if tick is None:
        hint = "say how long one time point lasts, e.g. `#tick 1 s.`, or leave out the unit"
        source.report("L115", "a window with a unit needs `#tick`", span, hint)
        return 0
    points, rest = divmod(length, tick.microseconds)
    if rest:
        text = source.lines[span.line - 1][span.column - 1 : span.end_column - 1]
        message = f"`{text}` is not a whole number of time points of {tick_text(tick)}"
        hint = f"{points} or {points + 1} time points are possible"
        source.report("L117", message, span, hint)
        return 0
    return points


def tick_text(tick: Tick) -> str:
    """The length of a time point in the largest unit that gives a whole number.

    >>> tick_text(Tick(60_000_000)), tick_text(Tick(1_500_000))
    ('1 min', '1500 ms')
    """
    for unit in ("d", "h", "min", "s", "ms"):
        number, rest = divmod(tick.microseconds, MICROSECONDS[unit])
        if not rest:
            return f"{number} {unit}"
    return f"{tick.microseconds} us"


def time_window(
    past: int, future: int, every: Size | None, first: Token, last: Token
) -> TimeWindow:
    """`[past,+future every hop]`; a hop must lie within the window (Definition 3)."""
    if every is None:
        return TimeWindow(past, future)
    problems = len(first.source.problems)
    hop = time_points(every)
    if len(first.source.problems) > problems:
        return TimeWindow(past, future)
    span = span_between(every.number, every.last)
    if hop == 0:
        first.source.report("L118", "a window cannot hop by 0", span)
        return TimeWindow(past, future)
    if hop > past + future and (hop, past, future) != (1, 0, 0):
        message = f"the hop {hop} is larger than the window, which has size {past + future}"
        hint = f"time points in between would never be seen; the hop is at most {past + future}"
        first.source.report("L118", message, span, hint if past + future else "")
        return TimeWindow(past, future)
    return TimeWindow(past, future, hop)


def _brief(text: str) -> str:
    return text if len(text) <= 24 else f"a number of {len(text)} digits"

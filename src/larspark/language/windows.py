"""Windows as written: sizes with units to time points, and the numbers checked."""

from decimal import Decimal
from typing import NamedTuple

from larspark.base.terms import INTEGER_MAX
from larspark.language.dialects import Dialect
from larspark.language.literals import brief, whole_number
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
    # With so few digits, and no exponent, the product is exact.
    if len(number.text) > 18 or "e" in number.text.lower():
        message = f"`{brief(number.text)}` is too large or too fine a number"
        source.report("L114", message, number.span, "write a few digits, without exponent")
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


def time_points(size: Size) -> int | None:
    """A size in time points; durations are converted by the length of one time point."""
    number, unit = size
    source = number.source
    if unit is not None:
        length = duration(size)
    elif source.dialect is Dialect.TICKER:
        seconds = whole_number(number)
        length = None if seconds is None else seconds * MICROSECONDS["s"]
    else:
        return whole_number(number)
    if length is None:
        return None
    tick, span = source.tick, span_between(number, size.last)
    if tick is None:
        hint = "say how long one time point lasts, e.g. `#tick 1 s.`, or leave out the unit"
        source.report("L115", "a window with a unit needs `#tick`", span, hint)
        return None
    points, rest = divmod(length, tick.microseconds)
    if rest:
        text = source.lines[span.line - 1][span.column - 1 : span.end_column - 1]
        message = f"`{text}` is not a whole number of time points of {tick_text(tick)}"
        hint = f"{points} or {points + 1} time points are possible"
        source.report("L117", message, span, hint)
        return None
    return points


def time_window(past: Size | None, future: Size | None, every: Size | None) -> TimeWindow:
    """`[past,+future every hop]`; a hop must lie within the window (Definition 3)."""
    before = time_points(past) if past else 0
    after = time_points(future) if future else 0
    hop = time_points(every) if every else 1
    if before is None or after is None or hop is None:
        return TimeWindow(0)
    size = before + after
    if every is not None and (hop == 0 or hop > max(size, 1)):
        span = span_between(every.number, every.last)
        message = f"the hop {hop} does not lie within the window, which has size {size}"
        hint = f"time points would be left out; the hop is from 1 to {max(size, 1)}"
        every.number.source.report("L118", message, span, hint)
    return TimeWindow(before, after, hop)


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

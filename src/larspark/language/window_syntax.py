"""Windows as written: sizes with units to time points, and the numbers checked."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from larspark.base.atoms import Atom
from larspark.base.durations import MICROSECONDS, duration_text
from larspark.base.terms import INTEGER_MAX, Arithmetic, Constant, Term, Variable
from larspark.language.nodes import term_variables
from larspark.language.pieces import Piece, as_term, capital_hint
from larspark.language.tokens import Token, brief, span_between, text_of, whole_number
from larspark.language.tree import Tick
from larspark.language.windows import (
    FilterWindow,
    KeyTerm,
    NamedWindow,
    SessionWindow,
    SizedTupleWindow,
    TimeWindow,
    TupleWindow,
    Window,
)


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
    elif source.notation.bare_size is not None:
        units = whole_number(number)
        length = None if units is None else units * source.notation.bare_size
    else:
        return whole_number(number)
    if length is None:
        return None
    tick, span = source.tick, span_between(number, size.last)
    if tick is None:
        hint = "say how long one time point lasts, e.g. `#tick 1 s.`, or leave out the unit"
        source.report("L115", "a duration needs `#tick`", span, hint)
        return None
    points, rest = divmod(length, tick.microseconds)
    if rest:
        text = source.lines[span.line - 1][span.column - 1 : span.end_column - 1]
        message = f"`{text}` is not a whole number of time points of {tick_text(tick)}"
        hint = f"{points} or {points + 1} time points are possible"
        source.report("L117", message, span, hint)
        return None
    return points


# Lark leaves out what an optional part of a window does not have.
Side: TypeAlias = Size | Token | None


def time_window(past: Side, future: Side, every: Size | None) -> TimeWindow:
    """`[past,+future every hop]`; a hop leaves no time points out.

    Definition 3 has hops up to `past + future`. One more is a tumbling window of so many time
    points, `[4 every 5]`. A side is a size, or the token `*` for all of the past or the future.
    """
    before, after = _side(past), _side(future)
    hop = time_points(every) if every else 1
    if before is None or after is None or hop is None:
        return TimeWindow(0)
    size = before + after + 1
    if every is not None and not 0 < hop <= size:
        span = span_between(every.number, every.last)
        message = f"the hop {hop} does not fit the window, which has {size} time points"
        hint = f"time points would be left out; the hop is from 1 to {size}"
        every.number.source.report("L118", message, span, hint)
    endless = math.inf
    return TimeWindow(
        None if before == endless else int(before), None if after == endless else int(after), hop
    )


def _side(side: Side) -> float | None:
    """How far a window reaches to one side; None after a problem."""
    if side is None:
        return 0
    return math.inf if isinstance(side, Token) else time_points(side)


def tick_text(tick: Tick) -> str:
    """The length of a time point in the largest unit that gives a whole number.

    >>> tick_text(Tick(60_000_000)), tick_text(Tick(1_500_000))
    ('1 min', '1500 ms')
    """
    return duration_text(tick.microseconds)


# What Lark hands over: tokens, pieces and the results of earlier steps, in text order.
Children = Sequence[Any]


class Bracketed(NamedTuple):
    """A window with its brackets."""

    window: Window
    first: Token
    last: Token


class WindowSteps:
    """One method for each way to write a window."""

    def boxplus(self, children: Children) -> Bracketed:
        operator, bracketed = children
        return Bracketed(bracketed.window, operator, bracketed.last)

    def boxplus_past(self, children: Children) -> Bracketed:
        operator, number = children
        return Bracketed(time_window(Size(number, None), None, None), operator, number)

    def boxplus_tuples(self, children: Children) -> Bracketed:
        operator, _, number = children
        return Bracketed(_tuple_window(number, None, None), operator, number)

    def past_window(self, children: Children) -> Bracketed:
        first, past, _, every, last = children
        return Bracketed(time_window(past, None, every), first, last)

    def future_window(self, children: Children) -> Bracketed:
        first, _, future, _, every, last = children
        return Bracketed(time_window(None, future, every), first, last)

    def time_window(self, children: Children) -> Bracketed:
        first, past, _, _, future, _, every, last = children
        return Bracketed(time_window(past, future, every), first, last)

    def past_tuples(self, children: Children) -> Bracketed:
        first, _, past, keys, last = children
        return Bracketed(_tuple_window(past, None, keys), first, last)

    def past_tuples_ticker(self, children: Children) -> Bracketed:
        first, past, _, keys, last = children
        return Bracketed(_tuple_window(past, None, keys), first, last)

    def future_tuples(self, children: Children) -> Bracketed:
        first, _, _, future, keys, last = children
        return Bracketed(_tuple_window(None, future, keys), first, last)

    def tuple_window(self, children: Children) -> Bracketed:
        first, _, past, _, _, future, keys, last = children
        return Bracketed(_tuple_window(past, future, keys), first, last)

    def session_window(self, children: Children) -> Bracketed:
        first, ended, _, gap, _, longest, keys, last = children
        length = None if longest is None else time_points(longest)
        window = SessionWindow(time_points(gap) or 0, length, ended is not None, keys or ())
        return Bracketed(window, first, last)

    def filter_window(self, children: Children) -> Bracketed:
        patterns = tuple(atom for atom, _ in children[2:-1:2])
        return Bracketed(FilterWindow(patterns), children[0], children[-1])

    def named_window(self, children: Children) -> Bracketed:
        first, (pattern, pieces), last = children
        args: list[Constant] = []
        for piece, arg in zip(pieces, pattern.args, strict=True):
            if isinstance(arg, int | float | str):
                args.append(arg)
            else:
                message = f"`{piece.text()}` is not a constant"
                piece.report("L118", message, "the arguments of a window of your own are constants")
        return Bracketed(NamedWindow(pattern.predicate, tuple(args)), first, last)

    def old_ticker_window(self, children: Children) -> Bracketed:
        first, name, size, last = children
        if name.text != "t":
            hint = f"write `[{name.text}({size.number.text})]` for a window of your own"
            name.source.report(
                "L104", f"`{name.text}` cannot stand before a number", name.span, hint
            )
        return Bracketed(time_window(size, None, None), first, last)

    def size(self, children: Children) -> Size:
        return Size(*children)

    def keys(self, children: Children) -> tuple[KeyTerm, ...]:
        keys = []
        for piece in children[1::2]:
            term = as_term(piece)
            if isinstance(term, Variable | Arithmetic) and any(term_variables(term)):
                keys.append(term)
            else:
                message = f"`{piece.text()}` has no variable, so it cannot be a key"
                piece.report("L125", message, capital_hint(piece))
        return tuple(keys)

    def pattern(self, children: Children) -> tuple[Atom, Sequence[Piece]]:
        name = children[0]
        pieces = [piece for piece in children[2::2] if isinstance(piece, Piece)]
        args: tuple[Term, ...] = tuple([as_term(piece) for piece in pieces])
        return Atom(text_of(name), args), pieces


def _tuple_window(
    past: Token | None, future: Token | None, keys: tuple[KeyTerm, ...] | None
) -> Window:
    before, after = _count(past), _count(future)
    if isinstance(before, int) and isinstance(after, int):
        return TupleWindow(before, after, keys or ())
    return SizedTupleWindow(before, after, keys or ())


def _count(token: Token | None) -> int | Variable:
    """How many tuples a window has on one side."""
    if token is not None and token.type == "VARIABLE":
        return Variable(token.text)
    return (token and whole_number(token)) or 0

"""The steps of the parser that make windows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from larspark.base.atoms import Atom
from larspark.base.terms import Constant, Term, Variable
from larspark.language.literals import text_of, whole_number
from larspark.language.pieces import Piece, TermPiece, as_term, capital_hint
from larspark.language.tokens import Token
from larspark.language.tree import FilterWindow, NamedWindow, TimeWindow, TupleWindow, Window
from larspark.language.windows import Size, time_window

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

    def whole_past(self, children: Children) -> Bracketed:
        return Bracketed(TimeWindow(None), children[0], children[-1])

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

    def keys(self, children: Children) -> tuple[Variable, ...]:
        keys = []
        for piece in children[1::2]:
            if isinstance(piece, TermPiece) and isinstance(piece.term, Variable):
                keys.append(piece.term)
            else:
                message = f"`{piece.text()}` is not a variable, so it cannot be a key"
                piece.report("L125", message, capital_hint(piece))
        return tuple(keys)

    def pattern(self, children: Children) -> tuple[Atom, Sequence[Piece]]:
        name = children[0]
        pieces = [piece for piece in children[2::2] if isinstance(piece, Piece)]
        args: tuple[Term, ...] = tuple([as_term(piece) for piece in pieces])
        return Atom(text_of(name), args), pieces


def _tuple_window(
    past: Token | None, future: Token | None, keys: tuple[Variable, ...] | None
) -> TupleWindow:
    before = whole_number(past) if past else 0
    after = whole_number(future) if future else 0
    return TupleWindow(before or 0, after or 0, keys or ())

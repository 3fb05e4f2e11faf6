"""What the parser does at every step: from tokens and pieces to pieces, rules and directives."""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Constant, Operation, Term, Variable, Wildcard
from larspark.language.pieces import (
    CallPiece,
    FormulaPiece,
    NumberPiece,
    Piece,
    ShortPiece,
    TermPiece,
    TextPiece,
    TruthPiece,
    as_atom,
    as_formula,
    as_number,
    as_operand,
    as_term,
    as_time,
    capital_hint,
)
from larspark.language.tokens import Token, span_between
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Background,
    Comparison,
    FilterWindow,
    Formula,
    Implies,
    NamedWindow,
    Not,
    Or,
    Reset,
    Rule,
    Some,
    Tick,
    TimeWindow,
    Truth,
    TupleWindow,
    Window,
    Windowed,
)
from larspark.language.windows import Size, duration, time_points, time_window, whole_number


class TickDirective(NamedTuple):
    tick: Tick
    span: Span


class SignaturesDirective(NamedTuple):
    """`#input`, `#show` or `#remember`."""

    word: str
    signatures: tuple[Signature, ...]
    span: Span


class IncludeDirective(NamedTuple):
    path: str
    span: Span


Directive = TickDirective | SignaturesDirective | IncludeDirective | Background


class Bracketed(NamedTuple):
    """A window with its brackets."""

    window: Window
    first: Token
    last: Token


# What Lark hands over: tokens, pieces and the results of the methods below, in text order.
Children = Sequence[Any]


class Builder:
    """One method for each alternative of the grammar; it keeps no state of its own."""

    # Rules

    def fact(self, children: Children) -> Rule:
        (head,) = children
        return Rule(as_formula(head), (), head.span)

    def rule(self, children: Children) -> Rule:
        head, _, (body, last) = children
        return Rule(as_formula(head), body, span_between(head.first, last))

    def constraint(self, children: Children) -> Rule:
        if_, (body, last) = children
        return Rule(Truth(False, if_.span), body, span_between(if_, last))

    def body(self, children: Children) -> tuple[tuple[Formula, ...], Token]:
        parts = _flat(And, [as_formula(piece) for piece in children[::2]])
        return tuple(parts), children[-1].last

    def query(self, children: Children) -> Formula:
        return as_formula(children[0] if len(children) == 1 else _joined(And, children))

    # Formulas

    def implies(self, children: Children) -> Piece:
        left, _, right = children
        span = span_between(left.first, right.last)
        formula = Implies(as_formula(left), as_formula(right), span)
        return _formula(formula, left.first, right.last, max(left.depth, right.depth))

    def disjunction(self, children: Children) -> Piece:
        return _joined(Or, children)

    def conjunction(self, children: Children) -> Piece:
        return _joined(And, children)

    def negation(self, children: Children) -> Piece:
        operator, body = children
        formula = Not(as_formula(body), span_between(operator, body.last))
        return _formula(formula, operator, body.last, body.depth)

    def some(self, children: Children) -> Piece:
        operator, body = _unambiguous(children)
        formula = Some(as_formula(body), span_between(operator, body.last))
        return _formula(formula, operator, body.last, body.depth)

    def always(self, children: Children) -> Piece:
        operator, body = _unambiguous(children)
        formula = Always(as_formula(body), span_between(operator, body.last))
        return _formula(formula, operator, body.last, body.depth)

    def reset(self, children: Children) -> Piece:
        operator, body = children
        formula = Reset(as_formula(body), span_between(operator, body.last))
        return _formula(formula, operator, body.last, body.depth)

    def windowed(self, children: Children) -> Piece:
        bracketed, body = children
        span = span_between(bracketed.first, body.last)
        formula = Windowed(bracketed.window, as_formula(body), span)
        return _formula(formula, bracketed.first, body.last, body.depth)

    def at(self, children: Children) -> Piece:
        operator, time, body = children
        span = span_between(operator, body.last)
        depth = max(time.depth, body.depth) + 1
        if isinstance(body, ShortPiece) and body.bare:
            # Ticker's `@T p [5]` is `p at T [5]`: the window is the outer one.
            at = At(as_time(time), body.atom, span)
            formula: Formula = Windowed(body.window, at, span)
        else:
            formula = At(as_time(time), as_formula(body), span)
        return _formula(formula, operator, body.last, depth)

    def comparison(self, children: Children) -> Piece:
        left, operator, right = children
        span = span_between(left.first, right.last)
        values = (as_operand(left, "compare"), as_operand(right, "compare"))
        formula = Comparison(operator.text, *values, span)
        return _formula(formula, left.first, right.last, max(left.depth, right.depth))

    # Short forms after an atom

    def short_some(self, children: Children) -> Piece:
        piece, _, bracketed = children
        atom = _short_atom(piece, bracketed)
        return ShortPiece(atom, bracketed.window, piece.first, bracketed.last, piece.depth + 2)

    def short_always(self, children: Children) -> Piece:
        piece, _, _, bracketed = children
        span = span_between(piece.first, bracketed.last)
        always = Always(_short_atom(piece, bracketed), span)
        formula = Windowed(bracketed.window, always, span)
        return _formula(formula, piece.first, bracketed.last, piece.depth + 1)

    def short_at(self, children: Children) -> Piece:
        piece, _, time = children
        span = span_between(piece.first, time.last)
        formula = At(as_time(time), _short_atom(piece, time), span)
        return _formula(formula, piece.first, time.last, max(piece.depth, time.depth))

    def short_at_window(self, children: Children) -> Piece:
        piece, _, time, _, bracketed = children
        span = span_between(piece.first, bracketed.last)
        at = At(as_time(time), _short_atom(piece, bracketed), span)
        formula = Windowed(bracketed.window, at, span)
        depth = max(piece.depth, time.depth) + 1
        return _formula(formula, piece.first, bracketed.last, depth)

    # Terms

    def arithmetic(self, children: Children) -> Piece:
        left, operator, right = children
        operation: Operation = "mod" if operator.type == "MOD" else operator.text
        values = (as_number(left, operation), as_number(right, operation))
        depth = max(left.depth, right.depth) + 1
        return TermPiece(Arithmetic(operation, values), left.first, right.last, depth)

    def negative(self, children: Children) -> Piece:
        operator, piece = children
        if isinstance(piece, NumberPiece) and piece.bare and piece.first.type == "NUMBER":
            return NumberPiece(-piece.value, operator, piece.last)
        term = Arithmetic("-", (as_number(piece, "-"),))
        return TermPiece(term, operator, piece.last, piece.depth + 1)

    def number(self, children: Children) -> Piece:
        (token,) = children
        return NumberPiece(_number(token), token, token)

    def variable(self, children: Children) -> Piece:
        (token,) = children
        return TermPiece(Variable(token.text), token, token)

    def wildcard(self, children: Children) -> Piece:
        (token,) = children
        return TermPiece(Wildcard(), token, token)

    def text(self, children: Children) -> Piece:
        (token,) = children
        return TextPiece(text_of(token), token)

    def truth(self, children: Children) -> Piece:
        (token,) = children
        return TruthPiece(token.type == "TRUE", token)

    def call(self, children: Children) -> Piece:
        name, pieces, last = children[0], children[2:-1:2], children[-1]
        args = tuple([as_term(piece) for piece in pieces])
        depth = max([piece.depth for piece in pieces]) + 1
        return CallPiece(text_of(name), args, name, last, depth)

    def group(self, children: Children) -> Piece:
        first, last = children[0], children[-1]
        piece: Piece = children[1] if len(children) == 3 else _joined(And, children[1:-1])
        return piece.grouped(first, last)

    # Windows

    def boxplus(self, children: Children) -> Bracketed:
        operator, bracketed = children
        return Bracketed(bracketed.window, operator, bracketed.last)

    def boxplus_past(self, children: Children) -> Bracketed:
        operator, number = children
        return Bracketed(TimeWindow(time_points(Size(number, None))), operator, number)

    def boxplus_tuples(self, children: Children) -> Bracketed:
        operator, _, number = children
        return Bracketed(TupleWindow(whole_number(number)), operator, number)

    def whole_past(self, children: Children) -> Bracketed:
        return Bracketed(TimeWindow(None), children[0], children[-1])

    def past_window(self, children: Children) -> Bracketed:
        first, past, _, every, last = children
        return Bracketed(time_window(time_points(past), 0, every, first, last), first, last)

    def future_window(self, children: Children) -> Bracketed:
        first, _, future, _, every, last = children
        return Bracketed(time_window(0, time_points(future), every, first, last), first, last)

    def time_window(self, children: Children) -> Bracketed:
        first, past, _, _, future, _, every, last = children
        window = time_window(time_points(past), time_points(future), every, first, last)
        return Bracketed(window, first, last)

    def past_tuples(self, children: Children) -> Bracketed:
        first, _, past, keys, last = children
        return Bracketed(TupleWindow(whole_number(past), 0, keys or ()), first, last)

    def past_tuples_ticker(self, children: Children) -> Bracketed:
        first, past, _, keys, last = children
        return Bracketed(TupleWindow(whole_number(past), 0, keys or ()), first, last)

    def future_tuples(self, children: Children) -> Bracketed:
        first, _, _, future, keys, last = children
        return Bracketed(TupleWindow(0, whole_number(future), keys or ()), first, last)

    def tuple_window(self, children: Children) -> Bracketed:
        first, _, past, _, _, future, keys, last = children
        window = TupleWindow(whole_number(past), whole_number(future), keys or ())
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
        return Bracketed(TimeWindow(time_points(size)), first, last)

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

    # Directives

    def tick(self, children: Children) -> TickDirective | None:
        first, _, size = children
        length = duration(size)
        if length == 0:
            size.number.source.report("L114", "a time point cannot last 0", size.number.span)
        return TickDirective(Tick(length), span_between(first, size.last)) if length else None

    def signatures_directive(self, children: Children) -> SignaturesDirective:
        first, word, signatures = children
        span = span_between(first, word)
        return SignaturesDirective(word.text, tuple(signature for signature, _ in signatures), span)

    def background(self, children: Children) -> Background:
        first, _, path, _, (signature, last) = children
        return Background(text_of(path), signature, span_between(first, last))

    def include(self, children: Children) -> IncludeDirective:
        _, _, path = children
        return IncludeDirective(text_of(path), path.span)

    def signatures(self, children: Children) -> Children:
        return children[::2]

    def signature(self, children: Children) -> tuple[Signature, Token]:
        name, _, arity = children
        return Signature(text_of(name), whole_number(arity)), arity


_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def text_of(token: Token) -> str:
    """The text that a name or a quoted string stands for."""
    text = token.text
    if token.type != "STRING":
        return text
    inner = text[1:-1]
    # Laser's single quotes have no escapes.
    if "\\" not in inner or text[0] == "'":
        return inner

    def unescaped(match: re.Match[str]) -> str:
        char = match.group(1)
        if char not in _ESCAPES:
            column = token.column + 1 + match.start()
            span = token.span._replace(column=column, end_column=column + 2)
            hint = 'write `\\\\` for a backslash; `\\"`, `\\n`, `\\r` and `\\t` are the others'
            token.source.report("L102", f"`\\{char}` is no escape", span, hint)
        return _ESCAPES.get(char, "")

    return _ESCAPE.sub(unescaped, inner)


def _formula(formula: Formula, first: Token, last: Token, depth: int) -> Piece:
    return FormulaPiece(formula, first, last, depth + 1)


def _joined(kind: type[And] | type[Or], children: Children) -> Piece:
    """A conjunction or disjunction of the pieces at even places, flat."""
    pieces = children[::2]
    first, last = pieces[0].first, pieces[-1].last
    parts = tuple(_flat(kind, [as_formula(piece) for piece in pieces]))
    depth = max([piece.depth for piece in pieces])
    return _formula(kind(parts, span_between(first, last)), first, last, depth)


def _flat(kind: type[And] | type[Or], parts: list[Formula]) -> list[Formula]:
    if not any(isinstance(part, kind) for part in parts):
        return parts
    return [
        inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))
    ]


def _short_atom(piece: Piece, behind: Bracketed | Piece) -> AtomFormula:
    atom = as_atom(piece)
    if atom is not None:
        return atom
    span = span_between(piece.first, behind.last)
    message = f"`{piece.text()}` is not an atom, and only an atom is followed by a window or time"
    hint = "write the window or `@T` in front of the formula"
    piece.first.source.report("L119", message, span, hint)
    return AtomFormula(Atom("true"), piece.span)


def _unambiguous(children: Children) -> Children:
    """`always p [5]` might be `[5] always p` or `always [5] some p`."""
    operator, body = children
    if isinstance(body, ShortPiece) and body.bare:
        word, atom = operator.text, body.atom.atom.predicate
        message = f"`{word}` before an atom with a window behind it can be read in two ways"
        hint = f"write `[...] {word} {atom}` or `{word} [...] some {atom}`"
        operator.source.report("L119", message, span_between(operator, body.last), hint)
    return children


# More digits than this are not worth a conversion.
_LONGEST_INTEGER = 19


def _number(token: Token) -> int | float:
    text = token.text
    if text.isdigit():
        if len(text) <= _LONGEST_INTEGER or len(text.lstrip("0")) <= _LONGEST_INTEGER:
            return int(text)
        token.source.report("L114", "the number does not fit a 64-bit integer", token.span)
        return 0
    value = float(text)
    if math.isinf(value):
        token.source.report("L114", "the number does not fit a 64-bit float", token.span)
        return 0
    return value

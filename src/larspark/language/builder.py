"""The steps of the parser that make rules, formulas, terms and directives."""

from typing import NamedTuple

from larspark.base.atoms import TIME_COLUMNS, Atom, Signature
from larspark.base.column_types import COLUMN_TYPES
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Operation, Variable, Wildcard
from larspark.language.aggregate_syntax import (
    AggregateSteps,
    Literal,
    finish_body,
    literals_of,
)
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
)
from larspark.language.tokens import Token, number_of, span_between, text_of, whole_number
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Background,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Rule,
    Some,
    Tick,
    Truth,
    Windowed,
)
from larspark.language.window_syntax import (
    Bracketed,
    Children,
    Size,
    duration,
    time_points,
)


class TickDirective(NamedTuple):
    tick: Tick
    span: Span


class SignaturesDirective(NamedTuple):
    """`#input` or `#remember`."""

    word: str
    signatures: tuple[Signature, ...]
    span: Span


class Shown(NamedTuple):
    """A predicate of `#show`, with the names of its columns if they are given."""

    signature: Signature
    columns: tuple[str, ...] = ()
    span: Span | None = None


class ShowDirective(NamedTuple):
    shown: tuple[Shown, ...]


class IncludeDirective(NamedTuple):
    path: str
    span: Span


Directive = TickDirective | SignaturesDirective | ShowDirective | IncludeDirective | Background


class DirectiveSteps:
    """One method for each directive."""

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

    def show(self, children: Children) -> ShowDirective:
        _, _, shown = children
        return ShowDirective(tuple(shown))

    def shown(self, children: Children) -> Children:
        return [child if isinstance(child, Shown) else Shown(child[0]) for child in children[::2]]

    def named_columns(self, children: Children) -> Shown:
        name, tokens, last = children[0], children[2:-1:2], children[-1]
        columns = tuple([token.text for token in tokens])
        for place, token in enumerate(tokens):
            if token.text in TIME_COLUMNS:
                message = f"`{token.text}` is a column of every table of answers"
                hint = "`from` and `to` say when an answer holds; choose another name"
                token.source.report("L133", message, token.span, hint)
            elif token.text in columns[:place]:
                message = f"two columns of `{text_of(name)}` are called `{token.text}`"
                token.source.report("L133", message, token.span)
        return Shown(Signature(text_of(name), len(columns)), columns, span_between(name, last))

    def background(self, children: Children) -> Background:
        first, _, path, _, (signature, *columns, last) = children
        names, types = zip(*columns, strict=True) if columns else ((), ())
        kinds = types if any(types) else ()
        return Background(text_of(path), signature, names, kinds, span_between(first, last))

    def table_columns(self, children: Children) -> tuple[Signature | tuple[str, str] | Token, ...]:
        found = children[2:-1:2]
        columns = [each if isinstance(each, tuple) else (text_of(each), "") for each in found]
        return Signature(text_of(children[0]), len(columns)), *columns, children[-1]

    def typed_column(self, children: Children) -> tuple[str, str]:
        kind, _, name, _ = children
        if kind.text not in COLUMN_TYPES:
            message = f"`{kind.text}` is not a type of columns"
            hint = f"the types are {', '.join(COLUMN_TYPES)}"
            kind.source.report("L104", message, kind.span, hint)
        return text_of(name), kind.text

    def include(self, children: Children) -> IncludeDirective:
        _, _, path = children
        return IncludeDirective(text_of(path), path.span)

    def signatures(self, children: Children) -> Children:
        return children[::2]

    def signature(self, children: Children) -> tuple[Signature, Token]:
        name, _, arity = children
        return Signature(text_of(name), whole_number(arity) or 0), arity


class Builder(AggregateSteps, DirectiveSteps):
    """One method for each alternative of the grammar; it keeps no state of its own."""

    # Rules

    def fact(self, children: Children) -> Rule:
        (piece,) = children
        head = as_formula(piece)
        return Rule(head, finish_body(head, ()), piece.span)

    def rule(self, children: Children) -> Rule:
        piece, _, (body, last) = children
        head = as_formula(piece)
        return Rule(head, finish_body(head, body), span_between(piece.first, last))

    def constraint(self, children: Children) -> Rule:
        if_, (body, last) = children
        head = Truth(False, if_.span)
        return Rule(head, finish_body(None, body), span_between(if_, last))

    def body(self, children: Children) -> tuple[list[Literal], Token]:
        return literals_of(children[::2]), children[-1].last

    def query(self, children: Children) -> Formula:
        pieces = children[::2]
        parts = finish_body(None, literals_of(pieces))
        span = span_between(pieces[0].first, pieces[-1].last)
        return parts[0] if len(parts) == 1 else And(parts, span)

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
        depth = max(time.depth, body.depth)
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
        return NumberPiece(number_of(token), token, token)

    def duration(self, children: Children) -> Piece:
        number, unit = children
        return NumberPiece(time_points(Size(number, unit)) or 0, number, unit)

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
        message = f"`{word}` before an atom with a window after it can be read in two ways"
        hint = f"write `[...] {word} {atom}` or `{word} [...] some {atom}`"
        operator.source.report("L119", message, span_between(operator, body.last), hint)
    return children

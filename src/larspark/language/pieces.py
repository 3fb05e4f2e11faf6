"""What the parser has read but not yet judged: a term, a formula, or something that may be both.

`a` may be a constant or an atom, `p(X)` an atom or (for `min`, `max`, `abs`) a number. A piece
becomes a term or a formula where the text around it demands one.
"""

import re
from copy import copy
from typing import Self

from larspark.base.atoms import Atom
from larspark.base.problems import Span
from larspark.base.terms import (
    INTEGER_MAX,
    INTEGER_MIN,
    NOW,
    Arithmetic,
    Operation,
    Term,
    Variable,
    Wildcard,
    constant,
)
from larspark.language.tokens import Token, span_between
from larspark.language.tree import AtomFormula, Formula, Some, Truth, Windowed
from larspark.language.windows import Window
from larspark.language.words import FUNCTIONS, short_form

# Deeper trees are refused, so that nothing that walks them can overflow its stack.
MAX_DEPTH = 100


class TooDeepError(Exception):
    """The statement nests more than `MAX_DEPTH` operators; it has been reported."""


class Piece:
    """A part of a statement between two tokens. `bare` is False inside parentheses."""

    __slots__ = ("bare", "depth", "first", "last")

    def __init__(self, first: Token, last: Token, depth: int = 1) -> None:
        self.first = first
        self.last = last
        self.depth = depth
        self.bare = True
        if depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} operators are nested here"
            hint = "split the rule: give a part of it a name of its own"
            first.source.report("L107", message, first.span, hint)
            raise TooDeepError

    @property
    def span(self) -> Span:
        return span_between(self.first, self.last)

    def report(self, code: str, message: str, hint: str = "") -> None:
        self.first.source.report(code, message, self.span, hint)

    def grouped(self, first: Token, last: Token) -> Self:
        """The same in parentheses."""
        piece = copy(self)
        piece.first, piece.last, piece.bare = first, last, False
        return piece

    def text(self) -> str:
        """The piece as it was written, shortened."""
        first, last = self.first, self.last
        line = first.source.lines[first.line - 1]
        end = last.end_column - 1 if last.line == first.line else len(line)
        text = " ".join(line[first.column - 1 : end].split())
        return text if len(text) <= 40 else f"{text[:37]}..."

    def word_before(self) -> str | None:
        """The word that stands right before the piece, as in `reset(X)`."""
        before = self.first.source.lines[self.first.line - 1][: self.first.column - 1]
        found = re.search(r"[a-z]+\Z", before)
        return found.group() if found else None


class NumberPiece(Piece):
    """A number as written; whether it is in range is checked when it becomes a term."""

    __slots__ = ("value",)

    def __init__(self, value: int | float, first: Token, last: Token) -> None:
        super().__init__(first, last)
        self.value = value


class TextPiece(Piece):
    """A name or string: a constant, or an atom without arguments."""

    __slots__ = ("value",)

    def __init__(self, value: str, token: Token) -> None:
        super().__init__(token, token)
        self.value = value


class TruthPiece(Piece):
    """`true` or `false`: a formula, or a constant."""

    __slots__ = ("value",)

    def __init__(self, value: bool, token: Token) -> None:
        super().__init__(token, token)
        self.value = value


class CallPiece(Piece):
    """`name(args)`: an atom, or one of the functions of arithmetic."""

    __slots__ = ("args", "name")

    def __init__(
        self, name: str, args: tuple[Term, ...], first: Token, last: Token, depth: int
    ) -> None:
        super().__init__(first, last, depth)
        self.name = name
        self.args = args


class TermPiece(Piece):
    """A variable, `_`, or arithmetic."""

    __slots__ = ("term",)

    def __init__(self, term: Term, first: Token, last: Token, depth: int = 1) -> None:
        super().__init__(first, last, depth)
        self.term = term


class FormulaPiece(Piece):
    """Something that can only be a formula."""

    __slots__ = ("formula",)

    def __init__(self, formula: Formula, first: Token, last: Token, depth: int = 1) -> None:
        super().__init__(first, last, depth)
        self.formula = formula


class ShortPiece(Piece):
    """`p(X) [5]`: an atom, and the window after it."""

    __slots__ = ("atom", "window")

    def __init__(
        self, atom: AtomFormula, window: Window, first: Token, last: Token, depth: int
    ) -> None:
        super().__init__(first, last, depth)
        self.atom = atom
        self.window = window


def as_formula(piece: Piece) -> Formula:
    """The piece where a formula is wanted."""
    match piece:
        case FormulaPiece():
            return piece.formula
        case CallPiece(name=name, args=args):
            relation = piece.first.source.notation.relation(name, args, piece.span)
            if relation is not None and any(isinstance(arg, Wildcard) for arg in args):
                piece.report("L123", f"`_` has no value for the relation `{name}`")
            return relation or AtomFormula(Atom(name, args), piece.span)
        case TextPiece(value=name):
            return AtomFormula(Atom(name), piece.span)
        case ShortPiece(atom=atom, window=window):
            span = piece.span
            return Windowed(window, Some(atom, span), span)
        case TruthPiece(value=value):
            return Truth(value, piece.span)
    text = piece.text()
    word = piece.word_before() if text.startswith("(") else None
    if word is not None:
        hint = f"`{word}` is a word of the language; give the predicate another name"
    elif isinstance(piece, TermPiece) and isinstance(piece.term, Variable):
        hint = f"a predicate starts with a small letter: `{text.lstrip('_').lower()}`"
    else:
        hint = f"compare it with something: `{text} > 0`"
    piece.report("L112", f"`{text}` is a term, and a formula is expected here", hint)
    return Truth(True, piece.span)


def as_atom(piece: Piece) -> AtomFormula | None:
    """The piece as an atom, or None when it is something else."""
    if not isinstance(piece, CallPiece | TextPiece) or not piece.bare:
        return None
    formula = as_formula(piece)
    return formula if isinstance(formula, AtomFormula) else None


def as_term(piece: Piece) -> Term:
    """The piece where a term is wanted."""
    match piece:
        case TermPiece():
            return piece.term
        case TextPiece():
            is_now = piece.first.type == "NAME" and piece.value == NOW.name
            return NOW if is_now and piece.first.source.notation.has_now else piece.value
        case NumberPiece(value=value):
            if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
                piece.report("L114", "the number does not fit a 64-bit integer")
                return 0
            return constant(value)
        case CallPiece():
            return _applied(piece)
        case TruthPiece() if piece.first.text.isascii():
            return "true" if piece.value else "false"
    piece.report("L113", f"`{piece.text()}` is a formula, and a term is expected here")
    return 0


def as_operand(piece: Piece, purpose: str) -> Term:
    """The piece where a value is compared or computed."""
    term = as_term(piece)
    if isinstance(term, Wildcard):
        piece.report("L123", f"`_` has no value to {purpose}", "use a variable that an atom binds")
        return 0
    return term


def as_number(piece: Piece, operation: str) -> Term:
    """The piece where arithmetic needs a number."""
    term = as_operand(piece, "compute with")
    if isinstance(term, str):
        message = f"`{piece.text()}` is text, and `{operation}` needs numbers"
        piece.report("L114", message, capital_hint(piece))
        return 0
    return term


def as_time(piece: Piece) -> Term:
    """The piece where a time point is wanted."""
    term = as_operand(piece, "be a time")
    if isinstance(term, str):
        message = f"`{piece.text()}` is text, and a time is expected here"
        piece.report("L124", message, capital_hint(piece))
        return 0
    if isinstance(term, float):
        piece.report("L124", f"`{piece.text()}` is no time point", "time points are whole numbers")
        return 0
    return term


def capital_hint(piece: Piece) -> str:
    """A name in the place of a variable is most often a variable in small letters."""
    if piece.first.type != "NAME":
        return ""
    text = piece.first.text
    return f"a variable starts with a capital letter: `{text[0].upper()}{text[1:]}`"


_FUNCTIONS: dict[str, tuple[Operation, int]] = {
    "abs": ("abs", 1),
    "min": ("min", 2),
    "max": ("max", 2),
}


def _applied(piece: CallPiece) -> Term:
    name, args = piece.name, piece.args
    if name not in _FUNCTIONS:
        message = f"`{piece.text()}` applies a function, and terms have none"
        hint = "the functions of arithmetic are `abs`, `min` and `max`"
        if name in FUNCTIONS:
            hint = f"write `{short_form(name)}` for an aggregate"
        piece.report("L122", message, hint)
        return 0
    operation, arity = _FUNCTIONS[name]
    if len(args) != arity:
        count = "one argument" if arity == 1 else "two arguments"
        piece.report("L122", f"`{name}` takes {count}, not {len(args)}")
        return 0
    if any(isinstance(arg, str | Wildcard) for arg in args):
        hint = "a variable starts with a capital letter"
        piece.report("L114", f"`{name}` needs numbers", hint)
        return 0
    return Arithmetic(operation, args)

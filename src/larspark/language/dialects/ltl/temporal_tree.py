"""Formulas of linear temporal logic with past (PLTL) over finite streams, and their text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from larspark.base.atoms import Atom, atom_text
from larspark.base.problems import Span
from larspark.language.tree import NOWHERE

# `X` and `Y` are strong: false where there is no next or previous time point. `WX` and `Z` are
# their weak forms. `M` is the strong release, `T` (trigger) and `B` (weak since) mirror `R`, `W`.
UnaryOperator: TypeAlias = Literal["!", "X", "WX", "F", "G", "Y", "Z", "O", "H"]
BinaryOperator: TypeAlias = Literal["->", "<->", "U", "R", "W", "M", "S", "T", "B"]
ListOperator: TypeAlias = Literal["&", "|"]
Fixed: TypeAlias = Literal["true", "false", "first", "last"]


@dataclass(frozen=True, slots=True)
class Proposition:
    """A ground atom: it holds at a time point where the stream has it."""

    atom: Atom
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Known:
    """`true`, `false`, and the first and the last time point of the stream."""

    name: Fixed
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    operator: UnaryOperator
    body: "Temporal"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    operator: BinaryOperator
    left: "Temporal"
    right: "Temporal"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Listed:
    """A conjunction or disjunction of two or more formulas."""

    operator: ListOperator
    parts: tuple["Temporal", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Temporal: TypeAlias = Proposition | Known | Unary | Binary | Listed

FUTURE = frozenset(("X", "WX", "F", "G", "U", "R", "W", "M"))


def below(formula: Temporal) -> tuple[Temporal, ...]:
    """The formulas directly below a formula."""
    match formula:
        case Unary(_, body):
            return (body,)
        case Binary(_, left, right):
            return (left, right)
        case Listed(_, parts):
            return parts
        case _:
            return ()


def subformulas(formula: Temporal) -> Iterator[Temporal]:
    """The formula and everything below it."""
    pending = [formula]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(below(current))


def looks_ahead(formula: Temporal) -> bool:
    """Can what comes later change whether the formula holds at a time point?"""
    return any(
        (isinstance(part, Unary | Binary) and part.operator in FUTURE)
        or (isinstance(part, Known) and part.name == "last")
        for part in subformulas(formula)
    )


# From the weakest; binary temporal operators bind more strongly than `&`.
_STRENGTH = {"<->": 0, "->": 1, "|": 2, "&": 3}
_TEMPORAL, _UNARY = 4, 5
_WRITTEN = {"WX": "X[?]", "Y": "X^-1", "O": "F^-1", "H": "G^-1", "S": "U^-1"}


def temporal_text(formula: Temporal) -> str:
    """Write a formula with few parentheses, so that the dialect `ltl` reads it back.

    >>> p, q = Proposition(Atom("p")), Proposition(Atom("q"))
    >>> temporal_text(Binary("->", p, Unary("F", Listed("|", (q, Unary("Y", p))))))
    'p -> F (q | X^-1 p)'
    """
    match formula:
        case Proposition(atom):
            return proposition_text(atom)
        case Known(name):
            return name
        case Unary("!", body):
            return f"!{_operand(body, _UNARY)}"
        case Unary(operator, body):
            return f"{_WRITTEN.get(operator, operator)} {_operand(body, _UNARY)}"
        case Binary(operator, left, right):
            strength = _strength(formula)
            ends = (strength + 1, strength if operator != "<->" else strength + 1)
            sides = [_operand(side, end) for side, end in zip((left, right), ends, strict=True)]
            return f"{sides[0]} {_WRITTEN.get(operator, operator)} {sides[1]}"
        case Listed(operator, parts):
            strength = _STRENGTH[operator] + 1
            return f" {operator} ".join(_operand(part, strength) for part in parts)


def proposition_text(atom: Atom) -> str:
    """Write an atom; predicates that are words of the logic are quoted."""
    text = atom_text(atom)
    return f'"{atom.predicate}"{text[len(atom.predicate) :]}' if atom.predicate in WORDS else text


# Names that are operators or constants; as atoms they stand in quotes.
WORDS = {
    "true": "true",
    "tt": "true",
    "false": "false",
    "ff": "false",
    "first": "first",
    "last": "last",
    "not": "!",
    "and": "&",
    "or": "|",
}


def _strength(formula: Temporal) -> int:
    match formula:
        case Listed(operator) | Binary(operator) if operator in _STRENGTH:
            return _STRENGTH[operator]
        case Binary():
            return _TEMPORAL
        case Unary():
            return _UNARY
        case _:
            return _UNARY + 1


def _operand(formula: Temporal, least: int) -> str:
    text = temporal_text(formula)
    return text if _strength(formula) >= least else f"({text})"

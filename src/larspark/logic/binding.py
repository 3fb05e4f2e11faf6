"""Which variables of a formula take their values from data, and which terms have a value.

A variable is bound by a positive atom below any windows and temporal operators; by a time pin over
a formula with such an atom, or over `true`; by `X = term` over bound variables; and by a
disjunction if every part binds it. Negation and implication bind nothing. An aggregate binds the
variables of `by` and the variable of `N = #count{...}` once its other global variables are bound.
"""

from collections.abc import Container, Iterable
from typing import assert_never

from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language.nodes import subterms, term_variables, variables
from larspark.language.tree import (
    Aggregate,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Some,
    Truth,
    Windowed,
)
from larspark.logic.traversal import has_witness


def linear(term: Term) -> tuple[str, int] | None:
    """The variable and the offset of a term of the form `T`, `T+3`, `3+T` or `T-3`."""
    match term:
        case Variable(name):
            return name, 0
        case Arithmetic("+", (left, int() as offset)) | Arithmetic("+", (int() as offset, left)):
            inner = linear(left)
            return inner and (inner[0], inner[1] + offset)
        case Arithmetic("-", (left, int() as offset)):
            inner = linear(left)
            return inner and (inner[0], inner[1] - offset)
        case _:
            return None


def is_bound(term: Term, bound: Container[str]) -> bool:
    """Are all variables of the term bound?"""
    if isinstance(term, Variable):
        return term.name in bound
    if isinstance(term, Arithmetic):
        return all(variable.name in bound for variable in term_variables(term))
    return True


def binds_all(formula: Formula, bound: Iterable[str]) -> bool:
    """Is every variable of the formula bound, or does the formula itself bind it?"""
    return {variable.name for variable in variables(formula)} <= bound_after(formula, bound)


def bound_variables(conjunction: Iterable[Formula], given: Iterable[str] = ()) -> frozenset[str]:
    """The variables that a conjunction binds, with those that are given."""
    parts = tuple(conjunction)
    bound = set(given)
    # An equation can use what a later part binds, so the parts are read until nothing is new;
    # in both directions, because equations come in chains.
    before = -1
    while before != len(bound):
        before = len(bound)
        for part in (*parts, *reversed(parts)):
            _bind(part, bound)
    return frozenset(bound)


def bound_after(formula: Formula, bound: Iterable[str]) -> set[str]:
    """The variables that are bound once a formula has bound what it can."""
    after = set(bound)
    _bind(formula, after)
    return after


def _bind(formula: Formula, bound: set[str]) -> None:
    """Add the variables that a formula binds when those in `bound` are bound already."""
    match formula:
        case AtomFormula(atom):
            bound.update(term.name for term in atom.args if isinstance(term, Variable))
        case Comparison("=", left, right):
            _equate(left, right, bound)
            _equate(right, left, bound)
        case And(parts):
            for part in parts:
                _bind(part, bound)
        case Or(parts):
            branches = [bound_after(part, bound) for part in parts]
            bound.update(set.intersection(*branches))
        case At(time, body):
            _bind(body, bound)
            pin = linear(time)
            if pin is not None and (has_witness(body) or _is_everywhere(body)):
                bound.add(pin[0])
        case Some(body) | Always(body) | Windowed(_, body) | Reset(body):
            _bind(body, bound)
        case Aggregate(guards=guards, by=by, shared=shared):
            if bound.issuperset(v.name for v in shared if v not in by):
                bound.update(variable.name for variable in by)
                equal = (guard.term for guard in guards if guard.operator == "=")
                bound.update(term.name for term in equal if isinstance(term, Variable))
        case Not() | Implies() | Comparison() | Truth():
            pass
        case _:
            assert_never(formula)


def _is_everywhere(body: Formula) -> bool:
    """Does the body stand for every time point, as `@T true` and `@T (true and not p)` do?"""
    parts = body.parts if isinstance(body, And) else (body,)
    return any(isinstance(part, Truth) and part.value for part in parts)


def _equate(term: Term, other: Term, bound: set[str]) -> None:
    if isinstance(term, Variable) and all(
        part.name in bound if isinstance(part, Variable) else not isinstance(part, Wildcard)
        for part in subterms(other)
    ):
        bound.add(term.name)

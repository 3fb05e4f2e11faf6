"""The parts of a formula: the formulas, terms and variables in it."""

from collections.abc import Iterator
from typing import assert_never

from larspark.base.terms import Arithmetic, Term, Variable
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


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly below a formula."""
    match formula:
        case AtomFormula() | Comparison() | Truth():
            return ()
        case Not() | Some() | Always() | At() | Windowed() | Reset():
            return (formula.body,)
        case And() | Or():
            return formula.parts
        case Implies():
            return (formula.left, formula.right)
        case Aggregate(elements=elements):
            return tuple(part for element in elements for part in element.conditions)
        case _:
            assert_never(formula)


def walk(formula: Formula) -> Iterator[Formula]:
    """The formula and everything below it, in the order of the text."""
    pending = [formula]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(children(current)))


def terms(formula: Formula) -> tuple[Term, ...]:
    """The terms that a formula itself holds, not those of the formulas below it."""
    match formula:
        case AtomFormula(atom):
            return atom.args
        case Comparison(_, left, right):
            return (left, right)
        case At(time):
            return (time,)
        case Windowed(window):
            return window.terms
        case Aggregate(_, elements, guards, by):
            inside = (term for element in elements for term in element.terms)
            return (*(guard.term for guard in guards), *by, *inside)
        case _:
            return ()


def subterms(term: Term) -> Iterator[Term]:
    """The term and everything below it."""
    pending = [term]
    while pending:
        current = pending.pop()
        yield current
        if isinstance(current, Arithmetic):
            pending.extend(reversed(current.args))


def term_variables(term: Term) -> Iterator[Variable]:
    """The variables of a term, in the order of the text, with repetitions."""
    return (part for part in subterms(term) if isinstance(part, Variable))


def variables(formula: Formula) -> Iterator[Variable]:
    """The variables of a formula, in the order of the text, with repetitions.

    Of an aggregate these are its global variables.
    """
    if isinstance(formula, Aggregate):
        for guard in formula.guards:
            yield from term_variables(guard.term)
        yield from formula.by
        yield from formula.shared
        return
    for part in walk(formula):
        for term in terms(part):
            yield from term_variables(term)


def time_names(formula: Formula) -> frozenset[str]:
    """The names of variables that stand for time points: those of `@T`."""
    return frozenset(
        part.time.name
        for part in walk(formula)
        if isinstance(part, At) and isinstance(part.time, Variable)
    )

"""Formulas with their variables replaced by values."""

from dataclasses import replace
from typing import assert_never

from larspark.base.atoms import Atom
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.tree import (
    Aggregate,
    AggregateElement,
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
from larspark.logic.binding import is_bound
from larspark.logic.values import Substitution, value


def substitute(formula: Formula, binding: Substitution) -> Formula:
    """The formula with bound variables replaced; the keys of partitions keep their names.

    >>> from larspark.language import formula_text, parse_formula
    >>> formula = parse_formula("[#1 by ID] @T+1 tram(ID, X)").formula
    >>> formula_text(substitute(formula, {"ID": "a1", "T": 36}))
    '[#1 by ID] @37 tram(a1, X)'
    """
    match formula:
        case AtomFormula(atom):
            return replace(formula, atom=_atom(atom, binding))
        case Comparison(_, left, right):
            # What is compared stays visible, so nothing is calculated here.
            return replace(formula, left=_bound(left, binding), right=_bound(right, binding))
        case Truth():
            return formula
        case Not(body) | Some(body) | Always(body) | Reset(body):
            return replace(formula, body=substitute(body, binding))
        case And(parts) | Or(parts):
            return replace(formula, parts=tuple(substitute(part, binding) for part in parts))
        case Implies(left, right):
            return replace(
                formula, left=substitute(left, binding), right=substitute(right, binding)
            )
        case At(time, body):
            return replace(formula, time=_term(time, binding), body=substitute(body, binding))
        case Windowed(window, body):
            bound = window.with_sizes(binding).with_filters(lambda pattern: _atom(pattern, binding))
            return replace(formula, window=bound, body=substitute(body, binding))
        case Aggregate():
            return _aggregate(formula, binding)
        case _:
            assert_never(formula)


def _aggregate(aggregate: Aggregate, binding: Substitution) -> Aggregate:
    """The aggregate with its global variables replaced; a group with a value needs no `by`."""
    shared = {variable.name for variable in aggregate.shared}
    inner = {name: bound for name, bound in binding.items() if name in shared}
    elements = tuple(substitute_element(element, inner) for element in aggregate.elements)
    guards = tuple(replace(g, term=_bound(g.term, binding)) for g in aggregate.guards)
    left = tuple(variable for variable in aggregate.shared if variable.name not in inner)
    by = tuple(variable for variable in aggregate.by if variable.name not in inner)
    return replace(aggregate, elements=elements, guards=guards, by=by, shared=left)


def substitute_element(element: AggregateElement, binding: Substitution) -> AggregateElement:
    """The element of an aggregate with bound variables replaced."""
    return AggregateElement(
        tuple(_bound(term, binding) for term in element.terms),
        tuple(substitute(condition, binding) for condition in element.conditions),
    )


def _atom(atom: Atom, binding: Substitution) -> Atom:
    return Atom(atom.predicate, tuple(_term(term, binding) for term in atom.args))


def _term(term: Term, binding: Substitution) -> Term:
    """The value of a term, if it has one."""
    if isinstance(term, Variable | Arithmetic):
        if is_bound(term, binding):
            known = value(term, binding)
            if known is not None:
                return known
        return _bound(term, binding)
    return term


def _bound(term: Term, binding: Substitution) -> Term:
    match term:
        case Variable(name):
            return binding.get(name, term)
        case Arithmetic(operation, args):
            return Arithmetic(operation, tuple(_bound(arg, binding) for arg in args))
        case _:
            return term

"""Variables that a rule uses once, as wildcards."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from larspark.base.atoms import Atom
from larspark.base.terms import Term, Variable, Wildcard
from larspark.language.nodes import term_variables, terms, walk
from larspark.language.tree import At, AtomFormula, Formula, Some, Windowed


def with_wildcards(head: Atom, body: Iterable[Formula]) -> list[Formula]:
    """The body of a rule with `_` for a variable that occurs nowhere else in the rule."""
    literals = list(body)
    held = [*head.args, *(t for part in literals for inner in walk(part) for t in terms(inner))]
    used = Counter(variable for term in held for variable in term_variables(term))
    alone = {variable: Wildcard() for variable, times in used.items() if times == 1}
    return [_replaced(literal, alone) for literal in literals] if alone else literals


def _replaced(formula: Formula, changes: Mapping[Variable, Wildcard]) -> Formula:
    """A positive literal with other terms for some of its variables."""
    match formula:
        case AtomFormula(atom):
            args = tuple(_changed(term, changes) for term in atom.args)
            return replace(formula, atom=Atom(atom.predicate, args))
        case Some() | At() | Windowed():
            return replace(formula, body=_replaced(formula.body, changes))
        case _:
            return formula


def _changed(term: Term, changes: Mapping[Variable, Wildcard]) -> Term:
    return changes.get(term, term) if isinstance(term, Variable) else term

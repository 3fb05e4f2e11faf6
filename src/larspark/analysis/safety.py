"""Safety: every variable of a rule or query takes finitely many values, found in the data.

The local variables of an aggregate are bound by the conditions of their element.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from larspark.base.atoms import Atom, term_text
from larspark.base.problems import Problem
from larspark.base.spelling import Vocabulary
from larspark.base.terms import Variable, Wildcard
from larspark.language.nodes import term_variables, terms, variables, walk
from larspark.language.tree import (
    Aggregate,
    AggregateElement,
    And,
    At,
    AtomFormula,
    Formula,
    Or,
    Rule,
)
from larspark.logic.binding import bound_variables
from larspark.logic.traversal import has_witness, occurrences

# An atom of the program for every variable name that one binds.
Examples: TypeAlias = dict[str, Atom]


def query_problems(formula: Formula) -> Iterator[Problem]:
    """What makes a query unsafe."""
    return _body_problems(formula.parts if isinstance(formula, And) else (formula,), {})


def rule_problems(rule: Rule, examples: Examples) -> Iterator[Problem]:
    """What makes a rule unsafe; the examples serve for hints."""
    yield from _wildcard_problems(rule.head)
    bound = bound_variables(rule.body)
    names = Vocabulary(bound)
    # What waits for a group of an aggregate is reported there.
    waiting = {v.name for part in rule.body if isinstance(part, Aggregate) for v in part.shared}
    for name, part in _first_places((rule.head,)):
        if name not in bound and name not in waiting | _awaited(rule.body, bound):
            message = f"head variable `{name}` is bound by no positive body atom"
            yield Problem("L202", message, part.span, _hint(name, names, examples), focus=name)
    yield from _body_problems(rule.body, examples)


def examples(rules: Iterable[Rule]) -> Examples:
    """For every variable name an atom that binds it in some rule: the first one."""
    found: Examples = {}
    for rule in rules:
        for formula in rule.body:
            for occurrence in occurrences(formula):
                if occurrence.positive:
                    atom = occurrence.formula.atom
                    for term in atom.args:
                        if isinstance(term, Variable):
                            found.setdefault(term.name, atom)
    return found


def _body_problems(body: Sequence[Formula], examples: Examples) -> Iterator[Problem]:
    bound = bound_variables(body)
    for part in body:
        if isinstance(part, Aggregate):
            yield from _aggregate_problems(part)
    places = dict(_first_places(body))
    awaited = _awaited(body, bound)
    missing = [name for name in places if name not in bound]
    # If all of them wait for each other, each is reported.
    unbound = [name for name in missing if name not in awaited] or missing
    if not unbound:
        return
    names = Vocabulary(bound)
    once = {name for name, n in Counter(_all_names(body)).items() if n == 1}
    partly = frozenset(_partly_bound(body))
    for name in unbound:
        part = places[name]
        if isinstance(part, Aggregate) and any(v.name == name for v in part.shared):
            hint = f"write `by {name}` after the aggregate for a group for each `{name}`, or bind "
            hint += f"`{name}` with an atom"
        elif isinstance(part, At) and not has_witness(part.body):
            hint = "a time variable needs a positive atom or `true` below its `@`"
        elif name in partly:
            hint = f"bind `{name}` in every part of the `or`, or outside of it"
        elif name in once and isinstance(part, AtomFormula):
            hint = f"write `_` for any value, or bind `{name}` with another atom"
        else:
            hint = _hint(name, names, examples)
        message = f"variable `{name}` is bound by no positive body atom"
        yield Problem("L203", message, part.span, hint, focus=name)


def _awaited(body: Iterable[Formula], bound: frozenset[str]) -> set[str]:
    """The variables of `N = #count{...}` that only lack a value because a global one does."""
    return {
        guard.term.name
        for part in body
        if isinstance(part, Aggregate)
        and any(v.name not in bound and v not in part.by for v in part.shared)
        for guard in part.guards
        if guard.operator == "=" and isinstance(guard.term, Variable)
    }


def _aggregate_problems(aggregate: Aggregate) -> Iterator[Problem]:
    """Local variables that their element does not bind, and groups that it does not give."""
    given = [v.name for v in aggregate.shared if v not in aggregate.by]
    for element in aggregate.elements:
        bound = bound_variables(element.conditions, given)
        for name in _element_names(element):
            if name not in bound and all(v.name != name for v in aggregate.by):
                message = f"variable `{name}` is bound by no condition of its element"
                hint = f"bind `{name}` after the `:`, with an atom that has it as an argument"
                yield Problem("L206", message, aggregate.span, hint, focus=name)
        for key in aggregate.by:
            if key.name not in bound:
                message = f"`by {key.name}`: an element of the aggregate does not bind `{key.name}`"
                hint = f"every element needs an atom with `{key.name}` as an argument"
                yield Problem("L207", message, aggregate.span, hint, focus=key.name)


def _element_names(element: AggregateElement) -> Iterator[str]:
    names = [v.name for term in element.terms for v in term_variables(term)]
    names += [v.name for condition in element.conditions for v in variables(condition)]
    return iter(dict.fromkeys(names))


def _first_places(body: Iterable[Formula]) -> Iterator[tuple[str, Formula]]:
    """The variables of formulas, each with the part where it stands first."""
    seen: set[str] = set()
    for formula in body:
        # Local variables of an aggregate are checked with their element.
        parts = (formula,) if isinstance(formula, Aggregate) else walk(formula)
        for part in parts:
            for variable in _own_variables(part):
                if variable.name not in seen:
                    seen.add(variable.name)
                    yield variable.name, part


def _own_variables(part: Formula) -> Iterator[Variable]:
    if isinstance(part, Aggregate):
        return variables(part)
    return (variable for term in terms(part) for variable in term_variables(term))


def _all_names(body: Iterable[Formula]) -> Iterator[str]:
    return (variable.name for formula in body for variable in variables(formula))


def _partly_bound(body: Iterable[Formula]) -> Iterator[str]:
    """The variables that a part of a disjunction binds."""
    for formula in body:
        for part in walk(formula):
            if isinstance(part, Or):
                for branch in part.parts:
                    yield from bound_variables((branch,))


def _hint(name: str, names: Vocabulary, examples: Examples) -> str:
    similar = names.closest(name)
    if similar is not None:
        return f"did you mean `{similar}`?"
    if name in examples:
        return f"bind `{name}` in the body, e.g. with `{_spaced(examples[name])}`"
    return f"bind `{name}` in the body, with an atom that has it as an argument"


def _wildcard_problems(head: Formula) -> Iterator[Problem]:
    for part in walk(head):
        if isinstance(part, AtomFormula) and any(isinstance(t, Wildcard) for t in part.atom.args):
            message = "`_` cannot stand in a head: it names no value"
            hint = "use a variable that the body binds"
            yield Problem("L204", message, part.span, hint, focus="_")


def _spaced(atom: Atom) -> str:
    return f"{atom.predicate}({', '.join(map(term_text, atom.args))})"

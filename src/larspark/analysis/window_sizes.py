"""Windows whose sizes background data gives: `[#N by M] some p(M, X), size(M, N)`.

Such a rule stands for one rule for each size; the atom of the background data says for which groups
it is. So a partition may have another size for each of its groups (000, Definition 5).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from larspark.analysis.signatures import split_facts
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Variable
from larspark.language.nodes import walk
from larspark.language.tree import (
    Aggregate,
    AggregateElement,
    AtomFormula,
    Formula,
    Program,
    Rule,
    Windowed,
)
from larspark.logic.substitution import substitute, substitute_element
from larspark.logic.traversal import formulas

# More sizes than these are taken for a mistake: every size is a window of its own.
SIZES_LIMIT = 1000

_Data: TypeAlias = Mapping[Signature, Sequence[Atom]]


def has_sizes(program: Program) -> bool:
    """Does a window of the program have a size that is not written in it?"""
    return any(any(_sizes_of(rule)) for rule in program.rules)


def with_sizes(program: Program, background: Iterable[Atom]) -> Program:
    """The program with a rule for each size; what nothing gives a size stays as it is."""
    if not has_sizes(program):
        return program
    data: dict[Signature, list[Atom]] = {part.signature: [] for part in program.backgrounds}
    for atom in (*split_facts(program).background, *background):
        data.setdefault(atom.signature, []).append(atom)
    rules = tuple(instance for rule in program.rules for instance in _instances(rule, data))
    return replace(program, rules=rules)


def _instances(rule: Rule, data: _Data) -> list[Rule]:
    """The rules that a rule stands for, in the order of the sizes."""
    pending, done = [rule], list[Rule]()
    while pending:
        current = pending.pop(0)
        found = next((made for v in _sizes_of(current) if (made := _given(current, v, data))), None)
        if found is None:
            done.append(current)
        else:
            pending.extend(found)
        if len(pending) + len(done) > SIZES_LIMIT:
            message = f"background data gives more than {SIZES_LIMIT} sizes to a window"
            raise LarsparkError(Problem("L231", message, rule.span))
    return done


def _sizes(formula: Formula) -> Iterator[Variable]:
    """The variables that stand for the sizes of windows."""
    for part in walk(formula):
        if isinstance(part, Windowed):
            yield from part.window.sizes


def _sizes_of(rule: Rule) -> Iterator[Variable]:
    return (size for formula in formulas(rule) for size in _sizes(formula))


def _given(rule: Rule, size: Variable, data: _Data) -> list[Rule]:
    """The rule with every value of a size; none if no background data gives it."""
    aggregates = [part for part in rule.body if isinstance(part, Aggregate)]
    if any(size in aggregate.by for aggregate in aggregates):
        # Such a variable has the values of the groups.
        return []
    values = _values(rule.body, size, data)
    if values:
        return [_with_value(rule, {size.name: value}) for value in values]
    body = tuple(
        _with_values(part, size, data) if isinstance(part, Aggregate) else part
        for part in rule.body
    )
    return [] if body == rule.body else [replace(rule, body=body)]


def _values(literals: Iterable[Formula], size: Variable, data: _Data) -> list[int]:
    """The sizes that an atom among the literals allows; 0 if it allows none and so never holds."""
    for literal in literals:
        if isinstance(literal, AtomFormula) and size in literal.atom.args:
            atoms = data.get(literal.atom.signature)
            if atoms is not None:
                place = literal.atom.args.index(size)
                found = {a.args[place] for a in atoms if _may_match(literal.atom, a)}
                return sorted(v for v in found if isinstance(v, int) and v >= 0) or [0]
    return []


def _may_match(pattern: Atom, atom: Atom) -> bool:
    return all(
        wanted == given or not isinstance(wanted, int | float | str)
        for wanted, given in zip(pattern.args, atom.args, strict=True)
    )


def _with_value(rule: Rule, value: Mapping[str, Constant]) -> Rule:
    body = tuple(substitute(part, value) for part in rule.body)
    return replace(rule, head=substitute(rule.head, value), body=body)


def _with_values(aggregate: Aggregate, size: Variable, data: _Data) -> Aggregate:
    """The aggregate with an element for each value of a size that is local to an element."""
    elements: list[AggregateElement] = []
    for element in aggregate.elements:
        inside = {size for part in element.conditions for size in _sizes(part)}
        values = [] if size in aggregate.shared else _values(element.conditions, size, data)
        if not values or size not in inside:
            elements.append(element)
            continue
        elements += [substitute_element(element, {size.name: value}) for value in values]
    return replace(aggregate, elements=tuple(elements))

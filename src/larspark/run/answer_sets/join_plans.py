"""How to find the instances of a rule that a new row makes possible.

A plan starts from a row for one positive literal of a rule and extends it, literal by literal,
with the rows that match. Bindings are tuples that grow; every step knows at which place a variable
stands.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

from larspark.base.terms import Constant, Term, Variable, Wildcard
from larspark.logic.values import compare, value
from larspark.run.answer_sets.encoding import CoreAtom, CoreRule, Within
from larspark.run.answer_sets.given_relations import Row
from larspark.run.answer_sets.plain_rules import InTimeline, IsTime, Test, Windows, term_names

Projection: TypeAlias = Callable[[Row], Row]


class Table:
    """The rows of a relation, with an index for every set of columns that is looked up."""

    def __init__(self) -> None:
        self._indexes: dict[tuple[int, ...], tuple[Projection, dict[Row, dict[Row, None]]]] = {}
        self.rows: dict[Row, None] = {}

    def index(self, columns: tuple[int, ...]) -> dict[Row, dict[Row, None]]:
        """The rows by their values in some columns."""
        if columns not in self._indexes:
            self._indexes[columns] = (projection(columns), {})
        return self._indexes[columns][1]

    def add(self, row: Row) -> None:
        self.rows[row] = None
        for key, index in self._indexes.values():
            index.setdefault(key(row), {})[row] = None

    def remove(self, row: Row) -> None:
        del self.rows[row]
        for key, index in self._indexes.values():
            found = index[key(row)]
            del found[row]
            if not found:
                del index[key(row)]


@dataclass(frozen=True, slots=True)
class Shape:
    """A rule over named variables only: what a binding of all of them says about each literal.

    Wildcards have got names, so that a binding names one row for every literal.
    """

    rule: CoreRule
    variables: tuple[str, ...]
    heads: tuple[tuple[int, Projection], ...]
    positive: tuple[tuple[int, Projection], ...]
    negative: tuple[tuple[int, Projection], ...]
    within: tuple[tuple[Windows, Projection], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The instances of a rule with a given row for one positive literal; all of them without."""

    shape: int
    seed: Callable[[Row], Row | None]
    steps: tuple[Callable[[list[Row]], list[Row]], ...]
    binding: Projection

    def bindings(self, row: Row) -> Iterable[Row]:
        """The values of all variables of the rule, for each instance that can be."""
        seed = self.seed(row)
        if seed is None:
            return ()
        found = [seed]
        for step in self.steps:
            found = step(found)
            if not found:
                return ()
        return map(self.binding, found)


def shape(rule: CoreRule) -> Shape:
    """Name everything in a rule."""
    wild = 0
    positive: list[CoreAtom] = []
    for atom in rule.positive:
        terms: list[Term] = []
        for term in atom.terms:
            if isinstance(term, Wildcard):
                wild += 1
                term = Variable(f"#_{wild}")
            terms.append(term)
        positive.append(CoreAtom(atom.relation, tuple(terms)))
    named = CoreRule(rule.heads, tuple(positive), rule.negative, rule.conditions)
    names: dict[str, None] = {}
    for atom in (*positive, *rule.negative, *rule.heads):
        for term in atom.terms:
            names.update(dict.fromkeys(term_names(term)))
    for condition in rule.conditions:
        read = (
            (condition.left, condition.right) if isinstance(condition, Test) else (condition.term,)
        )
        for term in read:
            names.update(dict.fromkeys(term_names(term)))
    places = {name: place for place, name in enumerate(names)}

    def rows(atoms: Iterable[CoreAtom]) -> tuple[tuple[int, Projection], ...]:
        return tuple((atom.relation, _row_of(atom.terms, places)) for atom in atoms)

    within = [(w.windows, _row_of((w.term,), places)) for w in _dynamic(rule)]
    return Shape(
        named,
        tuple(names),
        rows(rule.heads),
        rows(positive),
        rows(rule.negative),
        tuple(within),
    )


def _dynamic(rule: CoreRule) -> list[Within]:
    """The conditions whose truth changes with time."""
    found: list[Within] = []
    for condition in rule.conditions:
        if isinstance(condition, Within):
            found.append(condition)
        elif isinstance(condition, InTimeline):
            found.append(Within(condition.term, ()))
    return found


def plan(number: int, of: Shape, occurrence: int | None, tables: Sequence[Table]) -> Plan:
    """The plan for new rows of one positive literal, or without any for rules that have none."""
    waiting = list(enumerate(of.rule.positive))
    conditions = [c for c in of.rule.conditions if isinstance(c, Test | IsTime)]
    places: dict[str, int] = {}
    steps: list[Callable[[list[Row]], list[Row]]] = []
    seed: Callable[[Row], Row | None] = lambda row: row  # noqa: E731 - the seed of no literal
    if occurrence is not None:
        seed = _seed(waiting.pop(occurrence)[1], places)
    while True:
        conditions = _add_conditions(conditions, places, steps)
        if not waiting:
            break
        best = max(waiting, key=lambda item: (_bound_columns(item[1], places), -item[0]))
        waiting.remove(best)
        steps.append(_match(best[1], places, tables))
    order = projection([places[name] for name in of.variables])
    return Plan(number, seed, tuple(steps), order)


def projection(places: Sequence[int]) -> Projection:
    """The values at some places of a row.

    >>> projection((2, 0))(("a", "b", "c"))
    ('c', 'a')
    """
    match list(places):
        case []:
            return lambda row: ()
        case [place]:
            return lambda row: (row[place],)
        case several:
            return itemgetter(*several)


def _row_of(terms: Sequence[Term], places: dict[str, int]) -> Projection:
    """The row that terms stand for, once their variables have values at these places."""
    if all(isinstance(term, Variable) for term in terms):
        return projection([places[t.name] for t in terms if isinstance(t, Variable)])
    parts = [(places[t.name], None) if isinstance(t, Variable) else (-1, t) for t in terms]

    def row(binding: Row) -> Row:
        # What is no variable here is a constant: wildcards were named, arithmetic was taken out.
        return tuple(binding[p] if p >= 0 else given for p, given in parts)  # type: ignore[misc]

    return row


def _seed(atom: CoreAtom, places: dict[str, int]) -> Callable[[Row], Row | None]:
    """What a row for this literal binds; None if it does not match."""
    new, checks, constants = _columns(atom, places)
    pick = projection(new)
    if not checks and not constants:
        return pick

    def seed(row: Row) -> Row | None:
        if any(row[column] != given for column, given in constants):
            return None
        if any(row[column] != row[first] for column, first in checks):
            return None
        return pick(row)

    return seed


def _columns(
    atom: CoreAtom, places: dict[str, int]
) -> tuple[list[int], list[tuple[int, int]], list[tuple[int, Constant]]]:
    """New columns, columns that repeat one of them, and columns with constants.

    The variables of the new columns get their places.
    """
    new: list[int] = []
    checks: list[tuple[int, int]] = []
    constants: list[tuple[int, Constant]] = []
    first: dict[str, int] = {}
    for column, term in enumerate(atom.terms):
        if isinstance(term, Variable):
            if term.name in first:
                checks.append((column, first[term.name]))
            elif term.name not in places:
                first[term.name] = column
                new.append(column)
                places[term.name] = len(places)
        elif isinstance(term, int | float | str):
            constants.append((column, term))
    return new, checks, constants


def _match(
    atom: CoreAtom, places: dict[str, int], tables: Sequence[Table]
) -> Callable[[list[Row]], list[Row]]:
    """Extend bindings with the rows of a relation that agree with them."""
    bound = [
        column
        for column, term in enumerate(atom.terms)
        if not isinstance(term, Variable) or term.name in places
    ]
    key = _row_of([atom.terms[column] for column in bound], dict(places))
    index = tables[atom.relation].index(tuple(bound))
    new, checks, _ = _columns(atom, places)
    pick = projection(new)

    def match(bindings: list[Row]) -> list[Row]:
        found: list[Row] = []
        for binding in bindings:
            rows: Iterable[Row] = index.get(key(binding), ())
            if checks:
                rows = [r for r in rows if all(r[column] == r[first] for column, first in checks)]
            found.extend([binding + pick(row) for row in rows])
        return found

    return match


def _bound_columns(atom: CoreAtom, places: dict[str, int]) -> int:
    return sum(not isinstance(t, Variable) or t.name in places for t in atom.terms)


def _add_conditions(
    conditions: list[Test | IsTime],
    places: dict[str, int],
    steps: list[Callable[[list[Row]], list[Row]]],
) -> list[Test | IsTime]:
    """Add the conditions that have what they need; the others wait."""
    progress = True
    while progress:
        progress = False
        rest: list[Test | IsTime] = []
        for condition in conditions:
            step = _condition(condition, places)
            if step is None:
                rest.append(condition)
            else:
                steps.append(step)
                progress = True
        conditions = rest
    return conditions


def _condition(
    condition: Test | IsTime, places: dict[str, int]
) -> Callable[[list[Row]], list[Row]] | None:
    if isinstance(condition, IsTime):
        if not _is_known(condition.term, places):
            return None
        number = _calculation(condition.term, places)
        return lambda bindings: [b for b in bindings if isinstance(number(b), int)]
    left, right = condition.left, condition.right
    if _is_known(left, places) and _is_known(right, places):
        one, other, operator = _calculation(left, places), _calculation(right, places), condition
        return lambda bindings: [
            b for b in bindings if compare(operator.operator, one(b), other(b))
        ]
    for unknown, known in ((left, right), (right, left)):
        if condition.operator == "=" and isinstance(unknown, Variable) and _is_known(known, places):
            result = _calculation(known, places)
            places[unknown.name] = len(places)
            return lambda bindings: [
                (*b, given) for b in bindings if (given := result(b)) is not None
            ]
    return None


def _is_known(term: Term, places: dict[str, int]) -> bool:
    return all(name in places for name in term_names(term))


def _calculation(term: Term, places: dict[str, int]) -> Callable[[Row], Constant | None]:
    if isinstance(term, Variable):
        place = places[term.name]
        return lambda binding: binding[place]
    used = [(name, places[name]) for name in dict.fromkeys(term_names(term))]
    return lambda binding: value(term, {name: binding[place] for name, place in used})

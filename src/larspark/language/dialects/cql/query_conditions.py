"""Conditions in disjunctive normal form, and equations between columns as shared variables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.dialects.cql.query_scope import Bound, substitute
from larspark.language.dialects.cql.query_tree import (
    AggregateCall,
    Compared,
    Condition,
    Exists,
    Expression,
    Junction,
    Negation,
    Operation,
)
from larspark.language.tree import NEGATED

# A condition with more alternatives than this is refused.
MAX_ALTERNATIVES = 64


class TooManyAlternativesError(Exception):
    """A condition has more than `MAX_ALTERNATIVES` alternatives."""


@dataclass(frozen=True, slots=True)
class Required:
    """A comparison, or a subquery that has rows, or with `negated` none."""

    condition: Compared | Exists
    negated: bool = False


def alternatives(condition: Condition | None) -> list[list[Required]]:
    """The condition as alternatives of what they require; without a condition one, of nothing."""
    if condition is None:
        return [[]]
    return _alternatives(condition, False)


def _alternatives(condition: Condition, negated: bool) -> list[list[Required]]:
    match condition:
        case Compared():
            if not negated:
                return [[Required(condition)]]
            # Neither holds where a side has no value, as in SQL.
            return [[Required(replace(condition, operator=NEGATED[condition.operator]))]]
        case Exists():
            return [[Required(condition, negated)]]
        case Negation(body):
            return _alternatives(body, not negated)
        case Junction(operator, parts):
            found = [_alternatives(part, negated) for part in parts]
            if (operator == "or") != negated:
                return _limited([alternative for part in found for alternative in part])
            combined: list[list[Required]] = [[]]
            for part in found:
                if len(combined) * len(part) > MAX_ALTERNATIVES:
                    raise TooManyAlternativesError
                combined = [[*left, *right] for left, right in product(combined, part)]
            return combined


def _limited(found: list[list[Required]]) -> list[list[Required]]:
    if len(found) > MAX_ALTERNATIVES:
        raise TooManyAlternativesError
    return found


def calls(expression: Expression | Condition | None) -> list[AggregateCall]:
    """The aggregates in an expression or a condition, in the order of the text."""
    match expression:
        case AggregateCall():
            return [expression]
        case Operation(_, operands):
            return [call for operand in operands for call in calls(operand)]
        case Compared(_, left, right):
            return [*calls(left), *calls(right)]
        case Junction(_, parts):
            return [call for part in parts for call in calls(part)]
        case Negation(body):
            return calls(body)
        case Exists(_, element):
            return calls(element)
        case _:
            return []


class Equation(NamedTuple):
    """A comparison of two terms."""

    operator: str
    left: Term
    right: Term
    span: Span


def unify(
    bound: Sequence[Bound], equations: Sequence[Equation], frozen: set[Term]
) -> tuple[dict[Variable, Term], list[Equation]]:
    """Terms for variables of the sources, and the comparisons that this does not cover.

    A variable of `frozen` stays, and so does one that a window partitions by: the key of a group
    is a variable that its atom holds once.
    """
    own = {term: n for n, term in enumerate(t for one in bound for t in one.terms)}
    keys = {key for one in bound for key in one.keys}
    changes: dict[Variable, Term] = {}
    rest: list[Equation] = []
    for equation in equations:
        left, right = (substitute(side, changes) for side in (equation.left, equation.right))
        if (
            equation.operator != "="
            or isinstance(left, Arithmetic)
            or isinstance(right, Arithmetic)
        ):
            rest.append(equation)
            continue
        if left == right:
            continue
        for old, new in _directions(left, right, own):
            trial = {v: substitute(term, {old: new}) for v, term in changes.items()} | {old: new}
            if old not in frozen and old not in keys and _keys_stand_alone(bound, trial):
                changes = trial
                break
        else:
            rest.append(equation)
    return changes, rest


def _directions(left: Term, right: Term, own: dict[Term, int]) -> list[tuple[Variable, Term]]:
    """What may be replaced by what; a later column by an earlier one rather than the reverse."""
    found: list[tuple[Variable, Term]] = [
        (old, new)
        for old, new in ((right, left), (left, right))
        if isinstance(old, Variable) and old in own
    ]
    found.sort(key=lambda pair: -own[pair[0]])
    return found


def _keys_stand_alone(bound: Sequence[Bound], changes: dict[Variable, Term]) -> bool:
    for one in bound:
        terms = [substitute(term, changes) for term in one.terms]
        if any(terms.count(key) > 1 for key in one.keys):
            return False
    return True

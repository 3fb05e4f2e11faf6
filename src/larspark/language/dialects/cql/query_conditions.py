"""Conditions in disjunctive normal form, negation at the comparisons and subqueries."""

from dataclasses import dataclass, replace
from itertools import product

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

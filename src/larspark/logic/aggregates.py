"""The value of an aggregate over a set of tuples, and its comparison with guards.

Sums are exact: integers stay integers, and if a float takes part the exact sum is rounded once.
"""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import TypeAlias

from larspark.base.terms import Constant, constant
from larspark.language.tree import AggregateFunction
from larspark.logic.values import compare

Tuple: TypeAlias = tuple[Constant, ...]
# An operator and the value to compare with; None is no value.
GroundGuard: TypeAlias = tuple[str, Constant | None]


def aggregate_value(function: AggregateFunction, tuples: Collection[Tuple]) -> Constant | None:
    """The value of an aggregate over different tuples; None if it has no value.

    >>> aggregate_value("sum", {(1e16, 1), (1, 2), (-1e16, 3)})
    1
    >>> aggregate_value("sum", {(2**63 - 1, 1), (1, 2)}) is None
    True
    >>> aggregate_value("avg", {(1,), (2,)}), aggregate_value("avg", {("text",)})
    (1.5, None)
    """
    if function == "count":
        return len(tuples)
    numbers = [first for first, *_ in tuples if not isinstance(first, str)]
    if not numbers:
        return 0 if function == "sum" else None
    if function == "min":
        return min(numbers)
    if function == "max":
        return max(numbers)
    exact = sum(map(Fraction, numbers), Fraction(0))
    if function == "avg":
        exact /= len(numbers)
    return rounded(exact, integers=all(isinstance(number, int) for number in numbers))


def rounded(exact: Fraction, *, integers: bool) -> Constant | None:
    """An exact result as a constant: an integer if only integers took part and it is one."""
    whole = integers and exact.denominator == 1
    try:
        return constant(exact.numerator if whole else exact.numerator / exact.denominator)
    except (ValueError, OverflowError):
        return None


def fulfils(
    function: AggregateFunction,
    tuples: Collection[Tuple],
    guards: Sequence[GroundGuard],
    *,
    grouped: bool,
) -> bool:
    """Does an aggregate literal hold of a set of tuples? With `by` the set must not be empty."""
    if grouped and not tuples:
        return False
    found = aggregate_value(function, tuples)
    return all(compare(operator, found, bound) for operator, bound in guards)

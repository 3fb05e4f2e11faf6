"""The values of terms and the truth of comparisons, outside the solver.

The solver's own integers have 32 bits and wrap around, and it knows no floats; so everything that
calculates or orders constants is decided here. A term without a value gives None.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from larspark.base.terms import Arithmetic, Constant, Term, Variable, Wildcard, constant

Binding: TypeAlias = Mapping[str, Constant]

NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def value(term: Term, binding: Binding) -> Constant | None:
    """The constant that a term stands for; None when it has no value.

    >>> value(Arithmetic("/", (Variable("X"), 2)), {"X": 7})
    3.5
    >>> value(Arithmetic("+", (Variable("X"), 1)), {"X": 2**63 - 1}) is None
    True
    """
    match term:
        case Variable(name):
            return binding[name]
        case Arithmetic(operation, args):
            return _calculate(operation, [value(arg, binding) for arg in args])
        case Wildcard():
            return None
        case _:
            return term


def time_value(term: Term, binding: Binding) -> int | None:
    """The time point that a time pin names; None when it names none."""
    point = value(term, binding)
    return point if isinstance(point, int) else None


def compare(comparison: str, left: Constant | None, right: Constant | None) -> bool:
    """Numbers by value, then text by code points; false when a side has no value.

    >>> compare("<", 10, "a"), compare("!=", 2, "2"), compare("!=", 2, None)
    (True, True, False)
    """
    if left is None or right is None:
        return False
    if isinstance(left, str) is not isinstance(right, str):
        return _COMPARISONS[comparison](isinstance(left, str), isinstance(right, str))
    return _COMPARISONS[comparison](left, right)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_OPERATIONS: dict[tuple[str, int], Callable[..., int | float]] = {
    ("+", 2): operator.add,
    ("-", 2): operator.sub,
    ("-", 1): operator.neg,
    ("*", 2): operator.mul,
    ("abs", 1): abs,
}


def _calculate(operation: str, values: list[Constant | None]) -> Constant | None:
    numbers = [number for number in values if isinstance(number, int | float)]
    if len(numbers) < len(values):
        return None
    try:
        return constant(_result(operation, numbers))
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        # Not a number, more than 64 bits, a division by zero, or `mod` over floats.
        return None


def _result(operation: str, numbers: list[int | float]) -> int | float:
    match operation, numbers:
        case "/", [int(dividend), int(divisor)] if dividend % divisor == 0:
            return dividend // divisor
        case "/", [dividend, divisor]:
            return dividend / divisor
        case "mod", [int(dividend), int(divisor)]:
            return dividend % divisor
        case "mod", _:
            raise TypeError("`mod` is defined for integers")
        case "min", _:
            return min(numbers)
        case "max", _:
            return max(numbers)
        case _:
            return _OPERATIONS[operation, len(numbers)](*numbers)

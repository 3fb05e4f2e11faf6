"""The values of terms under a substitution, and the order of constants.

Arithmetic has a value only over numbers and within 64 bits; everything else has none.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from larspark.base.terms import Arithmetic, Constant, Term, Variable, Wildcard, constant

Substitution: TypeAlias = Mapping[str, Constant]


class NoValueError(ArithmeticError):
    """The term has no value: division by zero, text in arithmetic, or too large a number."""


def value(term: Term, substitution: Substitution) -> Constant:
    """The constant a term stands for; every variable in it must be bound.

    >>> value(Arithmetic("/", (Variable("X"), 2)), {"X": 7})
    3.5
    """
    match term:
        case Variable(name):
            return substitution[name]
        case Arithmetic(operation, args):
            return _calculate(operation, [value(arg, substitution) for arg in args])
        case Wildcard():
            raise NoValueError("a wildcard has no value")
        case _:
            return term


def order_key(constant: Constant) -> tuple[bool, Constant]:
    """Numbers by value, then text by code points."""
    return isinstance(constant, str), constant


def compare(comparison: str, left: Constant, right: Constant) -> bool:
    """Decide `left comparison right` in the order of constants.

    >>> compare("<", 10, "a"), compare("<", "b", "a"), compare("=", 2, "2")
    (True, False, False)
    """
    return _COMPARISONS[comparison](order_key(left), order_key(right))


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _calculate(operation: str, values: list[Constant]) -> Constant:
    numbers: list[int | float] = []
    for number in values:
        if isinstance(number, str):
            raise NoValueError(f"`{operation}` over text")
        numbers.append(number)
    try:
        return constant(_apply(operation, numbers))
    except (ValueError, OverflowError, ZeroDivisionError) as problem:
        raise NoValueError(str(problem)) from None


def _apply(operation: str, numbers: list[int | float]) -> int | float:
    match operation, numbers:
        case "abs", [x]:
            return abs(x)
        case "-", [x]:
            return -x
        case "+", [x, y]:
            return x + y
        case "-", [x, y]:
            return x - y
        case "*", [x, y]:
            return x * y
        case "/", [int(x), int(y)] if y and x % y == 0:
            return x // y
        case "/", [x, y]:
            return x / y
        case "mod", [int(x), int(y)]:
            return x % y
        case "min", _:
            return min(numbers)
        case "max", _:
            return max(numbers)
        case _:
            raise NoValueError(f"`{operation}` over {numbers}")

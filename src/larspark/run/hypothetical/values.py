"""Arithmetic and comparison of constants, by the decisions about terms.

What has no value - a division by zero, arithmetic over text, an integer beyond 64 bits - is None,
and no comparison with it is true.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from larspark.base.terms import Constant, Operation, constant

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def compare(relation: str, left: Constant | None, right: Constant | None) -> bool:
    """Compare by value; every number comes before every text.

    >>> compare("<", 3, "a"), compare("=", 2, 2.5), compare("!=", None, 1)
    (True, False, False)
    """
    if left is None or right is None:
        return False
    return _ORDERS[relation](_ordered(left), _ordered(right))


def _ordered(value: Constant) -> tuple[bool, Constant]:
    return (isinstance(value, str), value)


def calculate(operation: Operation, args: Sequence[Constant | None]) -> Constant | None:
    """Apply an operation to numbers.

    >>> calculate("/", (6, 2)), calculate("/", (7, 2)), calculate("mod", (-7, 3))
    (3, 3.5, 2)
    >>> calculate("/", (1, 0)) is None, calculate("+", ("a", 1)) is None
    (True, True)
    """
    numbers = [arg for arg in args if isinstance(arg, int | float)]
    if len(numbers) != len(args):
        return None
    try:
        return constant(_number(operation, numbers))
    except (ArithmeticError, ValueError):
        return None


def _number(operation: Operation, args: Sequence[int | float]) -> int | float:
    match operation:
        case "+":
            return args[0] + args[1]
        case "-":
            return args[0] - args[1] if len(args) == 2 else -args[0]
        case "*":
            return args[0] * args[1]
        case "/":
            return _quotient(args[0], args[1])
        case "mod":
            if not all(isinstance(arg, int) for arg in args):
                raise ArithmeticError("mod is defined for integers")
            return args[0] % args[1]
        case "abs":
            return abs(args[0])
        case "min":
            return min(args)
        case "max":
            return max(args)


def _quotient(dividend: int | float, divisor: int | float) -> int | float:
    if isinstance(dividend, int) and isinstance(divisor, int) and dividend % divisor == 0:
        return dividend // divisor
    return dividend / divisor

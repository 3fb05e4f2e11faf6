"""Terms: constants, variables, wildcards and arithmetic.

A constant is a plain Python value: an `int`, a `float` or a `str`. A name (`a1`) and a quoted
string (`"a1"`) with the same text are the same constant. Numbers are compared by value, so a
float that is a whole number *is* that integer: `2.0` and `2` name the same thing.
"""

import math
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Constant: TypeAlias = int | float | str

# Integers are signed and 64 bits wide, in every engine; a float beyond 2**53 is never an integer.
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1
_EXACT_FLOAT = 2.0**53

Operation: TypeAlias = Literal["+", "-", "*", "/", "mod", "abs", "min", "max"]

_NAME = re.compile(r"[a-z][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Variable:
    """A named variable; every occurrence in a rule stands for the same value."""

    name: str


# The evaluation time, written `now`; a variable of the user has no such name.
NOW = Variable("now")


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: some value. An atom with wildcards holds where one of its instances holds."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An operation over terms, such as `T + 3` or `min(X, Y)`."""

    operation: Operation
    args: tuple["Term", ...]


Term: TypeAlias = Constant | Variable | Wildcard | Arithmetic


def constant(value: int | float | str) -> Constant:
    """The canonical form of a value: equal constants are equal values.

    >>> constant(2.0), constant(2.5), constant("b")
    (2, 2.5, 'b')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            raise ValueError(f"{value} is not a number that can be a constant")
        if value.is_integer() and abs(value) <= _EXACT_FLOAT:
            return int(value)
        return value
    if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
        raise ValueError(f"{value} does not fit a 64-bit integer")
    return value


def constant_text(value: Constant) -> str:
    """Write a constant so that reading it gives the same constant.

    >>> constant_text("a1"), constant_text("Wien Mitte"), constant_text("3"), constant_text(3)
    ('a1', '"Wien Mitte"', '"3"', '3')
    """
    if isinstance(value, str):
        if _NAME.match(value):
            return value
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
        return f'"{escaped}"'
    return repr(value)

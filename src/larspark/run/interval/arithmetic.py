"""Arithmetic and comparisons over columns of codes.

Columns of integers and floats are calculated as a whole; the few rows that need more care (text,
huge numbers) one by one. A mask marks rows without a value.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from larspark.base.terms import Operation, Term, Variable, Wildcard
from larspark.language.tree import COMPARISONS
from larspark.logic.values import calculate, compare
from larspark.run.interval.interning import (
    FLOAT,
    INTEGER,
    Constants,
    decode_floats,
    integers,
    tags,
)
from larspark.run.interval.kernels.layout import Ints

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Sums and differences below this stay integers of 62 bits; so do products of smaller factors.
_SAFE = 1 << 60
_SAFE_FACTOR = 1 << 30
_EXACT = 1 << 53


class Values(NamedTuple):
    """A column of codes; `valid` says which rows have a value, None that all have."""

    codes: Ints
    valid: Mask | None

    @property
    def valued(self) -> int:
        """How many rows have a value."""
        return len(self.codes) if self.valid is None else int(np.count_nonzero(self.valid))

    def both(self, other: "Values") -> Mask | None:
        if self.valid is None or other.valid is None:
            return other.valid if self.valid is None else self.valid
        return self.valid & other.valid


def evaluate(
    term: Term, columns: Mapping[Variable, Ints], count: int, constants: Constants
) -> Values:
    """The value of a term in every row."""
    match term:
        case Variable():
            return Values(columns[term], None)
        case int() | float() | str():
            return Values(np.full(count, constants.code(term), np.int64), None)
        case Wildcard():
            return Values(np.zeros(count, np.int64), np.zeros(count, bool))
        case _:
            args = [evaluate(arg, columns, count, constants) for arg in term.args]
            return _calculate(term.operation, args, constants)


class Verdict(NamedTuple):
    """In which rows a comparison is true, and in which it has a value; None: in all of them."""

    true: Mask
    valid: Mask | None


def decide(comparison: str, left: Values, right: Values, constants: Constants) -> Verdict:
    """Decide a comparison in every row; where it has no value it is not true."""
    valid = left.both(right)
    if comparison in ("=", "!="):
        true: Mask = COMPARISONS[comparison](left.codes, right.codes)
        return Verdict(true if valid is None else true & valid, valid)
    if not (tags(left.codes) | tags(right.codes)).any():
        # Codes of integers are ordered like the integers.
        true = COMPARISONS[comparison](left.codes, right.codes)
        return Verdict(true if valid is None else true & valid, valid)
    return _in_order(comparison, left.codes, right.codes, valid, constants)


def _in_order(
    comparison: str, left: Ints, right: Ints, valid: Mask | None, constants: Constants
) -> Verdict:
    """Decide an order where not all constants are integers; numbers and texts have none."""
    exact = _is_exact(left) & _is_exact(right)
    true = np.zeros(len(left), bool)
    true[exact] = COMPARISONS[comparison](_floats(left[exact]), _floats(right[exact]))
    valued = np.ones(len(left), bool) if valid is None else valid.copy()
    for row in np.flatnonzero(~exact & valued).tolist():
        one, other = constants.decode(int(left[row])), constants.decode(int(right[row]))
        if isinstance(one, str) is isinstance(other, str):
            true[row] = compare(comparison, one, other)
        else:
            valued[row] = False
            constants.diagnostics.add_mixed(comparison, one, other)
    return Verdict(true & valued, None if valued.all() else valued)


def _is_exact(codes: Ints) -> Mask:
    """Is this a number that a float can hold?"""
    kinds = tags(codes)
    small = np.abs(integers(codes)) <= _EXACT
    exact: Mask = (kinds == FLOAT) | ((kinds == INTEGER) & small)
    return exact


def _floats(codes: Ints) -> Floats:
    return np.where(
        tags(codes) == INTEGER, integers(codes).astype(np.float64), decode_floats(codes)
    )


def _calculate(operation: Operation, args: list[Values], constants: Constants) -> Values:
    valid = args[0].valid
    for arg in args[1:]:
        valid = arg.valid if valid is None else valid if arg.valid is None else valid & arg.valid
    codes = [arg.codes for arg in args]
    if not np.bitwise_or.reduce([tags(column) for column in codes]).any():
        result = _calculate_integers(operation, [integers(column) for column in codes])
        if result is not None:
            return Values(result << 2, valid)
    return _calculate_rows(operation, codes, valid, constants)


def _calculate_integers(operation: Operation, numbers: list[Ints]) -> Ints | None:
    """The result over whole columns of integers, where it cannot leave them."""
    largest = max(int(np.abs(column).max(initial=0)) for column in numbers)
    match operation, numbers:
        case "+", [x, y] if largest < _SAFE:
            return x + y
        case "-", [x, y] if largest < _SAFE:
            return x - y
        case "-", [x]:
            return -x
        case "*", [x, y] if largest < _SAFE_FACTOR:
            return x * y
        case "mod", [x, y] if y.all():
            return x % y
        case "abs", [x]:
            return np.abs(x)
        case "min", _:
            return np.minimum.reduce(numbers)
        case "max", _:
            return np.maximum.reduce(numbers)
        case _:
            return None


def _calculate_rows(
    operation: Operation, codes: list[Ints], valid: Mask | None, constants: Constants
) -> Values:
    """The result where columns mix kinds of numbers: floats together, the rest one by one."""
    count = len(codes[0])
    result = np.zeros(count, np.int64)
    mask = np.ones(count, bool) if valid is None else valid.copy()
    floating = mask & np.logical_and.reduce([_is_exact(column) for column in codes])
    floating &= np.logical_or.reduce([tags(column) == FLOAT for column in codes])
    if operation in _FLOAT_OPERATIONS and floating.any():
        numbers = [_floats(column[floating]) for column in codes]
        with np.errstate(all="ignore"):
            found: Floats = _FLOAT_OPERATIONS[operation](*numbers)
        finite = np.isfinite(found)
        rows = np.flatnonzero(floating)
        mask[rows[~finite]] = False
        result[rows[finite]] = constants.code_floats(found[finite])
    else:
        floating[:] = False
    for row in np.flatnonzero(mask & ~floating).tolist():
        value = calculate(operation, [constants.decode(int(column[row])) for column in codes])
        if value is None:
            mask[row] = False
        else:
            result[row] = constants.code(value)
    return Values(result, None if mask.all() else mask)


_FLOAT_OPERATIONS: dict[str, Callable[..., Floats]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y=None: -x if y is None else x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "abs": np.abs,
}

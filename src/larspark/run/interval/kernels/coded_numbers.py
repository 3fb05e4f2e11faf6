"""Numbers in kernels: a kind and 64 bits, exact whether integer or float; and their codes.

`interning` says how constants are coded. Numbers that need a place in the table of constants are
resolved by Python: on the way in, by a list of such codes; on the way out they get the tag `ODD`.
"""

import numpy as np

from larspark.run.interval.kernels.compile import helper, inlined
from larspark.run.interval.kernels.layout import Ints

# Kinds of values; the bits of a float are those of IEEE 754.
INTEGER, FLOAT, TEXT, NO_VALUE = 0, 1, 2, 3
# Tags of codes. ODD is no tag of a constant: the other bits are a line of a list of numbers.
TAG, TAG_BITS, TABLE_TAG, FLOAT_TAG, ODD = 3, 2, 1, 2, 3
# Columns of the list of numbers from the table of constants.
TABLE_CODE, TABLE_KIND, TABLE_NUMBER = 0, 1, 2

_INTEGER_LIMIT = 1 << 61
_EXPONENT_BIAS = 1023 - 255
_EXPONENT_COUNT = 511
MANTISSA_BITS = 52
MANTISSA = (1 << MANTISSA_BITS) - 1
_EXACT = 1 << 53
_FIRST_BEYOND = 2.0**63


@inlined
def float_of(bits: int) -> float:
    """The float with these bits."""
    return np.int64(bits).view(np.float64)


@inlined
def bits_of(number: float) -> int:
    """The bits of a float."""
    return int(np.float64(number).view(np.int64))


@helper
def number_of(code: int, table: Ints) -> tuple[int, int]:
    """The kind and the bits of a code; `table` lists the numbers that need a place, by code."""
    tag = code & TAG
    if tag == 0:
        return INTEGER, code >> TAG_BITS
    if tag == FLOAT_TAG:
        squeezed = code >> TAG_BITS
        exponent = ((squeezed >> MANTISSA_BITS) & 0x1FF) + _EXPONENT_BIAS
        bits = squeezed >> 61 << 63 | exponent << MANTISSA_BITS | squeezed & MANTISSA
        return FLOAT, bits
    low, high = 0, table.shape[0]
    while low < high:
        middle = (low + high) // 2
        if table[middle, TABLE_CODE] < code:
            low = middle + 1
        else:
            high = middle
    if low < table.shape[0] and table[low, TABLE_CODE] == code:
        return table[low, TABLE_KIND], table[low, TABLE_NUMBER]
    return TEXT, 0


@inlined
def code_of(kind: int, bits: int) -> int:
    """The code of a number, or ODD if it needs a place in the table of constants."""
    if kind == INTEGER:
        if -_INTEGER_LIMIT < bits < _INTEGER_LIMIT:
            return bits << TAG_BITS
        return ODD
    exponent = ((bits >> MANTISSA_BITS) & 0x7FF) - _EXPONENT_BIAS
    if 0 <= exponent < _EXPONENT_COUNT:
        squeezed = bits >> 63 << 61 | exponent << MANTISSA_BITS | bits & MANTISSA
        return squeezed << TAG_BITS | FLOAT_TAG
    return ODD


@helper
def order(kind: int, bits: int, other_kind: int, other_bits: int) -> int:
    """-1, 0 or 1: a number is less than another one, equal or greater; exact for all kinds."""
    if kind == INTEGER and other_kind == INTEGER:
        return int(bits > other_bits) - int(bits < other_bits)
    if kind == FLOAT and other_kind == FLOAT:
        return _sign_of_difference(float_of(bits), float_of(other_bits))
    if kind == FLOAT:
        return -_order_mixed(other_bits, float_of(bits))
    return _order_mixed(bits, float_of(other_bits))


@inlined
def _sign_of_difference(number: float, other: float) -> int:
    return int(number > other) - int(number < other)


@inlined
def _order_mixed(integer: int, number: float) -> int:
    """The order of an integer and a float."""
    if -_EXACT <= integer <= _EXACT:
        return _sign_of_difference(float(integer), number)
    if number >= _FIRST_BEYOND:
        return -1
    if number < -_FIRST_BEYOND:
        return 1
    # Where integers are not exact as floats, floats are whole numbers.
    whole = int(number)
    if -_EXACT <= whole <= _EXACT:
        return int(integer > 0) - int(integer < 0)
    return int(integer > whole) - int(integer < whole)

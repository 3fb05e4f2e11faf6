"""Exact sums of floats: integers of 2,176 bits, from which numbers can be taken away again.

A sum is kept in limbs of 32 bits, each with a sign and room for carries of many additions; bit 0
stands for 2**-1074, the smallest float. So every float is a whole number of units, no order of
additions matters, and what is taken away leaves no trace. Rounding happens once, when the value is
asked for.
"""

from larspark.run.interval.kernels.coded_numbers import (
    FLOAT,
    INTEGER,
    MANTISSA,
    MANTISSA_BITS,
    NO_VALUE,
    bits_of,
)
from larspark.run.interval.kernels.compile import helper, inlined
from larspark.run.interval.kernels.layout import NONE, Ints

# Columns of a sum: the limbs that are not 0 lie between the lowest and the highest.
LOWEST, HIGHEST, ADDITIONS, LIMBS = 0, 1, 2, 3
LIMB_COUNT = 68
SUM_SIZE = LIMBS + LIMB_COUNT
LIMB_BITS = 32
LIMB_MASK = (1 << LIMB_BITS) - 1
# After so many additions carries are passed on.
_ADDITIONS_LIMIT = 1 << 29
# The bit of the number 1, as a limb and a bit of it.
_ONE_LIMB, _ONE_SHIFT = 1074 // LIMB_BITS, 1074 % LIMB_BITS
# Further digits of a quotient, below bit 0.
FRACTION = 3
# Room for the digits of a result.
DIGIT_COUNT = FRACTION + LIMB_COUNT + 4
_EXACT = 1 << 53
# From this bit on the mantissa of a float cannot begin.
_CUT_LIMIT = 2046
_SIGN_BIT = -(1 << 63)


@helper
def clear_sum(sums: Ints, line: int) -> None:
    """Make a sum 0."""
    sums[line, LOWEST] = LIMB_COUNT
    sums[line, HIGHEST] = 0
    sums[line, ADDITIONS] = 0
    for limb in range(LIMB_COUNT):
        sums[line, LIMBS + limb] = 0


@helper
def add_float(sums: Ints, line: int, bits: int, sign: int) -> None:
    """Add a float, or take it away with a negative sign."""
    exponent = (bits >> MANTISSA_BITS) & 0x7FF
    mantissa = bits & MANTISSA
    position = 0
    if exponent > 0:
        mantissa |= 1 << MANTISSA_BITS
        position = exponent - 1
    if bits < 0:
        sign = -sign
    limb, shift = position // LIMB_BITS, position % LIMB_BITS
    first = (mantissa & LIMB_MASK) << shift
    second = ((mantissa >> LIMB_BITS) << shift) + (first >> LIMB_BITS)
    sums[line, LIMBS + limb] += sign * (first & LIMB_MASK)
    sums[line, LIMBS + limb + 1] += sign * (second & LIMB_MASK)
    sums[line, LIMBS + limb + 2] += sign * (second >> LIMB_BITS)
    sums[line, LOWEST] = min(sums[line, LOWEST], limb)
    sums[line, HIGHEST] = max(sums[line, HIGHEST], limb + 2)
    sums[line, ADDITIONS] += 1
    if sums[line, ADDITIONS] >= _ADDITIONS_LIMIT:
        _pass_carries(sums, line)


@helper
def _pass_carries(sums: Ints, line: int) -> None:
    carry = 0
    for limb in range(sums[line, LOWEST], LIMB_COUNT - 1):
        number = sums[line, LIMBS + limb] + carry
        carry = number >> LIMB_BITS
        sums[line, LIMBS + limb] = number & LIMB_MASK
    # The sign stays in the highest limb.
    sums[line, LIMBS + LIMB_COUNT - 1] += carry
    sums[line, HIGHEST] = LIMB_COUNT - 1
    sums[line, ADDITIONS] = 0


@inlined
def _bit_length(digit: int) -> int:
    """The number of bits of a digit that is not 0."""
    length = 0
    for step in (16, 8, 4, 2, 1):
        if digit >> step != 0:
            digit >>= step
            length += step
    return length + 1


@helper
def _collect(sums: Ints, line: int, high: int, low: int, digits: Ints) -> tuple[int, int, bool]:
    """Write the digits of a sum and an integer, without the sign.

    Returns the lowest and the highest place of a digit, and whether the result is negative.
    """
    lowest, highest = _ONE_LIMB, _ONE_LIMB + 3
    if line != NONE:
        lowest, highest = sums[line, LOWEST], sums[line, HIGHEST]
        if high != 0 or low != 0:
            lowest, highest = min(lowest, _ONE_LIMB), max(highest, _ONE_LIMB + 3)
    for place in range(lowest - FRACTION, highest + 4):
        digits[FRACTION + place] = 0
    if line != NONE:
        for limb in range(sums[line, LOWEST], sums[line, HIGHEST] + 1):
            digits[FRACTION + limb] = sums[line, LIMBS + limb]
    if high != 0 or low != 0:
        one = FRACTION + _ONE_LIMB
        digits[one] += low << _ONE_SHIFT
        digits[one + 1] += (high & LIMB_MASK) << _ONE_SHIFT
        digits[one + 2] += (high >> LIMB_BITS) << _ONE_SHIFT
    highest += 2
    carry = 0
    for place in range(lowest, highest + 1):
        number = digits[FRACTION + place] + carry
        carry = number >> LIMB_BITS
        digits[FRACTION + place] = number & LIMB_MASK
    if carry >= 0:
        return lowest, highest, False
    carry = 1
    for place in range(lowest, highest + 1):
        number = LIMB_MASK - digits[FRACTION + place] + carry
        carry = number >> LIMB_BITS
        digits[FRACTION + place] = number & LIMB_MASK
    return lowest, highest, True


@helper
def rounded(
    sums: Ints, line: int, high: int, low: int, divisor: int, digits: Ints
) -> tuple[int, int]:
    """A sum and an integer `high * 2**32 + low`, divided by a number, and rounded to a float once.

    Returns the kind and the bits: a whole number up to 2**53 is an integer, and there is no value
    beyond the largest float. Ties go to the even number. `digits` is room for the calculation.
    """
    lowest, highest, negative = _collect(sums, line, high, low, digits)
    rest = 0
    if divisor > 1:
        lowest -= FRACTION
        for place in range(highest, lowest - 1, -1):
            number = rest << LIMB_BITS | digits[FRACTION + place]
            digits[FRACTION + place] = number // divisor
            rest = number % divisor
    while highest >= lowest and digits[FRACTION + highest] == 0:
        highest -= 1
    if highest < lowest:
        return INTEGER, 0
    length = LIMB_BITS * highest + _bit_length(digits[FRACTION + highest])
    # The mantissa is made of the bits from `cut` on.
    cut = max(length - 53, 0)
    place, shift = cut // LIMB_BITS, cut % LIMB_BITS
    mantissa = digits[FRACTION + place] >> shift | digits[FRACTION + place + 1] << (
        LIMB_BITS - shift
    )
    if shift > 2 * LIMB_BITS - 53:
        mantissa |= digits[FRACTION + place + 2] << (2 * LIMB_BITS - shift)
    place, shift = (cut - 1) // LIMB_BITS, (cut - 1) % LIMB_BITS
    if place >= lowest:
        digit = digits[FRACTION + place]
        if digit >> shift & 1 != 0:
            more = rest != 0 or digit & ((1 << shift) - 1) != 0 or mantissa & 1 != 0
            while not more and place > lowest:
                place -= 1
                more = digits[FRACTION + place] != 0
            mantissa += int(more)
    if mantissa == _EXACT:
        mantissa >>= 1
        cut += 1
    if mantissa == 0:
        return INTEGER, 0
    whole, number = _whole(mantissa, cut)
    if whole:
        return INTEGER, -number if negative else number
    if cut >= _CUT_LIMIT:
        return NO_VALUE, 0
    bits = (cut << MANTISSA_BITS) + mantissa
    return FLOAT, bits | _SIGN_BIT if negative else bits


@inlined
def _whole(mantissa: int, cut: int) -> tuple[bool, int]:
    """Is a rounded number a whole number up to 2**53, and which one?"""
    shift = 1074 - cut
    if shift > 53:
        return False, 0
    if shift >= 0:
        return mantissa & ((1 << shift) - 1) == 0, mantissa >> shift
    return shift == -1 and mantissa << 1 <= _EXACT, mantissa << 1


@helper
def integer_sum(high: int, low: int) -> tuple[int, int]:
    """The integer `high * 2**32 + low`, which has no value beyond 64 bits."""
    if -(1 << 31) <= high < 1 << 31:
        return INTEGER, high << LIMB_BITS | low
    return NO_VALUE, 0


@helper
def integer_average(high: int, low: int, count: int, sums: Ints, digits: Ints) -> tuple[int, int]:
    """The integer `high * 2**32 + low` divided by a count, and rounded if there is a rest."""
    kind, total = integer_sum(high, low)
    if kind == INTEGER:
        if total % count == 0:
            return INTEGER, total // count
        if -_EXACT < total < _EXACT:
            number = total / count
            if number == int(number):
                return INTEGER, int(number)
            return FLOAT, bits_of(number)
        return rounded(sums, NONE, high, low, count, digits)
    # Division digit by digit of the number without its sign.
    negative = high < 0
    if negative:
        low = -low
        high = -high + (low >> LIMB_BITS)
        low &= LIMB_MASK
    first = (high >> LIMB_BITS) % count << LIMB_BITS | high & LIMB_MASK
    second = first % count << LIMB_BITS | low
    if second % count == 0:
        quotient = (first // count) << LIMB_BITS | second // count
        return INTEGER, -quotient if negative else quotient
    if negative:
        low = -low
        high = -high + (low >> LIMB_BITS)
        low &= LIMB_MASK
    return rounded(sums, NONE, high, low, count, digits)

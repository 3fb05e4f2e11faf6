"""Values of columns and fields as constants, by the type that a mapping gives them.

This is the definition for one value; `formats.cells` agrees with it on whole columns.
"""

import re
from decimal import Decimal

from larspark.base.terms import Constant, constant_text
from larspark.feeds.ground_atoms import shortened, value_constant
from larspark.feeds.mapping import Kind
from larspark.feeds.reading import Refused

DECIMAL = r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
PLAIN = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-][0-9]+)?"
DECIMAL_COMMA = r"-?[0-9]+(,[0-9]+)?"
_NUMBER = re.compile(DECIMAL)
_NUMBER_WITH_COMMA = re.compile(DECIMAL_COMMA)
_PLAIN_NUMBER = re.compile(PLAIN)


def argument(value: object, kind: Kind | None) -> Constant:
    """The constant of a JSON, Arrow or Python value.

    >>> argument(99.0, None), argument(99.0, Kind.TEXT), argument("99.5", Kind.NUMBER)
    (99, '99', 99.5)
    """
    if value is None or value != value:
        raise Refused("L313", "there is no value")
    if isinstance(value, list | tuple):
        raise Refused("L313", "an array is not a constant", "map a field that has one value")
    if isinstance(value, dict):
        raise Refused("L313", "an object is not a constant", "map a field of it: `device.id`")
    if isinstance(value, Decimal):
        value = text_argument(f"{value:f}", Kind.NUMBER)
    if isinstance(value, str) and kind is not None:
        return text_argument(value, kind)
    if kind in (Kind.NUMBER, Kind.INTEGER, Kind.COMMA):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused("L313", f"{_shown(value)} is not a number")
        return _checked(value_constant(value), kind)
    found = value_constant(value)
    if kind is Kind.TEXT and not isinstance(found, str):
        return constant_text(found)
    return found


def text_argument(text: str, kind: Kind | None) -> Constant:
    """The constant of a text that may be a number; without a type, it is one if written as one.

    >>> text_argument("007", None), text_argument("007", Kind.TEXT)
    (7, '007')
    >>> text_argument("007", Kind.PLAIN_OR_TEXT), text_argument("1.50", Kind.PLAIN)
    ('007', 1.5)
    >>> text_argument("-4,25", Kind.COMMA)
    -4.25
    """
    if kind is Kind.TEXT:
        return value_constant(text)
    if kind is Kind.COMMA:
        if not _NUMBER_WITH_COMMA.fullmatch(text):
            message = f'"{shortened(text)}" is not a number with a decimal comma'
            raise Refused("L313", message)
        return text_argument(text.replace(",", "."), Kind.NUMBER)
    if kind in (Kind.PLAIN, Kind.PLAIN_OR_TEXT):
        plain = plain_number(text)
        if plain is not None:
            return plain
        if kind is Kind.PLAIN_OR_TEXT:
            return value_constant(text)
        message = f'"{shortened(text)}" is not a number like the values before it'
        raise Refused("L313", message, "say what the column holds: `text(...)` or `number(...)`")
    match = _NUMBER.fullmatch(text)
    if match is None:
        if kind is None:
            return value_constant(text)
        raise Refused("L313", f'"{shortened(text)}" is not a number')
    whole = match[1].isdigit() and match[2] is None
    # Python refuses integers of many thousand digits; 64-bit integers have at most 19.
    if whole and len(text) > 20 and len(text.lstrip("-0")) > 19:
        raise Refused("L313", f"{shortened(text)} does not fit a 64-bit integer")
    return _checked(value_constant(int(text) if whole else float(text)), kind)


def plain_number(text: str) -> Constant | None:
    """The number of a text as programs write numbers; None if it is no such text."""
    if not _PLAIN_NUMBER.fullmatch(text) or len(text) > 400:
        return None
    try:
        return text_argument(text, Kind.NUMBER)
    except Refused:
        return None


def _checked(value: Constant, kind: Kind | None) -> Constant:
    if kind is Kind.INTEGER and not isinstance(value, int):
        raise Refused("L313", f"{_shown(value)} is not an integer")
    return value


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return shortened(str(value))

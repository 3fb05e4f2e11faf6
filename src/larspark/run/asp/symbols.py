"""Constants and the solver's symbols, one to one.

Integers of 32 bits and text that the solver can hold are symbols of its own, which it orders as we
do. Everything else is wrapped, so that the solver knows nothing but whether two are equal.
"""

import re

from clingo import Function, Number, String, Symbol, SymbolType

from larspark.base.terms import Constant

_SMALLEST, _LARGEST = -(2**31), 2**31 - 1

# Text ends with NUL for the solver, and lone surrogates have no encoding.
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")


class Symbols:
    """The symbols of one engine.

    >>> symbols = Symbols()
    >>> [str(symbols.symbol(value)) for value in (3, "a b", 2**40, 1.5)]
    ['3', '"a b"', 'integer("1099511627776")', 'float("1.5")']
    >>> constant(symbols.symbol(1.5)), symbols.ordered
    (1.5, False)
    """

    def __init__(self) -> None:
        # Does the solver order all symbols so far as we order their constants?
        self.ordered = True

    def symbol(self, value: Constant) -> Symbol:
        """The symbol of a constant."""
        match value:
            case int() if _SMALLEST <= value <= _LARGEST:
                return Number(value)
            case str() if not _UNSPEAKABLE.search(value):
                return String(value)
            case int():
                wrapped = Function("integer", [String(str(value))])
            case float():
                wrapped = Function("float", [String(repr(value))])
            case _:
                wrapped = Function("text", [String(value.encode("unicode_escape").decode())])
        self.ordered = False
        return wrapped


def constant(symbol: Symbol) -> Constant:
    """The constant of a symbol.

    >>> [constant(Symbols().symbol(value)) for value in (-3, "a", 10**18, "\\0")]
    [-3, 'a', 1000000000000000000, '\\x00']
    """
    if symbol.type is SymbolType.Number:
        return symbol.number
    if symbol.type is SymbolType.String:
        return symbol.string
    text = symbol.arguments[0].string
    match symbol.name:
        case "integer":
            return int(text)
        case "float":
            return float(text)
        case _:
            return text.encode().decode("unicode_escape")

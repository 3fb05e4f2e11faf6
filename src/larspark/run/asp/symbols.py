"""Constants and the solver's symbols, one to one.

Integers of 32 bits and text without the character NUL are symbols of the solver's own, which it
orders as we do. Everything else is a number in a table, about which the solver knows nothing but
whether two are equal.
"""

from clingo import Function, Number, String, Symbol, SymbolType

from larspark.base.terms import Constant

_SMALLEST, _LARGEST = -(2**31), 2**31 - 1


class Symbols:
    """The symbols of one engine.

    >>> symbols = Symbols()
    >>> [str(symbols.symbol(value)) for value in (3, "a b", 2**40, 1.5)]
    ['3', '"a b"', 'c(0)', 'c(1)']
    >>> symbols.constant(symbols.symbol(1.5)), symbols.ordered
    (1.5, False)
    """

    def __init__(self) -> None:
        self._numbers: dict[Constant, int] = {}
        self._table: list[Constant] = []

    @property
    def ordered(self) -> bool:
        """Does the solver order the symbols so far as we order constants?"""
        return not self._table

    def symbol(self, value: Constant) -> Symbol:
        """The symbol of a constant."""
        if isinstance(value, int) and _SMALLEST <= value <= _LARGEST:
            return Number(value)
        if isinstance(value, str) and "\0" not in value:
            return String(value)
        if value not in self._numbers:
            self._numbers[value] = len(self._table)
            self._table.append(value)
        return Function("c", [Number(self._numbers[value])])

    def constant(self, symbol: Symbol) -> Constant:
        """The constant of a symbol."""
        if symbol.type is SymbolType.Number:
            return symbol.number
        if symbol.type is SymbolType.String:
            return symbol.string
        return self._table[symbol.arguments[0].number]

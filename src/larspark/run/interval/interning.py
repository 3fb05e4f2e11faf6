"""Constants as 64-bit codes, so that equal constants are equal codes.

The two lowest bits of a code say what the others are:

    00  an integer of 62 bits
    10  a float that is no integer, its exponent squeezed from 11 bits into 9
    01  an index into a table: text, and the few numbers that fit neither

Integers and floats are coded and decoded by arithmetic on whole columns; only text is looked up.
"""

import struct
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from larspark.base.arrow_numpy import numpy_array
from larspark.base.terms import Constant, Term, constant
from larspark.run.diagnostics import Diagnostics
from larspark.run.interval.kernels.compile import has_work
from larspark.run.interval.kernels.layout import Ints
from larspark.run.interval.kernels.select import code_integers
from larspark.run.interval.text_table import LazyConstants, TextTable, text_array
from larspark.run.state import refused

INTEGER, TABLE, FLOAT = 0, 1, 2
TAG_BITS = 2
_TAG = 3
INTEGER_LIMIT = 1 << 61
# Exponents that are kept: 2**-255 to 2**255, around what is measured in practice.
_EXPONENT_BIAS = 1023 - 255
_EXPONENT_COUNT = 511
_MANTISSA_BITS = 52
_MANTISSA = (1 << _MANTISSA_BITS) - 1
_EXACT_FLOAT = 2.0**53
_PATIENCE = 10_000


class Constants:
    """The table behind the codes. The places of unreferenced texts go to a free list.

    >>> constants = Constants()
    >>> [constants.decode(constants.code(value)) for value in (-7, 21.5, "a1", 2**62)]
    [-7, 21.5, 'a1', 4611686018427387904]
    """

    __slots__ = ("_free", "_lazy", "_list", "_vacant", "diagnostics", "own", "patience", "places")

    def __init__(self) -> None:
        # Where constants are; beside a table of texts, only those that were met one by one.
        self.places: dict[Constant, int] = {}
        # Constants by place: a list at first, and later with a table of texts. Answers keep a
        # reference to either; both only grow, and are replaced when places are reused.
        self._list: list[Constant] = []
        self._lazy: LazyConstants | None = None
        # Free places: the last of the first `_vacant` is taken next.
        self._free: Ints = np.empty(0, np.int64)
        self._vacant = 0
        # The first places hold the constants of the program, and stay.
        self.own = 0
        # The number of constants at which unreferenced ones are looked for.
        self.patience = _PATIENCE
        self.diagnostics = Diagnostics()

    def __len__(self) -> int:
        return len(self.values) - self._vacant

    @property
    def values(self) -> Sequence[Constant]:
        """The constants by place, as answers keep them; free slots hold anything."""
        return self._list if self._lazy is None else self._lazy

    def code(self, value: Constant) -> int:
        """The code of one constant."""
        if type(value) is int and -INTEGER_LIMIT < value < INTEGER_LIMIT:
            return value << TAG_BITS
        if type(value) is str:
            place = self.places.get(value)
            return (self.new_place(value) if place is None else place) << TAG_BITS | TABLE
        if isinstance(value, float):
            if value.is_integer() and abs(value) <= _EXACT_FLOAT:
                # An atom that was made by hand may have it.
                return int(value) << TAG_BITS
            bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
            exponent = ((bits >> _MANTISSA_BITS) & 0x7FF) - _EXPONENT_BIAS
            if 0 <= exponent < _EXPONENT_COUNT:
                sign = -1 if bits < 0 else 0
                squeezed = (sign << 61) | exponent << _MANTISSA_BITS | bits & _MANTISSA
                return squeezed << TAG_BITS | FLOAT
        place = self.places.get(value)
        return (self.new_place(value) if place is None else place) << TAG_BITS | TABLE

    def code_term(self, term: Term) -> int:
        """The code of a term that has to be a constant."""
        if not isinstance(term, int | float | str):
            raise TypeError(f"{term!r} is no constant")
        return self.code(term)

    def new_place(self, value: Constant) -> int:
        """A place for a constant that has none."""
        lazy, values = self._lazy, self._list
        if lazy is not None:
            place = self._place_in_table(lazy, value)
        elif self._vacant:
            self._vacant -= 1
            place = self._free.item(self._vacant)
            values[place] = value
        else:
            place = len(values)
            values.append(value)
        self.places[value] = place
        return place

    def _place_in_table(self, lazy: LazyConstants, value: Constant) -> int:
        if type(value) is str:
            codes = self._code_by_table(lazy, text_array([value]))
            place = int(codes[0]) >> TAG_BITS
        elif self._vacant:
            self._vacant -= 1
            place = self._free.item(self._vacant)
        else:
            place = lazy.size
        lazy.items[place] = value
        lazy.size = max(lazy.size, place + 1)
        return place

    def decode(self, code: int) -> Constant:
        """The constant of one code."""
        return decode(code, self.values)

    def code_column(self, column: pa.ChunkedArray, rows: Ints, place: int) -> None:
        """Write the codes of a column of integers, floats or strings into a column of rows."""
        if pa.types.is_integer(column.type):
            numbers = numpy_array(column)
            if not code_integers.run(numbers, rows, place, INTEGER_LIMIT):
                rows[:, place] = [self.code(number) for number in numbers.tolist()]
        elif pa.types.is_floating(column.type):
            rows[:, place] = self.code_floats(numpy_array(column))
        else:
            rows[:, place] = self._code_texts(column.combine_chunks())

    def code_floats(self, numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Ints:
        """The codes of finite floats; those that are whole numbers become integers."""
        bits = np.ascontiguousarray(numbers).view(np.int64)
        exponents = ((bits >> _MANTISSA_BITS) & 0x7FF) - _EXPONENT_BIAS
        squeezed = (bits >> 63 << 61) | exponents << _MANTISSA_BITS | bits & _MANTISSA
        codes: Ints = squeezed << TAG_BITS | FLOAT
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= _EXACT_FLOAT)
        codes[whole] = numbers[whole].astype(np.int64) << TAG_BITS
        odd = np.flatnonzero(~whole & ((exponents < 0) | (exponents >= _EXPONENT_COUNT)))
        for place in odd.tolist():
            codes[place] = self.code(constant(float(numbers[place])))
        return codes

    def _code_texts(self, column: pa.Array) -> Ints:
        if self._lazy is None and has_work():
            self._lazy = self._begin_table()
        if self._lazy is not None:
            if not pa.types.is_dictionary(column.type):
                return self._code_by_table(self._lazy, column.cast(pa.string()))
            codes = self._code_by_table(self._lazy, column.dictionary.cast(pa.string()))
            return codes[numpy_array(column.indices)]
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        known = self.places
        places = [
            known[text] if text in known else self.new_place(text)
            for text in column.dictionary.to_pylist()
        ]
        codes = np.array(places, np.int64) << TAG_BITS | TABLE
        return codes[numpy_array(column.indices)]

    def _begin_table(self) -> LazyConstants | None:
        """The constants with a table of their texts, if its kernels are ready."""
        table = TextTable.if_ready()
        if table is None:
            return None
        items = {place: value for value, place in self.places.items()}
        places = [place for place, value in items.items() if type(value) is str]
        texts = text_array([str(items[place]) for place in places])
        table.keep(texts, np.array(places, np.int64), len(self._list))
        return LazyConstants(items, len(self._list), table)

    def _code_by_table(self, lazy: LazyConstants, texts: pa.Array) -> Ints:
        codes, new = lazy.table.code(texts, self._free, self._vacant, lazy.size)
        reused = min(new, self._vacant)
        self._vacant -= reused
        lazy.size += new - reused
        return codes

    def forget(self, used: Iterable[Ints]) -> None:
        """Free the places that no number among `used` refers to, read as a code.

        Some of the numbers are times, not codes; they keep a place alive now and then.
        """
        referred = np.zeros(len(self.values), bool)
        referred[: self.own] = True
        for numbers in used:
            places = numbers[numbers & _TAG == TABLE] >> TAG_BITS
            referred[places[(places >= 0) & (places < len(referred))]] = True
        # Free places are referred to by times only.
        referred[self._free[: self._vacant]] = False
        self._free = np.flatnonzero(~referred)
        self._vacant = len(self._free)
        # Numbers of Python are looked at in less time than those of an array.
        kept = referred.tolist()
        self.places = {value: place for value, place in self.places.items() if kept[place]}
        if self._lazy is not None:
            self._lazy = self._lazy.kept(referred)
        else:
            self._list = list(self._list)
            for place in self._free.tolist():
                self._list[place] = ""
        self.patience = 2 * len(self) + _PATIENCE

    @property
    def free(self) -> list[int]:
        """The places that hold nothing."""
        return list(map(int, self._free[: self._vacant]))

    def saved(self) -> list[Constant]:
        """The constants by place; free slots hold an empty text."""
        held = np.ones(len(self.values), bool)
        held[self._free[: self._vacant]] = False
        places = np.flatnonzero(held).tolist()
        found: list[Constant] = [""] * len(held)
        for place, value in zip(places, constants_at(places, self.values), strict=True):
            found[place] = value
        return found

    def load(self, values: Sequence[Constant], free: Iterable[int], own: int) -> None:
        """Take over a table that was saved."""
        self.own = own
        self._list, self._lazy = list(values), None
        self._free = np.array(list(free), np.int64)
        self._vacant = len(self._free)
        vacant = set(self.free)
        self.places = {v: place for place, v in enumerate(values) if place not in vacant}


def constants_at(places: Sequence[int], values: Sequence[Constant]) -> list[Constant]:
    """The constants at many places."""
    if isinstance(values, LazyConstants):
        return values.many(places)
    return [values[place] for place in places]


def _found(place: int, values: Sequence[Constant]) -> Constant:
    try:
        return values[place]
    except IndexError:
        raise refused("the saved state refers to a text that is not in it") from None


def decode(code: int, values: Sequence[Constant]) -> Constant:
    """The constant of a code, with the table that was current when the code was."""
    tag = code & _TAG
    if tag == INTEGER:
        return code >> TAG_BITS
    if tag == TABLE:
        return _found(code >> TAG_BITS, values)
    squeezed = code >> TAG_BITS
    exponent = ((squeezed >> _MANTISSA_BITS) & 0x1FF) + _EXPONENT_BIAS
    bits = (-1 if squeezed < 0 else 0) << 63 | exponent << _MANTISSA_BITS | squeezed & _MANTISSA
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number


def decode_floats(codes: Ints) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The numbers of codes that are all floats."""
    squeezed = codes >> TAG_BITS
    exponents = ((squeezed >> _MANTISSA_BITS) & 0x1FF) + _EXPONENT_BIAS
    bits = (squeezed >> 61 << 63) | exponents << _MANTISSA_BITS | squeezed & _MANTISSA
    return bits.view(np.float64)


def tags(codes: Ints) -> Ints:
    """What kind of constant each code stands for."""
    return codes & _TAG


def integers(codes: Ints) -> Ints:
    """The numbers of codes that are all integers."""
    return codes >> TAG_BITS

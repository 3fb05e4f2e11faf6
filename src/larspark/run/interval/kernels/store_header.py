"""Sheets: arrays that know by their addresses where other arrays are.

Handing an array over to compiled code takes longer than adding a row to a store. So a store has one
sheet of numbers, its counters and the addresses of its arrays, and a kernel is handed the sheet.
Whoever writes an address down keeps the array alive as long as kernels may look there.

Compiled code goes to the address itself (see `native`); Python looks the array up.
"""

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

_arrays: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()


def address_of(array: NDArray[Any]) -> int:
    """The address of an array, at which kernels find it from now on."""
    if not array.flags.c_contiguous:
        raise ValueError("only an array in one piece can be found by its address")
    address = array.ctypes.data
    _arrays[address] = array
    return address


def numbers_at(address: int, count: int) -> NDArray[np.int64]:
    """The numbers at an address."""
    return _found(address, (count,))


def lines_at(address: int, lines: int, columns: int) -> NDArray[np.int64]:
    """The lines of numbers at an address."""
    return _found(address, (lines, columns))


def places_at(address: int, lines: int, columns: int) -> NDArray[np.uint32]:
    """The lines of places of rows at an address."""
    return _found(address, (lines, columns))


def entries_at(address: int, count: int) -> NDArray[np.int32]:
    """The numbers of entries at an address."""
    return _found(address, (count,))


def _found(address: int, shape: tuple[int, ...]) -> NDArray[Any]:
    array = _arrays[address]
    if array.shape != shape:
        raise ValueError(f"the array at an address has the shape {array.shape}, not {shape}")
    return array

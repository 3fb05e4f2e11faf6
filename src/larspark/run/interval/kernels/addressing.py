"""Arrays that kernels find by their addresses.

Passing an array to compiled code takes longer than adding a row to a store. So a store passes one
array, its header, which holds counters and the addresses of the other arrays. The owner of the
header keeps these arrays alive.

Compiled code dereferences the address (see `native`); plain Python looks the array up in a table.
"""

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

_arrays: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()


def address_of(array: NDArray[Any]) -> int:
    """The address of a contiguous array; registers the array for plain Python."""
    if not array.flags.c_contiguous:
        raise ValueError("only a contiguous array can be found by its address")
    address = array.ctypes.data
    _arrays[address] = array
    return address


def array_at(address: int, count: int) -> NDArray[np.int64]:
    """The array of 64-bit integers at an address."""
    return _found(address, (count,))


def table_at(address: int, lines: int, columns: int) -> NDArray[np.int64]:
    """The two-dimensional array of 64-bit integers at an address."""
    return _found(address, (lines, columns))


def row_ids_at(address: int, lines: int, columns: int) -> NDArray[np.uint32]:
    """The two-dimensional array of row ids at an address."""
    return _found(address, (lines, columns))


def entry_ids_at(address: int, count: int) -> NDArray[np.int32]:
    """The array of entry numbers at an address."""
    return _found(address, (count,))


def word_at(data: NDArray[np.uint8], place: int) -> int:
    """Eight bytes of an array from a place on, as an integer; compiled code reads them at once."""
    return int.from_bytes(data[place : place + 8].tobytes(), "little", signed=True)


def _found(address: int, shape: tuple[int, ...]) -> NDArray[Any]:
    array = _arrays[address]
    if array.shape != shape:
        raise ValueError(f"the array at this address has the shape {array.shape}, not {shape}")
    return array

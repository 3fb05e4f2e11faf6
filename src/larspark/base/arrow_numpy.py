"""Arrow columns as NumPy arrays and back, without a copy where there are no nulls.

`pa.array` and `to_numpy` do the same, but import pandas, if there is one, which takes a while.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# The types whose values lie in a buffer as NumPy has them.
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_PLAIN: dict[int, np.dtype[Any]] = {
    pa.type_for_alias(name).id: np.dtype(name) for name in (*_INTEGERS, "float64")
}


def arrow_array(values: NDArray[Any]) -> pa.Array:
    """The numbers as an Arrow array of int64 or float64.

    >>> arrow_array(np.arange(3)).to_pylist()
    [0, 1, 2]
    """
    floats = values.dtype == np.float64
    same = np.ascontiguousarray(values, np.float64 if floats else np.int64)
    kind = pa.float64() if floats else pa.int64()
    return pa.Array.from_buffers(kind, len(same), [None, pa.py_buffer(same)])


def arrow_mask(values: NDArray[np.bool_]) -> pa.Array:
    """The truth values as an Arrow array.

    >>> arrow_mask(np.array([True, False])).to_pylist()
    [True, False]
    """
    packed = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, packed])


def numpy_array(column: Any, missing: float | None = None) -> NDArray[Any]:
    """The values of an Arrow array, or of a column of a table; `missing` stands for nulls.

    >>> numpy_array(pa.array([1, 2, None]).slice(1), -1).tolist()
    [2, -1]
    """
    if missing is not None and column.null_count:
        column = column.fill_null(missing)
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            parts = [numpy_array(chunk) for chunk in column.chunks]
            return np.concatenate(parts) if parts else np.empty(0, column.type.to_pandas_dtype())
        column = column.chunk(0)
    dtype = _PLAIN.get(column.type.id)
    if dtype is None or column.null_count:
        found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return found
    _, data = column.buffers()
    if not len(column) or data is None:
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype, len(column), column.offset * dtype.itemsize)


def null_mask(column: pa.Array) -> NDArray[np.bool_]:
    """For each value whether it is missing."""
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    found: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return found

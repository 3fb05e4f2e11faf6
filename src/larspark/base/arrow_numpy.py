"""Arrow columns as NumPy arrays and back, without a copy where there are no nulls.

`pa.array` and `to_numpy` do the same, but import pandas, if there is one, which takes a while.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def arrow_array(values: NDArray[Any]) -> pa.Array:
    """The numbers as an Arrow array of int64 or float64.

    >>> arrow_array(np.arange(3)).to_pylist()
    [0, 1, 2]
    """
    floats = values.dtype == np.float64
    same = np.ascontiguousarray(values, np.float64 if floats else np.int64)
    kind = pa.float64() if floats else pa.int64()
    return pa.Array.from_buffers(kind, len(same), [None, pa.py_buffer(same)])


def numpy_array(column: Any, missing: float | None = None) -> NDArray[Any]:
    """The values of an Arrow array, or of a column of a table; `missing` stands for nulls.

    >>> numpy_array(pa.array([1, 2, None]).slice(1), -1).tolist()
    [2, -1]
    """
    if missing is not None and column.null_count:
        column = column.fill_null(missing)
    if isinstance(column, pa.ChunkedArray):
        parts = [numpy_array(chunk) for chunk in column.chunks]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty(0, column.type.to_pandas_dtype())
    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_float64(kind)
    if column.null_count or not plain:
        found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return found
    size = kind.bit_width // 8
    letter = "f" if pa.types.is_floating(kind) else "i" if pa.types.is_signed_integer(kind) else "u"
    _, data = column.buffers()
    if not len(column) or data is None:
        return np.empty(0, f"{letter}{size}")
    return np.frombuffer(data, f"{letter}{size}", len(column), column.offset * size)


def null_mask(column: pa.Array) -> NDArray[np.bool_]:
    """For each value whether it is missing."""
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    found: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return found

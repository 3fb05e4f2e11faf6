"""Hash buckets of keys: the shard of a key is its bucket modulo the number of shards.

Equal constants share a bucket whatever the types of their columns: `2` and `2.0` are one key, and
so are a name and a text. Numbers are hashed column by column, each distinct text once: a key may
have millions of values.
"""

from struct import pack
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.terms import Term, constant

BUCKETS = 1024

_MASK = (1 << 64) - 1
# The finalizer of MurmurHash3.
_FACTORS = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)
_SHIFT = 33
_EXACT_FLOAT = 2.0**53


def bucket(value: Term) -> int:
    """The bucket of a constant.

    >>> bucket("a1"), bucket("2"), bucket(2), bucket(2.0), bucket(2.5)
    (35, 525, 999, 999, 842)
    """
    if not isinstance(value, int | float | str):
        raise TypeError(f"{value} is not a constant")
    value = constant(value)
    if isinstance(value, str):
        return crc32(value.encode()) % BUCKETS
    bits = value if isinstance(value, int) else int.from_bytes(pack("<d", value), "little")
    bits &= _MASK
    for factor in _FACTORS:
        bits = (bits ^ bits >> _SHIFT) * factor & _MASK
    return (bits ^ bits >> _SHIFT) % BUCKETS


def bucket_column(values: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """The buckets of a column of keys; the column has one of the argument types.

    >>> bucket_column(pa.chunked_array([[2.0, 2.5]])).tolist()
    [999, 842]
    """
    chunks = [_buckets(chunk) for chunk in values.chunks]
    if len(chunks) == 1:
        return chunks[0]
    return np.concatenate([np.empty(0, np.int64), *chunks])


def _buckets(values: pa.Array) -> npt.NDArray[np.int64]:
    kind: Any = values.type
    if pa.types.is_string(kind):
        encoded = pc.dictionary_encode(values)
        texts = encoded.dictionary.cast(pa.binary()).to_pylist()
        known = np.array([crc32(text) % BUCKETS for text in texts], np.int64)
        places: npt.NDArray[np.int32] = encoded.indices.to_numpy()
        return known[places]
    numbers = values.to_numpy()
    if pa.types.is_floating(kind):
        numbers = _bits(numbers)
    return _mixed(numbers)


def _bits(floats: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Integral floats as integers, others as their bits."""
    whole = (np.floor(floats) == floats) & (np.abs(floats) <= _EXACT_FLOAT)
    integers = np.where(whole, floats, 0.0).astype(np.int64)
    bits: npt.NDArray[np.int64] = np.where(whole, integers, floats.view(np.int64))
    return bits


def _mixed(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bits = numbers.astype(np.uint64)
    for factor in _FACTORS:
        bits ^= bits >> np.uint64(_SHIFT)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(_SHIFT)
    bits &= np.uint64(BUCKETS - 1)
    return bits.view(np.int64)

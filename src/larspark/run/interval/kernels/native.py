"""Compiled code that makes an array of an address. Imported only where Numba is installed."""

from collections.abc import Callable
from typing import Any

from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic, overload

from larspark.run.interval.kernels.addressing import (
    array_at,
    entry_ids_at,
    row_ids_at,
    table_at,
    word_at,
)


def _pointer_to(kind: Any) -> Any:
    """An intrinsic that casts an address to a pointer to elements of a type."""

    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        pointer_type: Any = types.CPointer
        return pointer_type(kind)(types.int64), generate

    return pointer


_to_integers = _pointer_to(types.int64)
_to_row_ids = _pointer_to(types.uint32)
_to_entries = _pointer_to(types.int32)


def _load_word(typing_context: Any, address: Any) -> Any:
    """The integer at an address, which need not be aligned."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        return builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1)

    return types.int64(types.int64), generate


_load: Any = intrinsic(_load_word)

Found = Callable[..., Any]


@overload(array_at)
def _numbers(address: Any, count: Any) -> Found:
    def found(address: Any, count: Any) -> Any:
        return carray(_to_integers(address), (count,))

    return found


@overload(table_at)
def _lines(address: Any, lines: Any, columns: Any) -> Found:
    def found(address: Any, lines: Any, columns: Any) -> Any:
        return carray(_to_integers(address), (lines, columns))

    return found


@overload(row_ids_at)
def _places(address: Any, lines: Any, columns: Any) -> Found:
    def found(address: Any, lines: Any, columns: Any) -> Any:
        return carray(_to_row_ids(address), (lines, columns))

    return found


@overload(entry_ids_at)
def _entries(address: Any, count: Any) -> Found:
    def found(address: Any, count: Any) -> Any:
        return carray(_to_entries(address), (count,))

    return found


@overload(word_at)
def _word(data: Any, place: Any) -> Found:
    def found(data: Any, place: Any) -> Any:
        return _load(data.ctypes.data + place)

    return found

"""How compiled code finds an array by its address. Only imported where there is Numba."""

from collections.abc import Callable
from typing import Any

from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic, overload

from larspark.run.interval.kernels.store_header import entries_at, lines_at, numbers_at, places_at


def _pointer_to(kind: Any) -> Any:
    """A function that makes a pointer to numbers of a kind of an address."""

    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        pointer_type: Any = types.CPointer
        return pointer_type(kind)(types.int64), generate

    return pointer


_to_numbers = _pointer_to(types.int64)
_to_places = _pointer_to(types.uint32)
_to_entries = _pointer_to(types.int32)

Found = Callable[..., Any]


@overload(numbers_at)
def _numbers(address: Any, count: Any) -> Found:
    def found(address: Any, count: Any) -> Any:
        return carray(_to_numbers(address), (count,))

    return found


@overload(lines_at)
def _lines(address: Any, lines: Any, columns: Any) -> Found:
    def found(address: Any, lines: Any, columns: Any) -> Any:
        return carray(_to_numbers(address), (lines, columns))

    return found


@overload(places_at)
def _places(address: Any, lines: Any, columns: Any) -> Found:
    def found(address: Any, lines: Any, columns: Any) -> Any:
        return carray(_to_places(address), (lines, columns))

    return found


@overload(entries_at)
def _entries(address: Any, count: Any) -> Found:
    def found(address: Any, count: Any) -> Any:
        return carray(_to_entries(address), (count,))

    return found

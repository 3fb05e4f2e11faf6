"""Checks of a saved state before kernels, which trust their arrays, work on it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from larspark.base.atoms import Signature
from larspark.base.terms import Constant
from larspark.run.interval.kernels.layout import FOREVER, FROM, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.state import FURTHEST, optional_time, whole_number

# Where rows begin and end: later than every time point, and moved by the sizes of windows.
_BOUND = 2 * FOREVER
_COUNT_BOUND = 1 << 40
# The tag of a code that is an index into the table of constants.
_TAG, _TABLE, _TAG_BITS = 3, 1, 2


def require(right: object, what: str) -> None:
    """Raise unless something holds that a saved state must have."""
    if not right:
        raise ValueError(what)


def check_constants(values: Any, free: Any, own: Any) -> None:
    """The table of constants: unique values, and the free list."""
    require(isinstance(values, list) and isinstance(free, list), "the constants are no list")
    require(all(type(value) in (str, int, float) for value in values), "a constant is none")
    vacant = {whole_number(place, 0, len(values) - 1) for place in free}
    require(len(vacant) == len(free), "a place of a constant is free twice")
    taken = [value for place, value in enumerate(values) if place not in vacant]
    require(len(set(taken)) == len(taken), "a constant has two places")
    require(not vacant or min(vacant) >= whole_number(own, 0, len(values)), "no place may be free")


def check_clock(state: Mapping[str, Any]) -> tuple[int, int, int | None]:
    """The first time point of the timeline, the last one answered, and where it ends."""
    start = whole_number(state["start"], -FURTHEST, FURTHEST)
    end, floor, last = state["clock"]
    if end is not None:
        whole_number(end, -FOREVER, FOREVER)
    whole_number(last, start, FURTHEST)
    # Before the first answer the timeline stands before its first time point.
    whole_number(floor, start, last)
    return start, last, end


def check_arrays(arrays: Mapping[str, Any], start: int, last: int) -> None:
    """Spans, counts and expiry of every store."""
    for name, array in arrays.items():
        kind = name.rpartition("/")[2].rpartition(".")[2]
        require(array.dtype == np.int64, f"`{name}` holds no 64-bit numbers")
        if kind == "expired_upto":
            require(array.shape == (1,), f"`{name}` is no single number")
            whole_number(int(array[0]), start - 1, last)
        elif kind in ("rows", "steps"):
            require(array.ndim == 2 and array.shape[1] >= TO + 1, f"`{name}` has no rows")
            columns = array[:, : TO + 1]
            inside = (columns >= -_BOUND) & (columns <= _BOUND)
            require(inside.all(), f"`{name}` reaches too far")
            if kind == "steps":
                require((abs(columns[:, FROM]) < _COUNT_BOUND).all(), f"`{name}` counts too many")


def check_chunk(
    rows: Ints, order: Ints, signature: Signature, constants: Sequence[Constant]
) -> None:
    """Elements that wait: in order, known from their time points on, with known constants."""
    require(rows.dtype == order.dtype == np.int64, "elements that wait hold no 64-bit numbers")
    require(
        order.ndim == 1 and rows.shape == (len(order), TIME + 1 + signature.arity) and len(order),
        "elements that wait have another width",
    )
    times = rows[:, TIME]
    require((abs(times) <= FURTHEST).all(), "elements that wait are too far away")
    require((rows[:, FROM] == times).all() and (rows[:, TO] == FOREVER).all(), "spans differ")
    require(
        (np.diff(times) >= 0).all() and (np.diff(order) >= 0).all(), "elements are not in order"
    )
    check_codes(rows[:, TIME + 1 :], len(constants))


def check_codes(codes: Ints, count: int) -> None:
    """Codes of constants, of which so many are in the table."""
    places = codes[(codes & _TAG) == _TABLE] >> _TAG_BITS
    require(((places >= 0) & (places < count)).all(), "there is no such constant")


def check_elements(rows: Ints, width: int) -> None:
    """The rows of elements in a window."""
    require(rows.ndim == 2 and rows.shape[1] == width, "the rows of a window have another width")
    require((abs(rows[:, TIME]) <= FURTHEST).all(), "elements of a window are too far away")


def check_times(values: Mapping[str, Any]) -> None:
    """The plain values of an engine."""
    for name in ("start", "answered", "latest"):
        optional_time(values[name])
    whole_number(values["arrived"], 0, _COUNT_BOUND)

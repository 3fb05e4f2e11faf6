"""Time points: natural numbers as they come, timestamps by the length of a time point.

A timestamp without a zone is read as UTC. With a tick of n microseconds, a timestamp lies in the
time point floor(microseconds since 1970-01-01T00:00Z / n).
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.terms import INTEGER_MAX, constant
from larspark.feeds.ground import shortened
from larspark.feeds.refusal import Refused

Times = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def time_point(value: object, tick: int | None) -> int:
    """The time point that a number or an ISO timestamp names.

    >>> time_point(36, None), time_point("1970-01-01T00:01:30Z", 60_000_000)
    (36, 1)
    """
    match value:
        case bool():
            raise Refused("L310", "the time is true or false, not a number")
        case int():
            return _natural(value, str(value))
        case float():
            try:
                whole = constant(value)
            except ValueError:
                whole = value
            if not isinstance(whole, int):
                why = "too large to be exact" if abs(value) > 2.0**53 else "not an integer"
                raise Refused("L310", f"the time {value} is {why}")
            return _natural(whole, str(value))
        case str():
            return _natural(_microseconds(value, tick), value)
        case None:
            raise Refused("L310", "the time is missing")
        case _:
            raise Refused("L310", f"the time is of type {type(value).__name__}, not a number")


def _natural(t: int, shown: str) -> int:
    if t < 0:
        raise Refused("L310", f"the time {shortened(shown)} lies before 0", "time begins at 0")
    if t > INTEGER_MAX:
        raise Refused("L310", f"the time {shortened(shown)} does not fit a 64-bit integer")
    return t


def _microseconds(text: str, tick: int | None) -> int:
    """The time point of an ISO timestamp; negative before 1970."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(
            "L310",
            f'the time "{shortened(text)}" is neither a number nor an ISO timestamp',
            "write 36 or 2013-01-01T05:00:00Z",
        ) from None
    if tick is None:
        raise needs_tick(f'the time "{shortened(text)}" is a timestamp')
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND // tick


def needs_tick(what: str) -> Refused:
    return Refused(
        "L311",
        f"{what}, and nothing says how long a time point lasts",
        "say it in the program, e.g. `#tick 1 s.`, or in Python, e.g. `tick=1_000_000`",
    )


def natural_times(numbers: pa.Array) -> tuple[Times, Mask]:
    """The time points of a column of int64 or float64, and which rows have none."""
    if pa.types.is_floating(numbers.type):
        values = numbers.fill_null(-1.0).to_numpy(zero_copy_only=False)
        # Beyond 2**53 a float is never an integer; NaN fails every comparison.
        bad = ~((values >= 0) & (values <= 2.0**53) & (np.floor(values) == values))
        return np.where(bad, -1, values).astype(np.int64), bad
    times: Times = numbers.fill_null(-1).to_numpy(zero_copy_only=False)
    return times, times < 0


def text_times(texts: pa.Array, tick: int | None) -> tuple[Times, Mask]:
    """The same for a column of ISO timestamps."""
    if tick is not None:
        for zone in (None, "UTC"):
            try:
                return timestamp_times(pc.cast(texts, pa.timestamp("us", zone)), tick)
            except pa.ArrowInvalid:
                continue
    encoded = pc.dictionary_encode(texts)
    points = np.array([_time_or_minus_one(text, tick) for text in encoded.dictionary.to_pylist()])
    times = np.append(points.astype(np.int64), -1)[encoded.indices.fill_null(-1).to_numpy()]
    return times, times < 0


def _time_or_minus_one(text: str, tick: int | None) -> int:
    try:
        return time_point(text, tick)
    except Refused:
        return -1


def timestamp_times(moments: pa.Array, tick: int) -> tuple[Times, Mask]:
    """The same for a column of Arrow timestamps or dates."""
    kind: Any = moments.type
    if pa.types.is_date32(kind):
        moments, unit = pc.cast(moments, pa.timestamp("s")), "s"
    elif pa.types.is_date64(kind):
        unit = "ms"
    else:
        unit = kind.unit
    values = pc.cast(moments, pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    if unit == "ns":
        times: Times = np.floor_divide(values, tick * 1000)
        return times, times < 0
    factor = _MICROSECONDS[unit]
    bad: Mask = (values < 0) | (values > INTEGER_MAX // factor)
    return np.where(bad, -1, np.where(bad, 0, values) * factor // tick), bad

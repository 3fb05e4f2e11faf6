"""Time points of integers and timestamps.

A natural number is a time point. A timestamp without a zone is in UTC. With a tick of n
microseconds, its time point is floor(microseconds since 1970-01-01T00:00Z / n).
"""

from datetime import UTC, datetime, timedelta

from larspark.base.terms import INTEGER_MAX, constant
from larspark.feeds.ground_atoms import shortened
from larspark.feeds.reading import Refused

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def time_point(value: object, tick: int | None) -> int:
    """The time point of a number or an ISO timestamp.

    >>> time_point(36, None), time_point("1970-01-01T00:01:30Z", 60_000_000)
    (36, 1)
    """
    if type(value) is int and 0 <= value <= INTEGER_MAX:
        return value
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
        f"{what}, but the length of a time point is not known",
        "set it in the program, e.g. `#tick 1 s.`, or in Python, e.g. `tick=1_000_000`",
    )

"""Time points of integers and timestamps.

A natural number is a time point. A timestamp without a zone is local time in a zone that the user
names, or in UTC. With a tick of n microseconds, its time point is floor(microseconds since
1970-01-01T00:00Z / n). A number with a unit is a timestamp: so many units since then.
"""

from datetime import UTC, datetime, tzinfo
from fractions import Fraction

from larspark.base.problems import Problem, Severity, warn
from larspark.base.terms import INTEGER_MAX, constant
from larspark.feeds.conversions import argument
from larspark.feeds.ground_atoms import shortened
from larspark.feeds.local_times import microseconds_since_1970
from larspark.feeds.mapping import UNITS, Kind
from larspark.feeds.reading import Refused

# Larger integers are perhaps times with a unit.
LARGE_TIME = 100_000_000
# Between these a time since 1970 is taken for what it says, in microseconds.
_PLAUSIBLE = (631_152_000_000_000, 4_102_444_800_000_000)
_END_OF_CALENDAR = 253_402_300_799_999_999


def time_point(value: object, tick: int | None, unit: int | None = None, zone: tzinfo = UTC) -> int:
    """The time point of a number, an ISO timestamp or a datetime.

    `unit` is that of numbers, in nanoseconds; `zone` is that of timestamps without one.

    >>> time_point(36, None), time_point("1970-01-01T00:01:30Z", 60_000_000)
    (36, 1)
    >>> time_point(90, 60_000_000, UNITS["s"])
    1
    """
    if unit is not None:
        return _of_unit(value, tick, unit)
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
                if abs(value) > 2.0**53:
                    raise Refused("L310", f"the time {value} is too large to be exact")
                seconds = "seconds since 1970 are mapped as `s(...) -> ...`"
                hint = seconds if value > LARGE_TIME else ""
                raise Refused("L310", f"the time {value} is not an integer", hint)
            return _natural(whole, str(value))
        case str():
            return _natural(_stamp(value, tick, zone), value)
        case datetime():
            if tick is None:
                raise needs_tick(f"the time {value} is a timestamp")
            return _natural(microseconds_since_1970(value, zone) // tick, str(value))
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


def _stamp(text: str, tick: int | None, zone: tzinfo) -> int:
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
    return microseconds_since_1970(moment, zone) // tick


def _of_unit(value: object, tick: int | None, unit: int) -> int:
    """The time point of so many units since 1970."""
    if value is None or isinstance(value, bool):
        return time_point(value, tick)
    try:
        number = argument(value, Kind.NUMBER)
    except Refused as refused:
        message = f"the time has a unit, but {refused.message}"
        raise Refused("L310", message, "timestamps have no unit: `time -> ...`") from None
    if tick is None:
        raise needs_tick(f"the time {shortened(str(number))} has a unit")
    t = int(Fraction(number) * unit // (1000 * tick))
    if t > last_time_point(tick):
        message = f"the time {shortened(str(number))} lies beyond the year 9999 in this unit"
        raise Refused("L310", message, f"the units are {', '.join(UNITS)}")
    return _natural(t, str(number))


def last_time_point(tick: int) -> int:
    """The last time point that a calendar has."""
    return _END_OF_CALENDAR // tick


def warn_of_unit(t: int, tick: int | None) -> bool:
    """Warn if an integer time above `LARGE_TIME` looks like a Unix time, which needs a unit."""
    if tick is None or _PLAUSIBLE[0] <= t * tick < _PLAUSIBLE[1]:
        return False
    message = f"the integer time {t} counts time points, of the length that `#tick` says"
    hint = "map integers with a unit as `s(...)`, `ms(...)`, `us(...)` or `ns(...)`"
    for name, unit in UNITS.items():
        if _PLAUSIBLE[0] <= t * unit // 1000 < _PLAUSIBLE[1]:
            hint = f"if it counts {_UNIT_NAMES[name]} since 1970, map it as `{name}(...) -> ...`"
    warn(Problem("L325", message, hint=hint, severity=Severity.WARNING))
    return True


_UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def needs_tick(what: str) -> Refused:
    return Refused(
        "L311",
        f"{what}, but the length of a time point is not known",
        "set it in the program, e.g. `#tick 1 s.`, or as `--tick 1s`, `tick=1_000_000`",
    )

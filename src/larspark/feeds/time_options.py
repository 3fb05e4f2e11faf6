"""Times and durations that users give: options of commands, arguments of functions."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from larspark.base.durations import MICROSECONDS, duration_text
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import INTEGER_MAX
from larspark.feeds.ground_atoms import shortened
from larspark.feeds.local_times import microseconds_since_1970
from larspark.feeds.reading import BATCH_SIZE, OnError, Options, Refused
from larspark.feeds.times import needs_tick

# A time point, an ISO timestamp, or a datetime.
TimeLike: TypeAlias = int | str | date
# A number of time points, a duration such as `3 min`, or a timedelta.
DurationLike: TypeAlias = int | str | timedelta

# Python takes some control characters for space, too, but not around a number.
_NUMBER = re.compile(r"\s*-?[0-9]+\s*", re.ASCII)
_DURATION = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-z]+)\s*")
_MICROSECOND = timedelta(microseconds=1)


def time_option(value: TimeLike, tick: int | None, zone: tzinfo = UTC) -> int:
    """The time point that a user means; a timestamp without a zone is in `zone`.

    >>> time_option(17, None), time_option("1970-01-01T01:30", 60_000_000)
    (17, 90)
    >>> time_option(datetime(1970, 1, 2), 3_600_000_000)
    24
    """
    if isinstance(value, int) or (isinstance(value, str) and is_number(value)):
        return int(value)
    shown = shortened(str(value))
    moment = _moment(value, shown)
    if tick is None:
        refused = needs_tick(f"the time `{shown}` is a timestamp")
        raise LarsparkError(Problem(refused.code, refused.message, hint=refused.hint))
    try:
        return microseconds_since_1970(moment, zone) // tick
    except Refused as refused:
        raise LarsparkError(Problem(refused.code, refused.message, hint=refused.hint)) from None


def _moment(value: str | date, shown: str) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    try:
        # Digits alone would be read as a date without separators.
        if _NUMBER.fullmatch(value):
            raise ValueError
        return datetime.fromisoformat(value.strip())
    except ValueError:
        message = f"`{shown}` is neither a time point nor an ISO timestamp"
        hint = "write 36 or 2013-01-01T05:00:00Z"
        raise LarsparkError(Problem("L310", message, hint=hint)) from None


def is_time(text: str) -> bool:
    """Whether a text is a time point or an ISO timestamp."""
    try:
        time_option(text, 1)
    except LarsparkError:
        return False
    return True


def is_duration(text: str) -> bool:
    """Whether a text is a number of time points or a duration, and not negative."""
    try:
        return duration_option(text, 1) >= 0
    except LarsparkError:
        return False


def duration_option(value: DurationLike, tick: int | None) -> int:
    """The number of time points that a user means.

    >>> duration_option(3, None), duration_option("3min", 60_000_000)
    (3, 3)
    """
    if isinstance(value, int) or (isinstance(value, str) and is_number(value)):
        return int(value)
    length = value // _MICROSECOND if isinstance(value, timedelta) else _microseconds(value)
    if tick is None:
        refused = needs_tick(f"`{value}` is a duration")
        raise LarsparkError(Problem(refused.code, refused.message, hint=refused.hint))
    points, rest = divmod(length, tick)
    if rest:
        message = f"`{value}` is not a whole number of time points of {duration_text(tick)}"
        hint = f"{points} or {points + 1} time points are possible"
        raise LarsparkError(Problem("L318", message, hint=hint))
    return points


def reading_options(
    tick: int | None,
    on_error: OnError,
    lateness: DurationLike,
    batch_size: int = BATCH_SIZE,
    timezone: str | None = None,
) -> Options:
    """Options of reading; a lateness that is a duration waits for a tick if there is none."""
    zone = None if timezone is None else zone_option(timezone)
    if tick is None and not isinstance(lateness, int) and not is_number(lateness):
        return Options(None, on_error, batch_size=batch_size, delay=lateness, zone=zone)
    return Options(tick, on_error, duration_option(lateness, tick), batch_size, zone=zone)


def ticked(options: Options, tick: int | None) -> Options:
    """The options with a tick, unless they have one, and the lateness as time points.

    A lateness that is a duration is an error if there is no tick at all.
    """
    tick = tick if options.tick is None else options.tick
    if options.delay is None:
        return replace(options, tick=tick)
    return replace(options, tick=tick, lateness=duration_option(options.delay, tick), delay=None)


def is_number(value: TimeLike | DurationLike) -> bool:
    """Whether a user has given a number of time points."""
    if isinstance(value, str):
        return len(value) <= 20 and _NUMBER.fullmatch(value) is not None
    return isinstance(value, int)


def _microseconds(text: str) -> int:
    found = _DURATION.fullmatch(text)
    unit = None if found is None else MICROSECONDS.get(found[2])
    exact = None if found is None or unit is None else Decimal(found[1]) * unit
    if exact is None or exact != int(exact) or exact > INTEGER_MAX:
        message = f"`{shortened(text)}` is neither a number of time points nor a duration"
        hint = f"write 3 or 3min; the units are {', '.join(MICROSECONDS)}"
        raise LarsparkError(Problem("L318", message, hint=hint))
    return int(exact)


def zone_option(name: str | None) -> tzinfo:
    """The time zone of a name, such as `Europe/Vienna`; UTC without one."""
    if name is None or name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"there is no time zone `{shortened(name)}`"
        hint = "name one of the time zone database, such as Europe/Vienna, or UTC"
        raise LarsparkError(Problem("L318", message, hint=hint)) from None

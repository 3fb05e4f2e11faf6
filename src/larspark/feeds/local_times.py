"""Local times of a zone as moments; a change of clocks leaves some out and repeats others."""

from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np
import numpy.typing as npt

from larspark.feeds.reading import Refused

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400_000_000
# The days from 1970 that a calendar has, with one to spare for the offset.
_FIRST_DAY = (datetime.min - _LOCAL_EPOCH).days + 1
_LAST_DAY = (datetime.max - _LOCAL_EPOCH).days - 1


def microseconds_since_1970(moment: datetime, zone: tzinfo = UTC) -> int:
    """The microseconds from 1970-01-01T00:00Z to a moment; without a zone it is local in `zone`.

    >>> microseconds_since_1970(datetime(1970, 1, 2)) // 1_000_000
    86400
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
        if _offset(moment) is None:
            raise _changed_clock(moment)
    return (moment - _EPOCH) // _MICROSECOND


def _offset(local: datetime) -> timedelta | None:
    """The offset of a local time from UTC; None if the change of clocks gives it none or two."""
    offset = local.utcoffset()
    return offset if local.replace(fold=1).utcoffset() == offset else None


def _changed_clock(local: datetime) -> Refused:
    """Why a local time stands for no moment, or for two."""
    first, second = (local.replace(fold=fold) for fold in (0, 1))
    shown = local.replace(tzinfo=None).isoformat(" ")
    if first.astimezone(UTC) > second.astimezone(UTC):
        message = f"the time {shown} does not exist in {local.tzinfo}: clocks were put forward"
        return Refused("L310", message, "write times with their offset from UTC")
    message = f"the time {shown} occurs twice in {local.tzinfo}: clocks were put back"
    both = f"{first.isoformat()} or {second.isoformat()}"
    return Refused("L310", message, f"write times with their offset from UTC: {both}")


def local_columns(
    values: npt.NDArray[np.int64], zone: tzinfo
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Local times in microseconds as microseconds since 1970 in UTC, and which have none.

    Nearly all days have one offset; only on others is each value looked at.
    """
    if zone is UTC:
        return values, np.zeros(len(values), np.bool_)
    days, places = np.unique(values // _DAY, return_inverse=True)
    offsets = [_offset_of_day(int(day), zone) for day in days]
    of_day = np.array([-1 if offset is None else offset for offset in offsets], np.int64)
    changing = np.array([offset is None for offset in offsets], np.bool_)[places]
    result = values - of_day[places]
    bad = np.zeros(len(values), np.bool_)
    for place in np.flatnonzero(changing):
        try:
            local = _LOCAL_EPOCH + timedelta(microseconds=int(values[place]))
            result[place] = microseconds_since_1970(local, zone)
        except (Refused, OverflowError):
            bad[place] = True
    return result, bad


def _offset_of_day(day: int, zone: tzinfo) -> int | None:
    """The offset from UTC in microseconds; None if it changes on that day, or near it."""
    if not _FIRST_DAY <= day <= _LAST_DAY:
        return None
    begin = (_LOCAL_EPOCH + timedelta(day)).replace(tzinfo=zone)
    found = {_offset(begin + timedelta(hours=hour)) for hour in range(25)}
    first = found.pop()
    return None if found or first is None else first // _MICROSECOND

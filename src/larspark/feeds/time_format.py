"""Time points as text: integers, or timestamps where they count from 1970 in steps of known length.

A timestamp names the beginning of its time point.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from typing import TypeAlias

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _MILLISECOND = 1_000_000, 1_000

# A time point, or the timestamp at which it begins.
TimeValue: TypeAlias = int | datetime


def _always() -> bool:
    return True


class TimeFormat:
    """How time points are written.

    Without `tick`, the microseconds of a time point, they are integers. With it they are
    timestamps in a zone, if `applies` says so; it is asked when the first time point is written,
    because a stream has to be read before it is known whether its times are timestamps.

    >>> TimeFormat(60_000_000).text(22_619_835), TimeFormat().text(22_619_835)
    ('2013-01-03T05:15:00Z', '22619835')
    """

    def __init__(
        self, tick: int | None = None, zone: tzinfo = UTC, applies: Callable[[], bool] = _always
    ) -> None:
        self.tick = tick
        self.zone = zone
        self._applies = applies
        precision = "seconds"
        if tick is not None and tick % _SECOND:
            precision = "microseconds" if tick % _MILLISECOND else "milliseconds"
        self._precision = precision

    @cached_property
    def stamps(self) -> bool:
        """Whether time points are written as timestamps."""
        return self.tick is not None and self._applies()

    def value(self, t: int) -> TimeValue:
        """A time point as a timestamp, or as the integer that it is.

        Time points that no calendar has stay integers.
        """
        if not self.stamps or self.tick is None:
            return t
        try:
            moment = _EPOCH + timedelta(microseconds=t * self.tick)
            return moment if self.zone is UTC else moment.astimezone(self.zone)
        except (OverflowError, ValueError):
            return t

    def text(self, t: TimeValue) -> str:
        """A time point, or its timestamp, for people."""
        value = self.value(t) if isinstance(t, int) else t
        if isinstance(value, int):
            return str(value)
        text = value.isoformat(timespec=self._precision)
        return text.removesuffix("+00:00") + "Z" if self.zone is UTC else text

    def json(self, t: int) -> str:
        """A time point as a JSON value: a number, or a text.

        >>> TimeFormat(1_000).json(1_500), TimeFormat().json(1_500)
        ('"1970-01-01T00:00:01.500Z"', '1500')
        """
        return f'"{self.text(t)}"' if self.stamps else str(t)

    def json_value(self, t: int) -> int | str:
        """The same for an object that is still to be encoded."""
        return self.text(t) if self.stamps else t


# Time points as the integers that they are.
POINTS = TimeFormat()

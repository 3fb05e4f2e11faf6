"""Time points as the page writes them: short, as long as they lie on the same day."""

from datetime import datetime

from larspark.feeds.time_format import TimeFormat, TimeValue

_MINUTE = 60_000_000


class DayTimes(TimeFormat):
    """Clock times. On the day of `day`, a time point, they are written without the date.

    >>> times = DayTimes(TimeFormat(60_000_000), 22_619_835)
    >>> times.text(22_619_840), times.text(22_618_000)
    ('05:20', '2013-01-01 22:40')
    """

    def __init__(self, times: TimeFormat, day: int) -> None:
        super().__init__(times.tick, times.zone)
        self._day = self.value(day)

    def text(self, t: TimeValue) -> str:
        value = self.value(t) if isinstance(t, int) else t
        if not isinstance(value, datetime):
            return str(value)
        precision = self._precision
        if self.tick is not None and self.tick % _MINUTE == 0:
            precision = "minutes"
        clock = value.replace(tzinfo=None).time().isoformat(precision)
        same_day = isinstance(self._day, datetime) and self._day.date() == value.date()
        return clock if same_day else f"{value.date()} {clock}"

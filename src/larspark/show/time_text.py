"""Time points as text: in sentences, in JSON, and along the axis of a timeline.

Where the length of a time point is known and time points count from 1970, as those of timestamps
do, an axis shows clock times.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from itertools import count

from larspark.feeds.time_format import POINTS, TimeFormat

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_MINUTE, _HOUR, _DAY = 60 * _SECOND, 3_600 * _SECOND, 86_400 * _SECOND
# Small numbers are counted from some beginning of their own, not from 1970.
_FIRST_CLOCK_TIME = 10 * 365 * _DAY
_LAST_CLOCK_TIME = 8_000 * 365 * _DAY
_ROUND_DURATIONS = (
    *(n * _SECOND for n in (1, 5, 15, 30)),
    *(n * _MINUTE for n in (1, 5, 15, 30)),
    *(n * _HOUR for n in (1, 3, 6, 12)),
    *(n * _DAY for n in (1, 7, 28, 91, 364)),
)


def moment_text(t: int, times: TimeFormat) -> str:
    """A time point as a timestamp, or an empty text when time points are not clock times.

    >>> moment_text(22_619_835, TimeFormat(60_000_000))
    '2013-01-03 05:15 UTC'
    >>> moment_text(17, TimeFormat(60_000_000, applies=lambda: False))
    ''
    """
    tick = times.tick
    if tick is None:
        return ""
    first = 0 if times.stamps else _FIRST_CLOCK_TIME
    if not first <= t * tick <= _LAST_CLOCK_TIME:
        return ""
    moment = (_EPOCH + timedelta(microseconds=t * tick)).astimezone(times.zone)
    return moment.strftime("%Y-%m-%d %H:%M %Z" if tick % _MINUTE == 0 else "%Y-%m-%d %H:%M:%S %Z")


class Axis:
    """Names for the time points from `start` to `end`."""

    def __init__(self, start: int, end: int, times: TimeFormat = POINTS) -> None:
        self.start, self.end = start, end
        self._times = times
        self._tick = times.tick or 1
        self.clock = bool(moment_text(start, times) and moment_text(end, times))
        self._format = self._clock_format()

    def name(self, t: int) -> str:
        """How a time point is written.

        >>> Axis(30, 40).name(36)
        '36'
        >>> Axis(22_619_820, 22_619_880, TimeFormat(60_000_000)).name(22_619_835)
        '05:15'
        """
        if not self.clock:
            return str(t)
        moment = _EPOCH + timedelta(microseconds=t * self._tick)
        return moment.astimezone(self._times.zone).strftime(self._format)

    def title(self) -> str:
        """The range of the axis as text."""
        if not self.clock:
            return f"{self.start} to {self.end}"
        return f"{moment_text(self.start, self._times)} to {moment_text(self.end, self._times)}"

    def round_times(self, fewest: float) -> list[int]:
        """Round time points, `fewest` or more apart from each other."""
        distance = next(d for d in self._distances() if d >= fewest)
        first = -(-self.start // distance) * distance
        return list(range(first, self.end + 1, distance))

    def line(self, columns: int, per_column: int = 1, wide: int = 1) -> str:
        """The axis as a line of text: the first and the last time point, others between them.

        A time point has `wide` columns, or a column stands for `per_column` time points.

        >>> Axis(1, 60).line(60)
        '1   5    10   15   20   25   30   35   40   45   50   55  60'
        """
        last = self.name(self.end)
        cells = [" "] * columns * wide
        if self.start == self.end:
            return last
        # The last name begins at its time point, unless it has to end with the line.
        ending = max(0, min((columns - 1) * wide, len(cells) - len(last)))
        places = {0: self.name(self.start), ending: last}
        for t in self.round_times((len(last) + 2) * per_column / wide):
            places.setdefault((t - self.start) // per_column * wide, self.name(t))
        for place, name in places.items():
            end = place + len(name)
            around = cells[max(0, place - 1) : end + 1]
            if end <= len(cells) and not "".join(around).strip():
                cells[place:end] = name
        return "".join(cells).rstrip() or self.name(self.start)

    def _distances(self) -> Iterator[int]:
        if self.clock:
            yield from (d // self._tick for d in _ROUND_DURATIONS if d % self._tick == 0)
            # Years and more: the largest round duration, doubled as often as it takes.
            yield from (max(1, _ROUND_DURATIONS[-1] // self._tick) << n for n in count(1))
        for power in count():
            yield from (10**power, 2 * 10**power, 5 * 10**power)

    def _clock_format(self) -> str:
        length = (self.end - self.start + 1) * self._tick
        if length > 3 * _DAY:
            return "%Y-%m-%d"
        return "%H:%M" if self._tick >= _MINUTE or length > 10 * _MINUTE else "%H:%M:%S"


_FORMAT: ContextVar[TimeFormat] = ContextVar("time format", default=POINTS)


@contextmanager
def times_written(times: TimeFormat) -> Iterator[None]:
    """In this context, time points are written in this format."""
    token = _FORMAT.set(times)
    try:
        yield
    finally:
        _FORMAT.reset(token)


def time_text(t: int) -> str:
    """A time point in a text."""
    return _FORMAT.get().text(t)


def time_json(t: int | None) -> int | str | None:
    """A time point as a JSON value; None where there is none."""
    return None if t is None else _FORMAT.get().json_value(t)

"""Times of a question as time points, and time points of its answer as the user sees them."""

from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds import Stream
from larspark.feeds.time_format import TimeFormat
from larspark.feeds.time_options import TimeLike, time_option, zone_option

# Timestamps or time points; by default what the stream has.
TimesAs: TypeAlias = Literal["iso", "points"] | None


class TimeTexts:
    """Converts times both ways, with the tick of a program or a clock, in microseconds."""

    def __init__(
        self, tick: int | None, times: TimesAs = None, timezone: str | None = None
    ) -> None:
        if times == "iso" and tick is None:
            message = "timestamps need the length of a time point"
            hint = "set it in the program, e.g. `#tick 1 s.`"
            raise LarsparkError(Problem("L311", message, hint=hint))
        self._tick = tick
        self._times = times
        self._zone = zone_option(timezone)

    def point(self, time: TimeLike | None) -> int | None:
        """The time point that is meant; a timestamp without a zone is in the user's zone."""
        return None if time is None else self.known(time)

    def known(self, time: TimeLike) -> int:
        """The same for a time that is given."""
        return time_option(time, self._tick, self._zone)

    def written(self, stream: Stream) -> TimeFormat:
        """How time points of an answer are written: as timestamps if the stream has them."""

        def applies() -> bool:
            if self._times is None:
                return stream.timestamps
            return self._times == "iso"

        return TimeFormat(self._tick, self._zone, applies)

    def format(self, stamps: bool) -> TimeFormat:
        """How time points are written: as timestamps or not."""
        return TimeFormat(self._tick, self._zone, lambda: stamps)


def time_column(times: pa.ChunkedArray, written: TimeFormat) -> pa.ChunkedArray:
    """A column of time points: timestamps in the zone of the format, or the integers they are."""
    if not written.stamps or written.tick is None:
        return times
    kind = pa.timestamp("us", str(written.zone))
    return pc.multiply_checked(times, written.tick).cast(kind)

"""Writing of live runs: answers to live places, and recordings of the facts."""

import threading
import time
from collections.abc import Callable

from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import DurableSink, LineSink
from larspark.feeds.live.inbox import Block, Inbox, Traffic
from larspark.feeds.live.places import parse_place
from larspark.feeds.output_file import OutputFile
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.feeds.write import fact_line


class Recording:
    """The accepted facts in their order, and the time points that the run reached.

    A replay of a recording gives the answers of the run: it has the same first and last time point.
    `start` is the first one, if it was given; a run that goes on after a crash has the one before.
    """

    def __init__(
        self, out: OutputFile, times: TimeFormat = POINTS, start: int | None = None
    ) -> None:
        self._out = out
        self._times = times
        self._start = start
        self.last_t: int | None = None

    def add(self, batch: AnyBatch) -> None:
        """Write the facts of a batch."""
        lines: list[str] = []
        begun = batch.last_t if batch.first_t is None else batch.first_t
        start = self._start
        if self.last_t is None and begun is not None and start is not None and start < begun:
            lines.append(self._bare(start))
        for t, atom, _ in batch.rows():
            lines.append(fact_line(t, atom, self._times) + "\n")
            self.last_t = t
        if batch.last_t is not None and batch.last_t != self.last_t:
            lines.append(self._bare(batch.last_t))
            self.last_t = batch.last_t
        self._out.write("".join(lines))
        self._out.flush()

    def _bare(self, t: int) -> str:
        """The line for a time point without facts."""
        return f'{{"t": {self._times.json(t)}}}\n'


# How long the last lines may take after the run has ended.
LAST_LINES_SECONDS = 10.0
_DRAIN_SECONDS = 0.01
_SINK_BYTES = 4 << 20


class Sink:
    """Sends lines in a background thread.

    Writing blocks while the queue is full: no line is dropped while a place is slow or unreachable.
    """

    def __init__(self, line_sink: LineSink, traffic: Traffic, limit: int = _SINK_BYTES) -> None:
        self._line_sink = line_sink
        self._traffic = traffic
        self._queue = Inbox(lambda: 0, limit)
        self._written: list[bytes | None] = []
        self._lines = 0
        self._thread = threading.Thread(target=self._carry, name="larspark sink", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Write a line, which ends with a line break."""
        self._written.append(text.encode())
        self._lines += 1

    def flush(self) -> None:
        """Queue the written lines for sending; raises the error that ended the sending, if any."""
        if self._queue.failure is not None:
            raise self._queue.failure
        if self._written:
            self._queue.put(Block("", self._lines, self._written))
            self._written = []

    def drain(self) -> None:
        """Wait until all lines are delivered; raises the error that ended the sending, if any."""
        self.flush()
        while self._line_sink.delivered < self._lines:
            if self._queue.failure is not None:
                raise self._queue.failure
            if not self._thread.is_alive():
                return
            time.sleep(_DRAIN_SECONDS)

    def __enter__(self) -> "Sink":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait until the last lines are delivered; an error if they are not."""
        self.flush()
        self._queue.end()
        self._thread.join(LAST_LINES_SECONDS)
        self._queue.stop()
        if left := self._lines - self._line_sink.delivered:
            message = f"{left:,} of {self._lines:,} lines of output were not delivered"
            raise LarsparkError(Problem("L321", message))

    def _carry(self) -> None:
        try:
            self._line_sink.carry(self._queue, self._traffic)
        except BaseException as error:  # raised again by `flush`
            self._queue.end(error)
            self._queue.stop()


def open_sink(place: str, say: Callable[[str], None]) -> Sink:
    """A sink at a live place, closed at the end of its context."""
    return Sink(parse_place(place).sink(), Traffic(say))


class CommittingSink(Sink):
    """A sink whose lines are seen by others when they are committed."""

    def __init__(self, place: DurableSink, say: Callable[[str], None]) -> None:
        super().__init__(place, Traffic(say))
        self._place = place
        self._say = say

    def lengths(self) -> dict[str, int]:
        """How many lines were delivered, for the next commit."""
        return self._place.lengths()

    def commit(self, number: int, offsets: object) -> None:
        """Commit all lines that were delivered, with the position of the source."""
        self._place.commit(number, offsets, self._say)


def durable_sink(place: str, owner: str) -> DurableSink | None:
    """The sink in transactions at a live place, for the run of this name; None without one."""
    return parse_place(place).durable_sink(owner)

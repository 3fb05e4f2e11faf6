"""The facts of a live run, kept as a stream that can be replayed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, assert_never

from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import FilePlace, MqttPlace, StandardPlace, TcpPlace, parse_place
from larspark.feeds.live.inbox import Block, Inbox, Traffic
from larspark.feeds.live.mqtt import MqttPublisher
from larspark.feeds.live.tcp import TcpFanOut, TcpSender
from larspark.feeds.write import fact_line


class Recording:
    """Facts in the order in which they were taken, and the time points at which time stood.

    A replay of it gives the answers of the run: it begins and ends with the same time points.
    """

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._last_t: int | None = None

    @classmethod
    @contextmanager
    def to(cls, path: Path) -> Iterator["Recording"]:
        """A recording in a file, which replaces an older one."""
        try:
            with path.open("w", encoding="utf-8") as out:
                yield cls(out)
        except OSError as error:
            why = error.strerror or str(error)
            raise LarsparkError(Problem("L324", f"cannot write {path}: {why}")) from None

    def add(self, batch: AnyBatch) -> None:
        """Keep a batch."""
        lines: list[str] = []
        for t, atom, _ in batch.rows():
            lines.append(fact_line(t, atom) + "\n")
            self._last_t = t
        if batch.last_t is not None and batch.last_t != self._last_t:
            lines.append(f'{{"t": {batch.last_t}}}\n')
            self._last_t = batch.last_t
        self._out.write("".join(lines))
        self._out.flush()


# How long the last lines may take when the run has ended.
LAST_LINES_SECONDS = 10.0
_SINK_BYTES = 4 << 20


class Carrier(Protocol):
    """Takes lines out of the queue and away: the one seam for new kinds of places."""

    delivered: int

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        """Deliver what comes, until it is over or the queue is stopping."""


class Sink:
    """Text that is written here goes out by a thread of its own, line by line.

    Who writes more than fits has to wait: nothing is thrown away while a place is slow or cannot
    be reached.
    """

    def __init__(self, carrier: Carrier, traffic: Traffic, limit: int = _SINK_BYTES) -> None:
        self._carrier = carrier
        self._traffic = traffic
        self._queue = Inbox(lambda: 0, limit)
        self._written: list[bytes | None] = []
        self._lines = 0
        self._thread = threading.Thread(target=self._carry, name="larspark sink", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Write a line, with its end."""
        self._written.append(text.encode())
        self._lines += 1

    def flush(self) -> None:
        """Let out what was written, or be told why that is not possible any more."""
        if self._queue.failure is not None:
            raise self._queue.failure
        if self._written:
            self._queue.put(Block("", self._lines, self._written))
            self._written = []

    def close(self) -> None:
        """Wait for the last lines; it is a problem when they do not get through."""
        self.flush()
        self._queue.end()
        self._thread.join(LAST_LINES_SECONDS)
        self._queue.stop()
        if left := self._lines - self._carrier.delivered:
            message = f"{left:,} of {self._lines:,} lines of output were not delivered"
            raise LarsparkError(Problem("L321", message))

    def _carry(self) -> None:
        try:
            self._carrier.carry(self._queue, self._traffic)
        except BaseException as error:  # it is raised again where lines are written
            self._queue.end(error)
            self._queue.stop()


@contextmanager
def open_sink(place: str, say: Callable[[str], None]) -> Iterator[Sink]:
    """A sink at a live place, closed in the end."""
    sink = Sink(_carrier(place), Traffic(say))
    try:
        yield sink
    finally:
        sink.close()


def _carrier(text: str) -> Carrier:
    place = parse_place(text)
    match place:
        case TcpPlace(listen=True):
            return TcpFanOut(place)
        case TcpPlace():
            return TcpSender(place)
        case MqttPlace():
            return MqttPublisher(place)
        case StandardPlace() | FilePlace():
            raise LarsparkError(Problem("L320", f"{text} is no live place to write to"))
        case _:
            assert_never(place)

"""Lines that are piped or typed into standard input."""

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Protocol, Self, assert_never

from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.formats.jsonl import JsonLines, Times
from larspark.feeds.live.address import (
    FilePlace,
    LivePlace,
    MqttPlace,
    StandardPlace,
    TcpPlace,
    parse_place,
)
from larspark.feeds.live.growing import GrowingFile
from larspark.feeds.live.inbox import INBOX_BYTES, PATIENCE_SECONDS, Inbox, Lines, Traffic
from larspark.feeds.live.mqtt import MqttSubscriber
from larspark.feeds.live.tcp import POLL_SECONDS, TcpClient, TcpListener
from larspark.feeds.live.wall_clock import Clock, ClockOrder
from larspark.feeds.ordering import Blocks, row_batches
from larspark.feeds.reading import OnError, Options, Reading
from larspark.feeds.stream import Stream

_READ = 1 << 18


class StandardInput:
    """Reads to the end of the input, as a file is read, but gives up what it has at any time."""

    def __init__(self, place: StandardPlace) -> None:
        self._name = place.name

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        descriptor = sys.stdin.fileno()
        lines = Lines(self._name, inbox, traffic)
        try:
            while not inbox.stopping.is_set():
                if not _ready(descriptor):
                    continue
                block = os.read(descriptor, _READ)
                if not block:
                    lines.close()
                    return
                lines.feed(block)
        except OSError as error:
            why = error.strerror or str(error)
            raise LarsparkError(Problem("L301", f"cannot read {self._name}: {why}")) from None
        # The run is ending in the middle of the input, perhaps in the middle of a line.
        lines.end()


def _ready(descriptor: int) -> bool:
    """Is there something to read? Where only sockets can be asked, reading itself waits."""
    if sys.platform == "win32":
        return True
    return bool(select.select([descriptor], [], [], POLL_SECONDS)[0])


class Feeder(Protocol):
    """Brings lines: the one seam for new kinds of places."""

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        """Put blocks of lines into the inbox, until they end or the inbox is stopping."""


class LiveStream(Stream):
    """Facts as they come from a live place; they can be read once.

    Without a clock every fact has its time, and time moves with the facts. With `clock`, the
    length of a time point in microseconds, time moves on by itself: facts without a time are
    stamped when they arrive, and a time point ends with the clock. It counts from 1970, or from
    `start`, which is then now. `say` is told about connections.
    """

    def __init__(
        self,
        place: str,
        *,
        clock: int | None = None,
        start: int | None = None,
        tick: int | None = None,
        on_error: OnError = "fail",
        lateness: int = 0,
        retry: bool = True,
        queue: int = INBOX_BYTES,
        say: Callable[[str], None] | None = None,
    ) -> None:
        parsed = parse_place(place)
        self.traffic = Traffic() if say is None else Traffic(say)
        self._clock: Clock | None = None
        self._first = 0
        self._length, self._start = clock, start
        self._inbox = Inbox(self._now, queue)
        self._feeder = _feeder(parsed, retry)
        self._begun = False
        self.stopped = False
        options = Options(clock or tick, on_error, lateness)
        super().__init__(parsed.name, self._batches, options, lasting=False)

    def begin(self) -> int | None:
        """Let the clock run from now on: the first time point of the stream, if there is a clock.

        Otherwise reading begins with that.
        """
        if self._length is None:
            return None
        if self._clock is None:
            self._clock = Clock(self._length, self._start)
            self._first = self._clock.now()
        return max(0, self._first - self.options.lateness)

    def stop(self) -> None:
        """End the stream: what has arrived is still delivered. A signal handler may call this."""
        self.stopped = True
        self._inbox.stop()

    def refuse(self, problem: Problem) -> None:
        """Count a fact that was delivered and that the program cannot take."""
        self._reading.facts -= 1
        self._reading.leave_out(problem)

    @property
    def clocked(self) -> bool:
        """Does a clock move time?"""
        return self._length is not None

    @property
    def queue(self) -> float:
        """How full the queue is, from 0 to 1."""
        return self._inbox.fill

    def _again(self, options: Options) -> Self:
        # There is no second reading, so the options of the one that will be are changed.
        self.options = options
        return self

    def _now(self) -> int:
        return 0 if self._clock is None else self._clock.now()

    def _batches(self, options: Options, reading: Reading) -> Iterator[AnyBatch]:
        if self._begun:
            message = f"{self.name} can be read only once, and it has been read"
            raise LarsparkError(Problem("L317", message))
        self._begun = True
        self.begin()
        feeding = threading.Thread(target=self._feed, name="larspark feeder", daemon=True)
        feeding.start()
        try:
            if self._clock is None:
                reader = JsonLines(options.tick, Times.REQUIRED)
                yield from row_batches(self._blocks(reader), self.name, options, reading)
            else:
                yield from self._clock_batches(self._clock, self._first, options, reading)
            if self._inbox.failure is not None:
                raise self._inbox.failure
        finally:
            self._inbox.stop()
            feeding.join(PATIENCE_SECONDS)

    def _feed(self) -> None:
        try:
            self._feeder.read(self._inbox, self.traffic)
        except OSError as error:
            why = error.strerror or str(error)
            self._inbox.end(LarsparkError(Problem("L321", f"{self.name}: {why}")))
        except BaseException as error:  # it is raised again where the facts are taken
            self._inbox.end(error)
        else:
            self._inbox.end()

    def _blocks(self, reader: JsonLines) -> Blocks:
        over = False
        while not over:
            blocks, _, over = self._inbox.take(None)
            for _, block in blocks:
                yield reader.arrivals(block.lines, block.first, block.source)

    def _clock_batches(
        self, clock: Clock, first: int, options: Options, reading: Reading
    ) -> Iterator[AnyBatch]:
        """At every time point a batch, with facts or without; more as facts come."""
        reader = JsonLines(options.tick, Times.OPTIONAL)
        order = ClockOrder(clock, options, reading)
        order.move(first)
        yield from order.release()
        over = False
        while not over:
            blocks, now, over = self._inbox.take(clock.seconds_left())
            for stamp, block in blocks:
                order.move(stamp)
                arrivals = reader.arrivals(block.lines, block.first, block.source, stamp)
                while (refused := order.take(arrivals, block.source)) is not None:
                    if options.on_error == "fail":
                        yield from order.release(everything=True)
                        raise LarsparkError(refused[0])
                    reading.leave_out(*refused)
                yield from order.release()
            order.move(now)
            yield from order.release()
        yield from order.release(everything=True)


def _feeder(place: LivePlace, retry: bool) -> Feeder:
    match place:
        case StandardPlace():
            return StandardInput(place)
        case TcpPlace(listen=True):
            return TcpListener(place)
        case TcpPlace():
            return TcpClient(place, retry)
        case MqttPlace():
            return MqttSubscriber(place, retry)
        case FilePlace():
            return GrowingFile(place)
        case _:
            assert_never(place)

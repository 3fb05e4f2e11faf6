"""Streams from live places: facts with their own times, or stamped by a clock."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Self

from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import known_format, suffix_format
from larspark.feeds.formats.csv_layout import CsvLayout
from larspark.feeds.formats.jsonl import LineReader
from larspark.feeds.formats.line_readers import line_reader
from larspark.feeds.live.inbox import INBOX_BYTES, PATIENCE_SECONDS, Inbox, Traffic
from larspark.feeds.live.places import is_live, parse_place
from larspark.feeds.live.wall_clock import Clock, ClockOrder
from larspark.feeds.ordering import Blocks, row_batches
from larspark.feeds.reading import OnError, Options, Reading
from larspark.feeds.stream import Stream, stream_mappings
from larspark.feeds.time_options import (
    DurationLike,
    TimeLike,
    is_number,
    reading_options,
    time_option,
)


class LiveStream(Stream):
    """The facts of a live place; they can be read once.

    Without a clock every fact has its time, and time advances with the facts. With `clock`, the
    length of a time point in microseconds, time advances by the clock: facts without a time are
    stamped when they arrive. Time points are counted from 1970, or from `start`, which is then the
    current time point. `say` receives messages about connections.

    `format` is `jsonl`, or `csv` or `tsv`; by default that of the suffix. CSV and JSON objects that
    do not hold atoms need a mapping to atoms, such as `map="time -> temp(sensor, value)"`, with a
    clock also `map="temp(sensor, value)"`.
    """

    def __init__(
        self,
        place: str,
        *,
        format: str | None = None,  # noqa: A002 - the word users know
        map: str | None = None,  # noqa: A002 - the same as the option `--map`
        delimiter: str | None = None,
        columns: str | Sequence[str] | None = None,
        clock: int | None = None,
        start: TimeLike | None = None,
        tick: int | None = None,
        on_error: OnError = "skip",
        lateness: DurationLike = 0,
        retry: bool = True,
        queue: int = INBOX_BYTES,
        say: Callable[[str], None] | None = None,
    ) -> None:
        parsed = parse_place(place)
        suffix = None if is_live(place) else suffix_format(PurePath(place))
        self._form = (suffix or "jsonl") if format is None else known_format(format)
        self._mappings = stream_mappings(
            map, self._form, parsed.name, optional_time=clock is not None
        )
        self._layout = CsvLayout.given(delimiter, columns)
        self.traffic = Traffic() if say is None else Traffic(say)
        self._clock: Clock | None = None
        self._first = 0
        self._length = clock
        self._start = None if start is None else time_option(start, clock or tick)
        # Time points count from 1970, or from a timestamp that was given.
        self._stamped = clock is not None and (start is None or not is_number(start))
        # Formats that cannot be read line by line are an error at once.
        self._reader_of(None)
        self._inbox = Inbox(self._now, queue)
        self._source = parsed.source(retry)
        self._begun = False
        self.stopped = False
        options = reading_options(clock or tick, on_error, lateness)
        super().__init__(parsed.name, self._batches, options, lasting=False)

    def begin(self) -> int | None:
        """Start the clock and return the first time point; None without a clock.

        Reading the stream starts the clock, too.
        """
        if self._length is None:
            return None
        if self._clock is None:
            self._clock = Clock(self._length, self._start)
            self._first = self._clock.now()
        return max(0, self._first - self.options.lateness)

    def stop(self) -> None:
        """End the stream; facts that have arrived are still delivered. Safe in a signal handler."""
        self.stopped = True
        self._inbox.stop()

    def refuse(self, problem: Problem) -> None:
        """Count a delivered fact that the program refuses."""
        self._reading.facts -= 1
        self._reading.skip(problem)

    @property
    def clocked(self) -> bool:
        """Whether time advances by a clock."""
        return self._length is not None

    @property
    def timestamps(self) -> bool:
        """Whether its times are timestamps, of the facts or of the clock."""
        return self._stamped or super().timestamps

    @property
    def queue(self) -> float:
        """The fill level of the queue, from 0 to 1."""
        return self._inbox.fill

    def _again(self, options: Options) -> Self:
        # A live stream is read once, so the options are changed in place.
        self.options = options
        return self

    def _now(self) -> int:
        return 0 if self._clock is None else self._clock.now()

    def _batches(self, options: Options, reading: Reading) -> Iterator[AnyBatch]:
        if self._begun:
            message = f"{self.name} can be read only once, and was read already"
            raise LarsparkError(Problem("L317", message))
        self._begun = True
        self.begin()
        feeding = threading.Thread(target=self._feed, name="larspark feeder", daemon=True)
        feeding.start()
        try:
            if self._clock is None:
                reader = self._reader_of(options.tick)
                reading.timestamps = lambda: reader.timestamps
                yield from row_batches(self._blocks(reader), self.name, options, reading)
            else:
                yield from self._clock_batches(self._clock, self._first, options, reading)
            if self._inbox.failure is not None:
                raise self._inbox.failure
        finally:
            self._inbox.stop()
            feeding.join(PATIENCE_SECONDS)

    def _reader_of(self, tick: int | None) -> LineReader:
        clocked = self._length is not None
        return line_reader(self._form, self._mappings, self._layout, tick, clocked=clocked)

    def _feed(self) -> None:
        try:
            self._source.read(self._inbox, self.traffic)
        except OSError as error:
            why = error.strerror or str(error)
            self._inbox.end(LarsparkError(Problem("L321", f"{self.name}: {why}")))
        except BaseException as error:  # raised again by the reader of the facts
            self._inbox.end(error)
        else:
            self._inbox.end()

    def _blocks(self, reader: LineReader) -> Blocks:
        over = False
        while not over:
            blocks, _, over = self._inbox.take(None)
            for _, block in blocks:
                yield reader.arrivals(block.lines, block.first, block.source)

    def _clock_batches(
        self, clock: Clock, first: int, options: Options, reading: Reading
    ) -> Iterator[AnyBatch]:
        """A batch for every time point, with or without facts, and more when facts arrive."""
        reader = self._reader_of(options.tick)
        reading.timestamps = lambda: reader.timestamps
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
                    reading.skip(*refused)
                yield from order.release()
            order.move(now)
            yield from order.release()
        yield from order.release(everything=True)

"""Streams from live places: facts with their own times, or stamped by a clock."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Self

from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import known_format, suffix_format
from larspark.feeds.formats.csv_layout import CsvLayout
from larspark.feeds.formats.jsonl import LineReader
from larspark.feeds.formats.line_batches import line_reader
from larspark.feeds.live.inbox import INBOX_BYTES, PATIENCE_SECONDS, Block, Inbox, Traffic
from larspark.feeds.live.places import is_live, parse_place
from larspark.feeds.live.wall_clock import Clock, ClockOrder
from larspark.feeds.ordering import Blocks, RowOrder, row_batches
from larspark.feeds.partition_order import PartitionOrder
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

    With `owner`, the name of a run, the stream can be paused and go on: `checkpoint` gives what
    `resume` takes, in another process. `at_rest` is called whenever all facts that were delivered
    are processed, idle if nothing has come since; it returns after how many seconds it wants to be
    called again.
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
        timezone: str | None = None,
        say: Callable[[str], None] | None = None,
        owner: str | None = None,
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
        options = reading_options(clock or tick, on_error, lateness, timezone=timezone)
        self._start = None if start is None else time_option(start, clock or tick, options.local)
        # Time points count from 1970, or from a timestamp that was given.
        self._stamped = clock is not None and (start is None or not is_number(start))
        # Formats that cannot be read line by line are an error at once.
        self._reader_of(Options())
        self._inbox = Inbox(self._now, queue)
        if owner is not None and self._form != "jsonl":
            # The names of the columns stand at the beginning, which is not read again.
            raise LarsparkError(Problem("L302", f"{parsed.name} is {self._form}: {_ONLY_JSON}"))
        durable = None if owner is None else parsed.durable_source(retry, owner)
        self._durable = durable
        self._source = durable or parsed.source(retry)
        self._owned = owner is not None
        if self._owned and durable is None:
            self.traffic.say(
                f"{parsed.name} cannot give lines again: "
                "what it gave after the last commit is lost when the run is killed"
            )
        self.at_rest: Callable[[bool], float | None] = _no_rest
        self._after: Any = None
        self._position: Any = None
        self._begun_part = False
        self._blocks_taken = 0
        self._has_partitions = parsed.has_partitions
        self._order: RowOrder | PartitionOrder | ClockOrder | None = None
        self._resumed: Mapping[str, Any] | None = None
        self._begun = False
        self.stopped = False
        super().__init__(parsed.name, self._batches, options, lasting=False)

    def begin(self) -> int | None:
        """Start the clock and return the first time point; None without a clock.

        Reading the stream starts the clock, too.
        """
        if self._length is None:
            return None
        if self._clock is None:
            least = 0 if self._resumed is None else self._resumed["newest"]
            start = self._start if self._resumed is None or self._start is None else least
            self._clock = Clock(self._length, start, least)
            self._first = self._clock.now()
        return max(0, self._first - self.options.lateness)

    def stop(self) -> None:
        """End the stream; facts that have arrived are still delivered. Safe in a signal handler."""
        self.stopped = True
        self._inbox.stop()

    def checkpoint(self) -> dict[str, Any]:
        """Where the stream is at rest, as JSON values."""
        if self._durable is not None and self._after is not None:
            self._position = self._durable.position(self._after)
        reading = self._reading
        order = {"newest": 0, "held back": []} if self._order is None else self._order.checkpoint()
        return {
            "position": self._position,
            **order,
            "counts": [reading.facts, reading.late, reading.skipped],
            "times": [reading.first_t, reading.last_t],
            "timestamps": reading.timestamps(),
        }

    def resume(self, checkpoint: Mapping[str, Any]) -> None:
        """Before reading: continue where another stream was idle."""
        self._resumed = checkpoint
        self._position = checkpoint["position"]
        if self._durable is not None:
            self._durable.resume(self._position)

    @property
    def offsets(self) -> object:
        """The position of the last checkpoint as a sink of the same broker can commit it."""
        if self._durable is None or self._after is None:
            return None
        return self._durable.offsets(self._after)

    def committed(self) -> None:
        """The last checkpoint is on the disk."""
        if self._durable is not None and self._after is not None:
            self._durable.committed(self._after)

    def leave(self) -> None:
        """After the reading and the last commit: leave the source."""
        if self._durable is not None:
            self._durable.close()

    @property
    def waiting(self) -> bool:
        """Whether the source may give nothing more before the next commit."""
        return self._durable is not None and self._durable.waiting

    @property
    def paused(self) -> bool:
        """Whether the stream was stopped and can be resumed."""
        return self.stopped and self._owned

    @property
    def progress(self) -> object:
        """Something that changes whenever the stream has moved on."""
        reading = self._reading
        return (self._blocks_taken, reading.facts, reading.skipped, reading.last_t)

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
        # A live run may go on for days: what it skips is reported when it begins to.
        reading.on_first_problem = self._report_skipped
        order = self._new_order(options, reading)
        feeding = threading.Thread(target=self._feed, name="larspark feeder", daemon=True)
        feeding.start()
        try:
            if self._clock is None:
                reader = self._reader_of(options)
                self._note_timestamps(reading, reader)
                blocks = self._blocks(reader)
                yield from row_batches(blocks, self.name, options, reading, order)
            else:
                yield from self._clock_batches(self._clock, self._first, options, reading)
        except _PausedError:
            pass
        else:
            if self._inbox.failure is not None:
                raise self._inbox.failure
        finally:
            self._inbox.stop()
            feeding.join(PATIENCE_SECONDS)

    def _report_skipped(self, problem: Problem) -> None:
        self.traffic.say(
            f"{problem.render()}\nskipped; the number of skipped lines follows at the end"
        )

    def _note_timestamps(self, reading: Reading, reader: LineReader) -> None:
        """Whether times came as timestamps, now or before the stream was paused."""
        before = self._resumed is not None and bool(self._resumed["timestamps"])
        reading.timestamps = lambda: before or reader.timestamps

    def _new_order(self, options: Options, reading: Reading) -> RowOrder | PartitionOrder | None:
        """The order of the facts, continued with those that were held back."""
        rows: RowOrder | PartitionOrder | None = None
        if self._clock is not None:
            self._order = ClockOrder(self._clock, options, reading)
        elif self._has_partitions:
            self._order = rows = PartitionOrder(self.name, options, reading)
        else:
            self._order = rows = RowOrder(self.name, options, reading)
        if self._resumed is not None:
            saved = self._resumed
            reading.facts, reading.late, reading.skipped = saved["counts"]
            reading.first_t, reading.last_t = saved["times"]
            self._order.resume(saved)
        return rows

    def _rest(self, idle: bool = False) -> float | None:
        """Everything that was taken from the queue is processed, unless it is a part of a whole."""
        if self._durable is not None and self._begun_part:
            return None
        return self.at_rest(idle)

    def _rest_behind(self) -> None:
        """Rest between two blocks, too: a run that is far behind has many of them at once."""
        if not self.stopped:
            self._rest()

    def _taken(self, block: Block) -> None:
        """A block is about to be processed."""
        self._blocks_taken += 1
        self._begun_part = block.after is None
        if block.after is not None:
            self._after = block.after
        if isinstance(self._order, PartitionOrder):
            self._order.begin(block.partition, block.awaited)

    def _pause(self, over: bool) -> None:
        """Keep the facts held back by a stream that is stopped and can be resumed."""
        if over and self.paused and self._inbox.failure is None:
            self._rest()
            raise _PausedError

    def _reader_of(self, options: Options) -> LineReader:
        clocked = self._length is not None
        return line_reader(self._form, self._mappings, self._layout, options, clocked=clocked)

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
        blocks: Sequence[tuple[int, Block]] = ()
        while not over:
            blocks, _, over = self._inbox.take(self._rest(not blocks))
            for _, block in blocks:
                self._rest_behind()
                self._taken(block)
                yield reader.arrivals(block.lines, block.first, block.source)
            self._pause(over)

    def _clock_batches(
        self, clock: Clock, first: int, options: Options, reading: Reading
    ) -> Iterator[AnyBatch]:
        """A batch for every time point, with or without facts, and more when facts arrive."""
        reader = self._reader_of(options)
        self._note_timestamps(reading, reader)
        order = self._order
        if not isinstance(order, ClockOrder):
            raise TypeError("a stream with a clock is ordered by it")
        order.move(first)
        yield from order.release()
        over = False
        blocks: Sequence[tuple[int, Block]] = ()
        while not over:
            rest = self._rest(not blocks)
            left = clock.seconds_left()
            blocks, now, over = self._inbox.take(left if rest is None else min(rest, left))
            for stamp, block in blocks:
                self._rest_behind()
                self._taken(block)
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
            self._pause(over)
        yield from order.release(everything=True)


_ONLY_JSON = "a run with a state reads JSON Lines only"


class _PausedError(Exception):
    """The stream is stopped and can be resumed."""


def _no_rest(idle: bool) -> float | None:
    return None

"""Live runs: opening the stream, signals, the status line and the summary."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import typer

from larspark import api
from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError
from larspark.cli.durable_run import DurableRun
from larspark.cli.options import Form, Layout, OnError
from larspark.feeds.live import LiveStream, is_live
from larspark.feeds.time_format import TimeFormat
from larspark.language.tree import Tick
from larspark.language.window_syntax import tick_text
from larspark.run.emit_policy import Every
from larspark.run.protocol import Answers
from larspark.run.session import Session
from larspark.show.terminal import Writer, errors, print_problems, say, status_line

_REDRAW_SECONDS = 0.2
# Signals that end a run; Windows has no terminal that hangs up.
_ENDING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


def open_live(
    stream: str,
    *,
    mapping: str | None,
    layout: Layout,
    record: Path | None,
    clock: str | None,
    start: str | None,
    tick: Tick | None,
    follow: bool,
    retry: bool,
    on_error: OnError | None,
    lateness: str,
    timezone: str | None,
    durable: DurableRun | None = None,
) -> LiveStream | None:
    """The live stream of the options; None for a file that is not followed.

    A durable run reads a file as a live stream, too, which ends with the file.
    """
    ends = not is_live(stream) and not follow
    if ends and clock is not None:
        raise typer.BadParameter("--clock is for live streams; use --follow for a file that grows")
    if ends and durable is None:
        if record is not None:
            raise typer.BadParameter("--record is for live streams")
        return None
    length = None if clock is None else api.parse_tick(clock)
    if length is not None and tick is not None and length != tick:
        raise typer.BadParameter(
            f"the program has `#tick {tick_text(tick)}`, but --clock {clock} is another length"
        )
    opened = LiveStream(
        stream,
        format=layout.format,
        map=mapping,
        delimiter=layout.delimiter,
        columns=layout.columns,
        clock=None if length is None else length.microseconds,
        start=start,
        tick=None if tick is None else tick.microseconds,
        on_error=(on_error or (OnError.FAIL if ends else OnError.SKIP)).value,
        lateness=lateness,
        timezone=timezone,
        retry=retry and not ends,
        say=say,
        owner=None if durable is None else durable.owner,
    )
    if durable is not None:
        durable.resume(opened)
    return opened


def parse_every(text: str, form: Form | None) -> Every:
    """The value of the option `--every`."""
    every = Every.parse(text)
    if every is None:
        forms = "time, '3 time', '3 time from 1', change, signal or '10 signals'"
        raise typer.BadParameter(f"--every {text}: use {forms}")
    if every != Every() and form is Form.INTERVALS:
        raise typer.BadParameter(
            "--as intervals writes an interval when it has ended; leave --every out"
        )
    return every


class Watch:
    """The status line of a live run, its summary, and the handling of signals."""

    def __init__(
        self,
        stream: LiveStream,
        session: Session,
        times: TimeFormat,
        *,
        quiet: bool,
        hang_up: Callable[[], None] | None = None,
    ) -> None:
        self._stream = stream
        self._times = times
        self._session = session
        self._quiet = quiet
        self._hang_up = hang_up
        self._interrupted = ""
        self._drawn = time.monotonic()
        self._facts_then = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """In this context, Ctrl-C ends the stream cleanly; a second one ends the process."""
        before = {number: signal.getsignal(number) for number in _ENDING}
        for number in before:
            signal.signal(number, self._interrupt)
        if self._hang_up is not None and hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._on_hang_up)
        try:
            yield
        finally:
            self._stream.stop()
            status_line.clear()
            for number, handler in before.items():
                signal.signal(number, handler)
            if self._interrupted or not self._quiet:
                errors.print(f"{self._interrupted}{self._summary()}", markup=False)

    def _on_hang_up(self, number: int, frame: FrameType | None) -> None:
        if self._hang_up is not None:
            self._hang_up()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = "stopped: "
        self._stream.stop()
        for each in _ENDING:
            # Also in the middle of a computation of the solver or a kernel.
            signal.signal(each, signal.SIG_DFL)

    def draw(self, batch: AnyBatch) -> None:
        """Update the status line after a batch."""
        now = time.monotonic()
        if now - self._drawn < _REDRAW_SECONDS:
            return
        rate = (self._stream.facts - self._facts_then) / (now - self._drawn)
        self._drawn, self._facts_then = now, self._stream.facts
        t = self._stream.last_t
        parts = [
            f"t {t if t is None else self._times.text(t)}",
            f"{rate:,.0f} facts/s",
            *self._counts(),
        ]
        if self._stream.queue > 0:
            parts.append(f"queue {self._stream.queue:.0%}")
        status_line.show(" · ".join(parts))

    def _summary(self) -> str:
        start, answered = self._session.start, self._session.answered
        if start is None or answered is None:
            did = "answered no time point"
        else:
            points = _counted(answered - start + 1, "time point")
            did = f"answered {points}, {self._times.text(start)} to {self._times.text(answered)}"
        return ", ".join([did, *self._counts()])

    def _counts(self) -> list[str]:
        stream, traffic = self._stream, self._stream.traffic
        counts = [_counted(stream.facts, "fact")]
        if stream.late:
            counts.append(f"{stream.late:,} late")
        if stream.skipped > stream.late:
            counts.append(f"{stream.skipped - stream.late:,} skipped")
        if traffic.breaks:
            counts.append(f"{_counted(traffic.breaks, 'break')} of {traffic.down:.1f} s in all")
        if traffic.forgotten:
            counts.append(f"{traffic.forgotten:,} of them not bridged by the broker")
        if traffic.again:
            counts.append(f"{_counted(traffic.again, 'message')} delivered again")
        if traffic.cut:
            counts.append(f"{_counted(traffic.cut, 'line')} cut off")
        return counts


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def flushed(pieces: Iterable[Answers], out: Writer) -> Iterator[Answers]:
    """The same answers; the output is flushed after each piece."""
    for piece in pieces:
        yield piece
        out.flush()


def report_end(error: LarsparkError) -> None:
    """Report why the process ends at once."""
    status_line.clear()
    print_problems(error.problems)

"""Output to terminals, pipes and files, and messages on standard error.

Text from streams never reaches a terminal with control characters in it.
"""

import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.feeds import Stream
from larspark.feeds.live import Sink, open_sink
from larspark.feeds.output_file import OutputFile

# Control characters but for the tab, and those that turn the direction of writing around.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with control characters replaced, so that a stream cannot control the terminal.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return _CONTROL.sub("\ufffd", text)


# The width that is assumed when the output is not a terminal.
PLAIN_WIDTH = 100

errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


class StatusLine:
    """A status line at the bottom of a terminal; it is cleared before other output."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = False
        self._lock = threading.RLock()

    def show(self, text: str) -> None:
        if not self._console.is_terminal:
            return
        with self._lock:
            self.clear()
            # A wrapped line could not be cleared.
            fitting = text[: self._console.width - 1]
            self._console.print(fitting, style="dim", end="", markup=False)
            self._shown = True

    def clear(self) -> None:
        with self._lock:
            if self._shown:
                self._console.control(Control((ControlType.CARRIAGE_RETURN,)))
                self._console.control(Control((ControlType.ERASE_IN_LINE, 2)))
                self._shown = False


status_line = StatusLine(errors)


class CompileMessages:
    """Messages about the kernels of the interval engine, for the time until they are compiled."""

    def compiling(self, number: int, count: int) -> None:
        if number == count:
            status_line.clear()
            return
        words = f"compiling kernels, once for this version: {number} of {count}"
        status_line.show(f"{words}; slower until then")

    def cache_unusable(self, reason: str) -> None:
        status_line.clear()
        errors.print(f"note: compiled kernels: {reason}", style="yellow", markup=False)

    def numba_missing(self) -> None:
        status_line.clear()
        text = "warning: numba is not installed, so the engine runs in plain Python, much slower"
        errors.print(text, style="yellow", markup=False)
        errors.print("  hint: install it with `pip install 'larspark[fast]'`", markup=False)


class Writer:
    """Writes lines, formatted for a terminal or plain for programs."""

    def __init__(self, out: IO[str] | OutputFile | Sink, people: bool) -> None:
        self.people = people
        self.lines = 0
        self._out = out
        self._console = Console(highlight=False, soft_wrap=True, emoji=False) if people else None

    @property
    def width(self) -> int:
        """The width of a line in characters."""
        return PLAIN_WIDTH if self._console is None else self._console.width

    def line(self, text: str) -> None:
        """Write a line; for a terminal it may contain Rich markup, but no control characters.

        For programs it may be several lines.
        """
        self.lines += 1
        if self._console is not None:
            status_line.clear()
            self._console.print(printable(text))
        else:
            self._out.write(text + "\n")

    def flush(self) -> None:
        """Flush the output."""
        self._out.flush()

    def drain(self) -> None:
        """Wait until a live sink has delivered all lines."""
        self.flush()
        if isinstance(self._out, Sink):
            self._out.drain()

    def json(self, value: Any) -> None:
        self._out.write(json.dumps(value, ensure_ascii=False) + "\n")


@contextmanager
def _standard_output(as_json: bool) -> Iterator[Writer]:
    """A writer to standard output; when its reader leaves, as `head` does, the command is over."""
    try:
        yield Writer(sys.stdout, people=not as_json and sys.stdout.isatty())
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise _unwritable("standard output", error) from None


@contextmanager
def writer(place: str | OutputFile | Sink | None, as_json: bool) -> Iterator[Writer]:
    """A writer to standard output, to a file, or to a live sink."""
    if isinstance(place, OutputFile):
        try:
            yield Writer(place, people=False)
        finally:
            place.close()
    elif place is None or place == "-":
        with _standard_output(as_json) as out:
            yield out
    else:
        with place if isinstance(place, Sink) else open_sink(place, say) as sink:
            yield Writer(sink, people=False)


def say(text: str) -> None:
    """Print a message about a live run on standard error."""
    status_line.clear()
    errors.print(text, style="yellow", markup=False)


def write_file(path: Path, text: str) -> None:
    """Write a text to a file; an existing one is overwritten."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str | Path, error: OSError) -> LarsparkError:
    return LarsparkError(Problem("L324", f"cannot write {path}: {error.strerror or error}"))


def print_problems(problems: Iterable[Problem]) -> None:
    """Print problems on standard error, each with its place and hint."""
    for problem in problems:
        head, *rest = problem.render().split("\n")
        colour = "red" if problem.severity is Severity.ERROR else "yellow"
        errors.print(printable(head), style=colour, markup=False)
        for text in rest:
            errors.print(printable(text), markup=False)


def print_unexpected(error: Exception) -> None:
    """Print an unexpected exception on standard error."""
    words = f"{type(error).__name__}: {error}".split("\n")[0]
    errors.print(printable(f"unexpected error: {words}"), style="red", markup=False)
    errors.print("  hint: run it again with --debug to see where, and report it", markup=False)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes about a run on standard error."""
    for note in notes:
        errors.print(f"note: {printable(note)}", markup=False)


def print_skipped(stream: Stream) -> None:
    """Print on standard error how many facts `--on-error skip` skipped."""
    print_problems(stream.problems)
    if stream.skipped:
        errors.print(f"skipped {stream.skipped} of {stream.skipped + stream.facts} facts")


# Shorter runs, in seconds, show no progress bar.
SHORT = 0.7
_WIDTH = 24


@contextmanager
def reading_progress(
    stream: Stream, batches: Iterable[AnyBatch], line: StatusLine = status_line
) -> Iterator[Iterable[AnyBatch]]:
    """The same batches; while they are processed, a progress bar shows how much was read."""
    begun = time.monotonic()

    def watched() -> Iterator[AnyBatch]:
        for batch in batches:
            yield batch
            seconds = time.monotonic() - begun
            if seconds > SHORT:
                line.show(progress_text(stream.share, stream.facts, stream.last_t, seconds))

    try:
        yield watched()
    finally:
        line.clear()


def progress_text(share: float | None, facts: int, t: int | None, seconds: float) -> str:
    """A progress bar with counts.

    >>> progress_text(0.5, 30_000, 17, 2.0)
    '━━━━━━━━━━━━──────────── 50% · 30,000 facts · 15,000 facts/s · t 17'
    """
    counts = f"{facts:,} facts · {facts / seconds:,.0f} facts/s · t {t}"
    if share is None:
        return counts
    done = round(share * _WIDTH)
    return f"{'━' * done}{'─' * (_WIDTH - done)} {share:.0%} · {counts}"

"""What a live source has met on its way, counted."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import LineSplitter


def _silent(text: str) -> None:
    """Nobody wants to hear."""


@dataclass(slots=True)
class Traffic:
    """The counts of a live source; one thread writes them, others may look.

    `lines` were read whole; `cut` lines ended in the middle when their connection did. `breaks` of
    a connection lasted `down` seconds in all. `again` messages were delivered a second time after
    a break. `forgotten` breaks are those after which the broker had kept nothing for us.
    """

    say: Callable[[str], None] = _silent
    connected: bool = False
    lines: int = 0
    cut: int = 0
    breaks: int = 0
    again: int = 0
    forgotten: int = 0
    connections: int = 0
    _down: float = 0.0
    _since: float | None = field(default=None)

    @property
    def down(self) -> float:
        """For how many seconds there was no connection after a break."""
        now = 0.0 if self._since is None else time.monotonic() - self._since
        return self._down + now

    def up(self, where: str) -> None:
        """A connection was made."""
        self.connected = True
        self.connections += 1
        if self._since is not None:
            seconds = time.monotonic() - self._since
            self._down += seconds
            self._since = None
            self.say(f"connected to {where} again after {seconds:.1f} s")

    def broken(self, why: str) -> None:
        """A connection that was made is gone."""
        self.connected = False
        self.breaks += 1
        self._since = time.monotonic()
        self.say(why)


# What may wait: with lines of 50 bytes these are about 150,000 lines.
INBOX_BYTES = 16 << 20
# What a line takes besides its bytes: empty ones fill the queue, too.
_LINE_BYTES = 64
# How long those who bring may take to end when the run does.
PATIENCE_SECONDS = 5.0


class Block(NamedTuple):
    """Lines that came together: where from, and the number of the first one there."""

    source: str
    first: int
    lines: list[bytes | None]


class Delivery(NamedTuple):
    """The blocks that came, each with the time point of its arrival, and the time point now.

    What comes later is stamped with `now` or later.
    """

    blocks: list[tuple[int, Block]]
    now: int
    over: bool


class Inbox:
    """Blocks in the order of their arrival. Who brings more than fits has to wait.

    Stamping a block and looking at the clock happen under one lock, so a time point that has
    passed is complete: nothing with its stamp is still on its way.
    """

    def __init__(self, now: Callable[[], int], limit: int = INBOX_BYTES) -> None:
        self._now = now
        self._limit = limit
        # Its lock may be taken twice by one thread: a signal can interrupt whoever holds it.
        self._changed = threading.Condition(threading.RLock())
        self._blocks: deque[tuple[int, Block]] = deque()
        self._size = 0
        self._ended = False
        self.failure: BaseException | None = None
        self.stopping = threading.Event()

    def put(self, block: Block) -> None:
        """Hand a block in, as soon as there is room; when the run is ending, at once."""
        size = sum(map(len, filter(None, block.lines))) + _LINE_BYTES * len(block.lines)
        with self._changed:
            while self._size >= self._limit and not self.stopping.is_set():
                self._changed.wait()
            self._blocks.append((self._now(), block))
            self._size += size
            self._changed.notify_all()

    def take(self, timeout: float | None) -> Delivery:
        """All that is there, or that comes first within so many seconds."""
        with self._changed:
            if not self._blocks and not self._ended:
                self._changed.wait(PATIENCE_SECONDS if self.stopping.is_set() else timeout)
            blocks = list(self._blocks)
            self._blocks.clear()
            self._size = 0
            self._changed.notify_all()
            # Who was asked to end and does not is left behind.
            over = self._ended or (self.stopping.is_set() and not blocks)
            return Delivery(blocks, self._now(), over)

    def end(self, failure: BaseException | None = None) -> None:
        """No more will come; `failure` says why, when that is no good reason."""
        with self._changed:
            self._ended = True
            self.failure = failure
            self._changed.notify_all()

    def stop(self) -> None:
        """Ask those who bring to end; what they have in hand still comes."""
        self.stopping.set()
        with self._changed:
            self._changed.notify_all()

    @property
    def fill(self) -> float:
        """How full the queue is: 1 is full."""
        return self._size / self._limit


FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


def keep_connected(
    talk: Callable[[], None], where: str, inbox: Inbox, traffic: Traffic, retry: bool
) -> None:
    """Talk until the run ends: `talk` connects, calls `traffic.up`, and reads to the end.

    When it returns or fails the connection is gone, and it is called again after a pause. Without
    `retry` an orderly end of the connection is the end of the stream, and a failure is a problem.
    """
    pause = FIRST_PAUSE
    told = ""
    while not inbox.stopping.is_set():
        before = traffic.connections
        try:
            talk()
            why = "the other side closed it"
            failed = False
        except (OSError, UnicodeError) as error:
            # A name that no host can have is not even looked up.
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            failed = True
        if inbox.stopping.is_set():
            return
        was_up = traffic.connections > before
        if not retry:
            if failed:
                what = "the connection broke" if was_up else "cannot connect"
                raise LarsparkError(Problem("L321", f"{where}: {what}: {why}"))
            return
        if was_up:
            pause = FIRST_PAUSE
            told = ""
            traffic.broken(f"lost the connection to {where}: {why}; trying again")
        elif why != told:
            traffic.say(f"cannot connect to {where}: {why}; trying again until it works")
            told = why
        inbox.stopping.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


class Lines:
    """Lines of one origin, numbered from 1."""

    def __init__(self, source: str, inbox: Inbox, traffic: Traffic) -> None:
        self._source = source
        self._inbox = inbox
        self._traffic = traffic
        self._splitter = LineSplitter()
        self._next = 1

    def feed(self, received: bytes) -> None:
        if lines := self._splitter.feed(received):
            self._put(lines)

    def end(self) -> None:
        """The last line may lack its end: it is a line if it is whole, and else it was cut."""
        for line in self._splitter.rest():
            if _is_whole(line):
                self._put([line])
            else:
                self._traffic.cut += 1

    def close(self) -> None:
        """The same where a file ends: its last line is a line, whole or not."""
        if rest := self._splitter.rest():
            self._put(rest)

    def _put(self, lines: list[bytes | None]) -> None:
        self._inbox.put(Block(self._source, self._next, lines))
        self._next += len(lines)
        self._traffic.lines += len(lines)


def _is_whole(line: bytes | None) -> bool:
    """An object that was cut lacks its last brace, so it is no JSON."""
    try:
        orjson.loads(line or b"")
    except orjson.JSONDecodeError:
        return False
    return True

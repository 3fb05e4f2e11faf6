"""The queue between a live source and the run, its lines, and the counts of connections."""

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
    """Report nothing."""


@dataclass(slots=True)
class Traffic:
    """The counts of a live source; one thread writes them, others may read them.

    `lines` were read completely; `cut` lines were incomplete when their connection ended. `breaks`
    of a connection lasted `down` seconds in all. `again` counts messages delivered twice after a
    break, `forgotten` the breaks after which the broker had lost the session. `gaps` counts the
    events after which lines may be lost, and nobody can know.
    """

    say: Callable[[str], None] = _silent
    lines: int = 0
    cut: int = 0
    breaks: int = 0
    again: int = 0
    forgotten: int = 0
    gaps: int = 0
    connections: int = 0
    _down: float = 0.0
    _since: float | None = field(default=None)

    @property
    def down(self) -> float:
        """The seconds without a connection, over all breaks."""
        now = 0.0 if self._since is None else time.monotonic() - self._since
        return self._down + now

    def up(self, where: str) -> None:
        """Count a new connection."""
        self.connections += 1
        if self._since is not None:
            seconds = time.monotonic() - self._since
            self._down += seconds
            self._since = None
            self.say(f"connected to {where} again after {seconds:.1f} s")

    def gap(self, why: str) -> None:
        """Count an event after which lines may be lost."""
        self.gaps += 1
        self.say(f"{why}; lines may be lost")

    def broken(self, why: str) -> None:
        """Count a lost connection."""
        self.breaks += 1
        self._since = time.monotonic()
        self.say(why)


# The size of the queue: about 150,000 lines of 50 bytes.
INBOX_BYTES = 16 << 20
# The overhead of a line, so that empty lines fill the queue, too.
_LINE_BYTES = 64
# How long a source may take to end when the run ends.
PATIENCE_SECONDS = 5.0
# How long a source may take to notice that the run is ending.
POLL_SECONDS = 0.1


class Block(NamedTuple):
    """Lines that were read together: their origin, and the number of the first line there.

    `after` is the position after them from which their source can go on; None where it cannot.
    Lines of a source with partitions are of one `partition`; `awaited` are those that may still
    give earlier facts.
    """

    source: str
    first: int
    lines: list[bytes | None]
    after: object = None
    partition: int = 0
    awaited: frozenset[int] = frozenset((0,))


class Delivery(NamedTuple):
    """Blocks, each with the time point of its arrival, and the current time point.

    Later blocks are stamped with `now` or later.
    """

    blocks: list[tuple[int, Block]]
    now: int
    over: bool


class Inbox:
    """A bounded queue of blocks in the order of their arrival; `put` blocks while it is full.

    Blocks are stamped and the clock is read under one lock, so a time point that has passed is
    complete: no block with its stamp can still be added.
    """

    def __init__(self, now: Callable[[], int], limit: int = INBOX_BYTES) -> None:
        self._now = now
        self._limit = limit
        # Reentrant, because a signal handler may run in the thread that holds the lock.
        self._changed = threading.Condition(threading.RLock())
        self._blocks: deque[tuple[int, Block]] = deque()
        self._size = 0
        self._ended = False
        self.failure: BaseException | None = None
        self.stopping = threading.Event()

    def put(self, block: Block) -> None:
        """Add a block; waits while the queue is full, unless the run is ending."""
        size = sum(map(len, filter(None, block.lines))) + _LINE_BYTES * len(block.lines)
        with self._changed:
            while self._size >= self._limit and not self.stopping.is_set():
                self._changed.wait()
            self._blocks.append((self._now(), block))
            self._size += size
            self._changed.notify_all()

    def take(self, timeout: float | None) -> Delivery:
        """Remove and return all blocks; waits up to `timeout` seconds for the first one."""
        with self._changed:
            if not self._blocks and not self._ended:
                self._changed.wait(PATIENCE_SECONDS if self.stopping.is_set() else timeout)
            blocks = list(self._blocks)
            self._blocks.clear()
            self._size = 0
            self._changed.notify_all()
            # A source that does not end when asked to is abandoned.
            over = self._ended or (self.stopping.is_set() and not blocks)
            return Delivery(blocks, self._now(), over)

    def end(self, failure: BaseException | None = None) -> None:
        """Mark the end of the input; `failure` is the error that caused it, if any."""
        with self._changed:
            self._ended = True
            self.failure = failure
            self._changed.notify_all()

    def stop(self) -> None:
        """Ask the source to end; blocks that it already has are still accepted."""
        self.stopping.set()
        with self._changed:
            self._changed.notify_all()

    @property
    def fill(self) -> float:
        """The fill level of the queue: 1 is full."""
        return self._size / self._limit


FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


def keep_connected(
    talk: Callable[[], None], where: str, inbox: Inbox, traffic: Traffic, retry: bool
) -> None:
    """Call `talk` until the run ends: it connects, calls `traffic.up`, and reads to the end.

    When it returns or fails, the connection is gone, and it is called again after a pause. Without
    `retry`, an orderly end of the connection ends the stream, and a failure is an error.
    """
    pause = FIRST_PAUSE
    reported = ""
    while not inbox.stopping.is_set():
        before = traffic.connections
        try:
            talk()
            why = "the peer closed it"
            failed = False
        except (OSError, UnicodeError) as error:
            # UnicodeError: a host name that is not valid is refused before it is looked up.
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
            reported = ""
            traffic.broken(f"lost the connection to {where}: {why}; trying again")
        elif why != reported:
            traffic.say(f"cannot connect to {where}: {why}; trying again until it works")
            reported = why
        inbox.stopping.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


class Lines:
    """Splits the bytes of one origin into lines, numbered from 1, and queues them."""

    def __init__(self, source: str, inbox: Inbox, traffic: Traffic) -> None:
        self._source = source
        self._inbox = inbox
        self._traffic = traffic
        self._splitter = LineSplitter()
        self._next = 1
        # How many bytes complete lines have taken, and the position after so many.
        self.consumed = 0
        self.after: Callable[[int], object] = _no_position
        self._fed = 0

    def feed(self, received: bytes) -> None:
        self._fed += len(received)
        if lines := self._splitter.feed(received):
            # Everything but the beginning of the next line, which is behind the last line end.
            self.consumed += self._fed - (rest := len(received) - received.rfind(b"\n") - 1)
            self._fed = rest
            self._put(lines)

    def end(self) -> None:
        """Finish after a broken connection: a last line that is not complete JSON counts as cut."""
        for line in self._splitter.rest():
            if _is_complete(line):
                self.consumed += self._fed
                self._put([line])
            else:
                self._traffic.cut += 1

    def close(self) -> None:
        """Finish at the end of a file: its last line needs no line end."""
        if rest := self._splitter.rest():
            self.consumed += self._fed
            self._put(rest)

    def _put(self, lines: list[bytes | None]) -> None:
        self._inbox.put(Block(self._source, self._next, lines, self.after(self.consumed)))
        self._next += len(lines)
        self._traffic.lines += len(lines)


def _no_position(_consumed: int) -> object:
    return None


def _is_complete(line: bytes | None) -> bool:
    """Whether a line is complete JSON: a truncated object lacks its last brace."""
    try:
        orjson.loads(line or b"")
    except orjson.JSONDecodeError:
        return False
    return True

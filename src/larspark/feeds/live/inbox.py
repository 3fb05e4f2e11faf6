"""The bounded queue between the threads that read and the one that reasons."""

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

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

"""What a run may use at most: rows, memory, and time for one evaluation."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from larspark.base.problems import LarsparkError, Problem
from larspark.run.protocol import Answers
from larspark.run.session import Session

_LOOK_SECONDS = 0.05
# How long Python may take to come back from a kernel or the solver before the process is ended.
_GRACE_SECONDS = 2.0
_ROWS_SECONDS = 0.2
# What engines call that which they hold.
_HELD = ("rows", "elements", "ground rules")


@dataclass(frozen=True, slots=True)
class Budget:
    """The most rows or elements that an engine may hold, the most bytes that the process may take,
    and the most seconds that an evaluation may take. None is without a limit."""

    rows: int | None = None
    memory: int | None = None
    seconds: float | None = None

    def counted(self, pieces: Iterable[Answers], session: Session | None) -> Iterator[Answers]:
        """The same answers; an error when the engine holds too many rows."""
        look_at = 0.0
        for piece in pieces:
            if session is not None and self.rows is not None and time.monotonic() > look_at:
                stats = session.stats()
                held = sum(stats.get(name, 0) for name in _HELD)
                if held > self.rows:
                    raise _over(f"the engine holds {held:,} rows", f"--max-rows {self.rows}")
                look_at = time.monotonic() + _ROWS_SECONDS
            yield piece

    @contextmanager
    def watched(
        self, session: Session | None, end: Callable[[LarsparkError], None]
    ) -> Iterator[None]:
        """In this context, the run is ended when it takes too much memory or time.

        A thread looks after it, because a join or the solver can take both within one call. Where
        Python does not get to raise the error, `end` reports it before the process is ended.
        """
        if session is None or (self.memory is None and self.seconds is None):
            yield
            return
        # Some engines keep to the time limit themselves, with the answers before.
        seconds = None if session.kind.time_limit else self.seconds
        over = threading.Event()
        errors: list[LarsparkError] = []

        def raise_it(number: int, frame: FrameType | None) -> None:
            raise errors[0]

        def look() -> None:
            while not over.wait(_LOOK_SECONDS):
                found = self._exceeded(session, seconds)
                if found is None:
                    continue
                errors.append(found)
                if hasattr(signal, "SIGUSR1"):
                    signal.raise_signal(signal.SIGUSR1)
                if not over.wait(_GRACE_SECONDS):
                    end(found)
                    os._exit(1)

        before = None
        if hasattr(signal, "SIGUSR1") and threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGUSR1, raise_it)
        thread = threading.Thread(target=look, name="larspark budget", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            if before is not None:
                signal.signal(signal.SIGUSR1, before)

    def _exceeded(self, session: Session, seconds: float | None) -> LarsparkError | None:
        """The error if the memory or the time is used up now."""
        if self.memory is not None and (taken := memory_taken()) > self.memory:
            return _over(
                f"the run takes {taken >> 20:,} MiB", f"--max-memory {self.memory >> 20}MiB"
            )
        since = session.evaluating_since
        if seconds is not None and since is not None and time.monotonic() - since > seconds:
            return _over(
                f"an evaluation takes more than {seconds:g} s", f"--time-limit {seconds:g}"
            )
        return None


def memory_taken() -> int:
    """The bytes of memory that this process takes; on other systems than Linux, took at most."""
    # Windows has no such module.
    import resource

    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _over(what: str, limit: str) -> LarsparkError:
    hint = "smaller windows and rules with fewer joins need less; `larspark check -v` shows them"
    return LarsparkError(Problem("L431", f"{what}, and the limit is {limit}", hint=hint))

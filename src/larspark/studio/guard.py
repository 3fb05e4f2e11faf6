"""Ends a run that is no longer wanted, or takes too much memory, in the middle of an evaluation."""

import ctypes
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TypeVar

from larspark.base.problems import LarsparkError, Problem
from larspark.run.budget import memory_taken
from larspark.studio.feed import OutdatedError

T = TypeVar("T")
_LOOK_SECONDS = 0.1
# Packages that are left in disorder when something is raised in the middle of them.
_UNBREAKABLE = frozenset(
    (
        "_frozen_importlib",
        "_frozen_importlib_external",
        "importlib",
        "llvmlite",
        "numba",
        "subprocess",
    )
)
# After so many seconds it is tried again, should somebody have caught what was raised.
_AGAIN_SECONDS = 2.0


class OverMemoryError(Exception):
    """The process takes more memory than it may."""


def over_memory(limit: int) -> LarsparkError:
    """The error for people."""
    message = f"this takes more memory than the studio may have, {limit >> 20:,} MiB"
    hint = "smaller windows and rules with fewer joins need less; `--max-memory` allows more"
    return LarsparkError(Problem("L431", message, hint=hint))


def unexpected(error: Exception) -> LarsparkError:
    """An error that should not be, for people; where it was raised stands on standard error."""
    traceback.print_exception(error)
    words = f"{type(error).__name__}: {error}".split("\n")[0]
    hint = "the terminal of the studio says where; report it"
    return LarsparkError(Problem("L508", f"unexpected error: {words}", hint=hint))


def half_of_memory() -> int | None:
    """Half of the memory of this machine in bytes, where the system says how much it has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return None


class Guard:
    """Runs work in a thread of its own, and ends it there when it is `outdated` or takes too much.

    What ends it is raised in that thread alone, wherever it evaluates; not in what is `spared`,
    which shares locks with others. A kernel or the solver comes to its end first.
    """

    def __init__(self, outdated: Callable[[], bool], memory: int | None) -> None:
        self._outdated = outdated
        self._memory = memory
        self._breakable = False
        self._gate = threading.Lock()

    def run(self, work: Callable[[], T]) -> T:
        """What the work returns or raises; `OutdatedError` or `OverMemoryError` if it is ended."""
        found: list[T] = []
        failed: list[BaseException] = []
        thread = threading.Thread(
            target=self._work, args=(work, found, failed), name="guarded", daemon=True
        )
        thread.start()
        ended = self._watch(thread)
        if ended is not None:
            # Also when it has an answer: a part of the work may have swallowed its end.
            raise ended
        if failed:
            raise failed[0]
        if not found:
            raise OutdatedError
        return found[0]

    def _work(self, work: Callable[[], T], found: list[T], failed: list[BaseException]) -> None:
        # What ends the work may still arrive while its own error is kept.
        with suppress(OutdatedError, OverMemoryError):
            try:
                self._breakable = True
                found.append(work())
            except BaseException as error:
                failed.append(error)
            finally:
                with self._gate:
                    self._breakable = False

    @contextmanager
    def spared(self) -> Iterator[None]:
        """In this context, nothing is raised."""
        before = self._breakable
        try:
            with self._gate:
                self._breakable = False
            yield
        finally:
            self._breakable = before

    def each(self, items: Iterator[T]) -> Iterator[T]:
        """The same items; nothing is raised while they are made."""
        end = object()
        while True:
            with self.spared():
                item = next(items, end)
            if item is end:
                return
            yield item  # type: ignore[misc]

    def _watch(self, thread: threading.Thread) -> type[Exception] | None:
        """Why the thread was ended, once it is over."""
        ended: type[Exception] | None = None
        pause = _LOOK_SECONDS
        while thread.is_alive():
            thread.join(pause)
            pause = _LOOK_SECONDS
            reason = self._reason()
            if (
                reason is not None
                and thread.ident is not None
                and self._raised(thread.ident, reason)
            ):
                ended = reason
                pause = _AGAIN_SECONDS
        return ended

    def _raised(self, thread: int, reason: type[Exception]) -> bool:
        """Whether the reason was raised in the thread: not where it would do harm."""
        with self._gate:
            if not self._breakable or _is_unbreakable(sys._current_frames().get(thread)):
                return False
            ident = ctypes.c_ulong(thread)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(reason))
            # It may have gone on between the look and the raising.
            if _is_unbreakable(sys._current_frames().get(thread)):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, None)
                return False
            return True

    def _reason(self) -> type[Exception] | None:
        if self._outdated():
            return OutdatedError
        if self._memory is not None and memory_taken() > self._memory:
            return OverMemoryError
        return None


def _is_unbreakable(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _UNBREAKABLE:
            return True
        frame = frame.f_back
    return False

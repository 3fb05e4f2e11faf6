"""Ends a run that is no longer wanted, or takes too much memory, in the middle of an evaluation."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self, TypeVar

from larspark.base.problems import LarsparkError, Problem
from larspark.run.budget import memory_taken
from larspark.studio.feed import OutdatedError

T = TypeVar("T")
_LOOK_SECONDS = 0.1
# Modules that are left in disorder when something is raised in the middle of them.
_UNBREAKABLE = ("_frozen_importlib", "_frozen_importlib_external", "importlib", "llvmlite", "numba")
# After so many seconds it is tried again, should somebody have caught what was raised.
_AGAIN_SECONDS = 2.0


class OverMemoryError(Exception):
    """The process takes more memory than it may."""


def over_memory(limit: int) -> LarsparkError:
    """The error for people."""
    message = f"this takes more memory than the studio may have, {limit >> 20:,} MiB"
    hint = "smaller windows and rules with fewer joins need less; `--max-memory` allows more"
    return LarsparkError(Problem("L431", message, hint=hint))


def half_of_memory() -> int | None:
    """Half of the memory of this machine in bytes, where the system says how much it has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return None


class Guard:
    """Watches the thread that enters it.

    What ends the run is raised in that thread, where it evaluates; not in what is `spared`, which
    shares locks with others. A kernel or the solver comes to its end first.
    """

    def __init__(self, outdated: Callable[[], bool], memory: int | None) -> None:
        self._outdated = outdated
        self._memory = memory
        self._thread = 0
        self._breakable = False
        self._gate = threading.Lock()
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._thread = threading.get_ident()
        self._breakable = True
        threading.Thread(target=self._watch, name="guard", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._gate:
            self._breakable = False
        self._over.set()

    @contextmanager
    def spared(self) -> Iterator[None]:
        """In this context, nothing is raised."""
        before = self._breakable
        with self._gate:
            self._breakable = False
        try:
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

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            reason = self._reason()
            if reason is None:
                continue
            raised = False
            with self._gate:
                frame = sys._current_frames().get(self._thread)
                if self._breakable and not _is_unbreakable(frame):
                    thread = ctypes.c_ulong(self._thread)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(reason))
                    raised = True
            if raised:
                self._over.wait(_AGAIN_SECONDS)

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

"""The clock: time on the wall, and time of this process, without the garbage collector."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up the time between `start` and `stop`."""

    __slots__ = ("_cpu", "_wall", "cpu_seconds", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self._wall = 0
        self._cpu = 0

    def start(self) -> None:
        self._cpu = time.process_time_ns()
        self._wall = time.perf_counter_ns()

    def stop(self) -> None:
        wall = time.perf_counter_ns()
        self.seconds += (wall - self._wall) / 1e9
        self.cpu_seconds += (time.process_time_ns() - self._cpu) / 1e9

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of a block."""
        self.start()
        yield
        self.stop()


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect now, and not while the clock runs."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

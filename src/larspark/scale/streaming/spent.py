"""Where the time of a step goes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Literal


@dataclass(slots=True)
class Spent:
    """Seconds on reading, restoring and saving state, and on reasoning."""

    state: float = 0.0
    engine: float = 0.0

    @contextmanager
    def on(self, what: Literal["state", "engine"]) -> Iterator[None]:
        """Count the time within this block."""
        begin = perf_counter()
        yield
        setattr(self, what, getattr(self, what) + perf_counter() - begin)

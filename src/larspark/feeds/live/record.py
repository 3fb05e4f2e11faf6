"""The facts of a live run, kept as a stream that can be replayed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.write import fact_line


class Recording:
    """Facts in the order in which they were taken, and the time points at which time stood.

    A replay of it gives the answers of the run: it begins and ends with the same time points.
    """

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._last_t: int | None = None

    @classmethod
    @contextmanager
    def to(cls, path: Path) -> Iterator["Recording"]:
        """A recording in a file, which replaces an older one."""
        try:
            with path.open("w", encoding="utf-8") as out:
                yield cls(out)
        except OSError as error:
            why = error.strerror or str(error)
            raise LarsparkError(Problem("L324", f"cannot write {path}: {why}")) from None

    def add(self, batch: AnyBatch) -> None:
        """Keep a batch."""
        lines: list[str] = []
        for t, atom, _ in batch.rows():
            lines.append(fact_line(t, atom) + "\n")
            self._last_t = t
        if batch.last_t is not None and batch.last_t != self._last_t:
            lines.append(f'{{"t": {batch.last_t}}}\n')
            self._last_t = batch.last_t
        self._out.write("".join(lines))
        self._out.flush()

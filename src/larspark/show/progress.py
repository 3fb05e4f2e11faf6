"""How far a long run has come, on standard error and only for a person at a terminal."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from larspark.base.facts import AnyBatch
from larspark.feeds import Stream
from larspark.show.terminal import StatusLine, status_line

# Who waits less, in seconds, needs no bar.
SHORT = 0.7
_WIDTH = 24


@contextmanager
def reading_progress(
    stream: Stream, batches: Iterable[AnyBatch], line: StatusLine = status_line
) -> Iterator[Iterable[AnyBatch]]:
    """The same batches; while they are worked off, a bar shows how much of them was read."""
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
    """A bar and counts.

    >>> progress_text(0.5, 30_000, 17, 2.0)
    '━━━━━━━━━━━━──────────── 50% · 30,000 facts · 15,000 facts/s · t 17'
    """
    counts = f"{facts:,} facts · {facts / seconds:,.0f} facts/s · t {t}"
    if share is None:
        return counts
    done = round(share * _WIDTH)
    return f"{'━' * done}{'─' * (_WIDTH - done)} {share:.0%} · {counts}"

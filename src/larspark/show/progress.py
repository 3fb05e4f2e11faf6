"""How far a long run has come, on standard error and only for a person at a terminal."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from larspark.base.facts import AnyBatch
from larspark.feeds import Stream
from larspark.show.terminal import errors

# Who waits less, in seconds, needs no bar.
SHORT = 0.7


@contextmanager
def reading_progress(stream: Stream, batches: Iterable[AnyBatch]) -> Iterator[Iterable[AnyBatch]]:
    """The same batches; while they are worked off, a bar shows how much of them was read."""
    if not errors.is_terminal:
        yield batches
        return
    # Most runs need no bar, and these take their time to load.
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    task = bar.add_task("", total=None)
    begun = time.monotonic()

    def watched() -> Iterator[AnyBatch]:
        for batch in batches:
            yield batch
            elapsed = time.monotonic() - begun
            if elapsed > SHORT:
                bar.start()
                share = stream.share
                rate = stream.facts / elapsed
                words = f"{stream.facts:,} facts, {rate:,.0f} a second, t = {stream.last_t}"
                bar.update(task, completed=share or 0, total=share and 1, description=words)

    try:
        yield watched()
    finally:
        bar.stop()

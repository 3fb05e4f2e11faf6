"""`larspark run --on spark`: evaluation on the executors of a Spark session."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from larspark import api
from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch
from larspark.feeds import Stream
from larspark.run.protocol import Answers, Settings
from larspark.show.terminal import errors

_EVERY = 0.5


def answers_on_spark(
    program: api.Program,
    stream: Stream,
    background: list[Atom],
    engine: str,
    settings: Settings,
    to: int | None,
    seen: Sequence[Callable[[AnyBatch], None]],
) -> tuple[list[Answers], Sequence[str]]:
    """The answers for the whole timeline, in one piece, and notes about them.

    Without any time point there are no answers. Every batch of the stream is passed to `seen`.
    """
    # Imported here, because only this needs PySpark.
    from larspark.spark import replay

    with errors.status("starting") as status, _progress(status.update) as report:
        found = replay(
            program,
            stream,
            background=background,
            engine=engine,
            settings=settings,
            to=to,
            progress=report,
            observers=seen,
        )
    return ([], ()) if found is None else ([found], found.notes)


@contextmanager
def _progress(update: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Show the current phase and the number of finished tasks of the active stages."""
    from larspark.scale.spark_session import SparkSession

    done = Event()
    phase = "starting"

    def report(text: str) -> None:
        nonlocal phase
        phase = text

    def watch() -> None:
        began = time.monotonic()
        while not done.wait(_EVERY):
            words = [f"{phase}, {time.monotonic() - began:.0f} s"]
            if (session := SparkSession.getActiveSession()) is not None:
                tracker = session.sparkContext.statusTracker()
                stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
                words += [f"{s.numCompletedTasks} of {s.numTasks} tasks" for s in stages if s]
            update(", ".join(words))

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield report
    finally:
        done.set()
        watcher.join()

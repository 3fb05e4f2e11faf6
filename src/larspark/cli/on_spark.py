"""`larspark run --on spark`: the same answers, worked out by the executors of a Spark session."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from larspark import api
from larspark.base.atoms import Atom
from larspark.feeds import Stream
from larspark.run.protocol import Answers, Settings
from larspark.scale.gathered import GatheredAnswers
from larspark.show.terminal import errors

_EVERY = 0.5


def answers_on_spark(
    program: api.Program,
    stream: Stream,
    background: list[Atom],
    engine: str,
    settings: Settings,
    to: int | None,
) -> Iterator[Answers]:
    """The answers for the whole timeline, in one piece; nothing when there is no time point."""
    # Imported here, because nobody else needs PySpark.
    from larspark.scale.batch import run_prepared
    from larspark.scale.failing import collect
    from larspark.scale.java import find_java
    from larspark.scale.layout import Wish
    from larspark.scale.prepare import prepare
    from larspark.scale.session import local_session
    from larspark.scale.spool import spool

    find_java()
    prepared = prepare(program.syntax, background, engine, settings, Wish())
    with tempfile.TemporaryDirectory(prefix="larspark-") as folder, _status() as status:
        status("reading the stream")
        spooled = spool(stream.batches(), Path(folder), to, settings.hindsight)
        status("starting Spark")
        session = local_session(quiet=True)
        with _progress(session, status):
            found = run_prepared(prepared, spooled.sources, to=to, heard=spooled.heard)
            if found.timeline is None:
                return
            table = collect(found.answers)
    yield GatheredAnswers(*found.timeline, table)


@contextmanager
def _status() -> Iterator[Any]:
    """Tell people what is going on, on standard error, where someone looks."""
    with errors.status("starting") as status:
        yield status.update


@contextmanager
def _progress(session: Any, status: Any) -> Iterator[None]:
    """Tell how many tasks of the stage at work are done."""
    done = Event()

    def watch() -> None:
        tracker = session.sparkContext.statusTracker()
        began = time.monotonic()
        while not done.wait(_EVERY):
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            tasks = ", ".join(f"{s.numCompletedTasks} of {s.numTasks} tasks" for s in stages if s)
            status(f"on Spark for {time.monotonic() - began:.0f} s: {tasks or 'planning'}")

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()

"""A stream of ours, read here and worked on by Spark: what `larspark run --on spark` does."""

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from larspark.base.atoms import Atom
from larspark.feeds import Stream
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.scale.batch import run_prepared
from larspark.scale.failing import collect
from larspark.scale.gathered import GatheredAnswers
from larspark.scale.java import find_java
from larspark.scale.layout import Wish
from larspark.scale.prepare import prepare
from larspark.scale.session import local_session
from larspark.scale.spool import spool


def _nobody(text: str) -> None:
    """Nobody wants to know."""


def replay(
    program: str | tree.Program,
    stream: Stream,
    *,
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
    to: int | None = None,
    tell: Callable[[str], None] = _nobody,
) -> GatheredAnswers | None:
    """The answers for the whole timeline; None when there is no time point.

    What is wrong with Java, the program or the stream is said before a session is started.
    """
    find_java()
    prepared = prepare(program, background, engine, settings, Wish(), in_stages=True)
    with TemporaryDirectory(prefix="larspark-") as folder:
        tell("reading the stream")
        ticked = stream.with_tick(prepared.tick)
        spooled = spool(ticked.batches(), Path(folder), to, settings.hindsight)
        tell("starting Spark")
        local_session(quiet=True)
        tell("working on Spark")
        found = run_prepared(prepared, spooled.sources, to=to, heard=spooled.heard)
        if found.timeline is None:
            return None
        return GatheredAnswers(*found.timeline, collect(found.answers))

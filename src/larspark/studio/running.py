"""One run of a version of the program: it shows now and then how far it has come."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from larspark import api
from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch
from larspark.feeds import Stream
from larspark.lsp.document import Document
from larspark.run.protocol import Settings
from larspark.run.replay import replay
from larspark.run.session import Session
from larspark.studio.feed import KEPT_FACTS, Feed, OutdatedError
from larspark.studio.guard import Guard
from larspark.studio.outcome import DerivedRows, Kept, Outcome

_SHOW_SECONDS = 0.25
# So much longer than showing takes a run goes on before it shows itself again.
_SHOWING_SHARE = 4


@dataclass(frozen=True, slots=True)
class Places:
    """Where the stream is, and how its columns become facts."""

    streams: tuple[str, ...] = ()
    mapping: str | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """How streams, background data and time are read, from the options of the command.

    `stream` opens places for a program, `background` its background data, `settings` the timeline.
    """

    stream: Callable[[Places, api.Program], Stream]
    background: Callable[[api.Program], Sequence[Atom]]
    settings: Callable[[api.TimeTexts, api.Program], Settings]
    engine: str = "auto"
    timezone: str | None = None


class Run:
    """A program on a feed. `publish` takes what it has found so far."""

    def __init__(
        self,
        version: int,
        document: Document,
        program: api.Program,
        opening: Opening,
        feed: Feed | None,
        publish: Callable[[Outcome], Any],
        guard: Guard,
    ) -> None:
        self._guard = guard
        self._feed = feed
        self._publish = publish
        self._began = self._shown = time.perf_counter()
        self._took = 0.0
        # So many batches had been read when the run showed itself last.
        self._heard = 0
        self._tick = program.tick
        if feed is not None:
            self._tick = feed.stream.options.tick or program.tick
        self._zone = opening.timezone
        self._settings = opening.settings(self._texts(), program)
        checked, atoms = api.prepare(program, opening.background(program), self._settings)
        self._session = Session(checked, atoms, opening.engine, self._settings)
        self._rows = DerivedRows(KEPT_FACTS if feed is not None and feed.live else None)
        self._empty = Outcome(
            version,
            checked,
            tuple(atoms),
            self._session.kind.name,
            self._settings,
            source=document.name,
        )

    def go(self, outdated: Callable[[], bool]) -> None:
        """Run to the end of the feed, or until it is outdated, which is raised."""
        batches: Iterator[AnyBatch] = iter(())
        if self._feed is not None:
            batches = self._guard.each(self._feed.read(outdated, self._show))
        for piece in replay(self._session, batches, hindsight=self._settings.hindsight):
            self._rows.add(piece)
            if outdated():
                raise OutdatedError
            self._show()
        if outdated():
            raise OutdatedError
        self._show(done=True)

    def _texts(self) -> api.TimeTexts:
        return api.TimeTexts(self._tick, None, self._zone)

    def _show(self, done: bool = False) -> None:
        """Publish what is new, if that was not done a moment ago."""
        with self._guard.spared():
            self._show_now(done)

    def _show_now(self, done: bool) -> None:
        feed, session = self._feed, self._session
        before = time.perf_counter()
        heard = 0 if feed is None else feed.heard
        pause = max(_SHOW_SECONDS, _SHOWING_SHARE * self._took)
        if not done and (heard == self._heard or before - self._shown < pause):
            return
        self._heard = heard
        stamps = feed is not None and feed.stream.timestamps
        outcome = replace(
            self._empty,
            facts=() if feed is None else tuple(feed.tracks()),
            derived=tuple(self._rows.tracks()),
            start=session.start,
            answered=session.answered,
            times=self._texts().format(stamps),
            done=done,
            seconds=before - self._began,
            notes=(*session.notes, *session.warnings),
            kept=Kept(),
        )
        # What the page asks for first.
        outcome.levels()
        self._publish(outcome)
        self._shown = time.perf_counter()
        self._took = self._shown - before

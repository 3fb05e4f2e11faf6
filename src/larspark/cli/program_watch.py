"""New rules for a live run: its program is read again when the file changes, or on SIGHUP."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import typer

from larspark import api
from larspark.base.problems import LarsparkError
from larspark.cli.answer_format import AnswerFormat
from larspark.cli.inputs import background_facts
from larspark.feeds.live import LiveStream
from larspark.feeds.time_format import TimeFormat
from larspark.feeds.time_options import duration_option
from larspark.run.history import History
from larspark.run.new_rules import RuleChange, check_replacement, replace_rules
from larspark.run.session import Session
from larspark.show.terminal import print_problems, say

_LOOK_SECONDS = 0.5
_Stamps = tuple[tuple[int, int, int] | None, ...]


class ProgramSource(NamedTuple):
    """Where a program comes from, and how it is read and run."""

    path: Path
    load: Callable[[], api.Program]
    background: list[str] | None
    engine: str


class Committing(Protocol):
    """A run that can commit its progress."""

    def commit(self) -> None:
        """Commit now, while the run is at rest."""


class ProgramWatch:
    """Replaces the rules of a run whenever its program has changed."""

    def __init__(self, session: Session, source: ProgramSource, loaded: api.Program) -> None:
        self._session = session
        self._source = source
        self._loaded = loaded
        self._asked = False
        self._read = self._seen = self._stamps()

    def ask(self) -> None:
        """Read the program as soon as the run is idle; safe in a signal handler."""
        self._asked = True

    def look(self, answers: AnswerFormat, commits: Committing | None) -> None:
        """Replace the rules if the program has changed."""
        now = self._stamps()
        before, self._seen = self._seen, now
        if self._asked:
            self._asked = False
        elif now == self._read or now != before or None in now:
            # It has not changed, or somebody may still be writing it.
            return
        self._read = now
        try:
            change = self._replaced()
        except LarsparkError as error:
            say("the program cannot be replaced, and the run continues unchanged:")
            print_problems(error.problems)
            return
        if change is None:
            say("the program is read again, and is the same as before")
            return
        answers.rules_changed(change)
        report_change(change, answers.times)
        if commits is not None:
            commits.commit()

    def _replaced(self) -> RuleChange | None:
        """What the new program changed; None if it is the same."""
        session, source = self._session, self._source
        loaded = source.load()
        background = background_facts(source.background, loaded.syntax.named)
        check_replacement(self._loaded.syntax, loaded.syntax)
        prepared = api.prepare(loaded, background, session.settings)
        change: RuleChange | None = None
        if Session.identity_of(*prepared) != session.identity:
            change = replace_rules(session, prepared, source.engine)
            print_problems(prepared.checked.warnings)
        included = self._loaded.syntax.texts.keys()
        self._loaded = loaded
        if loaded.syntax.texts.keys() != included:
            self._read = self._seen = self._stamps()
        return change

    def _stamps(self) -> _Stamps:
        """What changes when the program or a file that it includes is written."""
        path = str(self._source.path)
        included = [name for name in self._loaded.syntax.texts if name != path]
        return tuple(map(_stamp, (path, *included)))


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def program_watch(
    wanted: bool,
    session: Session | None,
    source: ProgramSource,
    loaded: api.Program,
    keep: tuple[str | None, int | None],
    *,
    saved: bool,
) -> ProgramWatch | None:
    """The watch over the program of a session, which begins to keep facts; None if not wanted.

    `keep` is how long at least, and the length of a time point.
    """
    if not wanted or session is None:
        return None
    kept = None if keep[0] is None else duration_option(keep[0], keep[1])
    lookback = session.checked.lookback
    session.history = History(lookback, session.settings.start, kept, saved=saved)
    if kept is None and None in (lookback.time, lookback.tuples):
        say("the program looks back without bound: all facts are kept; --keep limits that")
    return ProgramWatch(session, source, loaded)


def begin_watch(
    watch: ProgramWatch | None,
    stream: LiveStream | None,
    answers: AnswerFormat,
    commits: Committing | None,
) -> None:
    """From now on look at the program whenever the stream is at rest."""
    if watch is None or stream is None:
        return
    rest = stream.at_rest

    def look_first(idle: bool) -> float:
        watch.look(answers, commits)
        wanted = rest(idle)
        return _LOOK_SECONDS if wanted is None else min(wanted, _LOOK_SECONDS)

    stream.at_rest = look_first


def check_watch(wanted: bool, keep: str | None, *, live: bool, plain: bool) -> None:
    """Refuse options with which a program is not watched."""
    if keep is not None and not wanted:
        raise typer.BadParameter("--keep goes with --watch-program")
    if wanted and not live:
        raise typer.BadParameter("--watch-program is for live runs")
    if wanted and not plain:
        raise typer.BadParameter("--watch-program excludes --hypothetical and --mode push")


def report_change(change: RuleChange, times: TimeFormat) -> None:
    """Report that the rules were replaced, and what could not be rebuilt."""
    t, added, removed, since, missing = change
    if t is None:
        say("new rules hold from the beginning")
        return
    counts = f"{len(added)} more and {len(removed)} fewer atoms hold there"
    say(f"new rules hold after time point {times.text(t)}; {counts}")
    if since is not None:
        say(f"they see the facts from {times.text(since)} on: {'; '.join(missing)}")

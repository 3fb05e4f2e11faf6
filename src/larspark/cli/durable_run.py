"""Durable runs: what a commit holds, and when it is written."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import typer

from larspark import api
from larspark.base.problems import LarsparkError, Problem
from larspark.cli.answer_format import AnswerFormat
from larspark.cli.decided_commit import decided_commit
from larspark.cli.program_watch import report_change
from larspark.feeds.live import (
    CommittingSink,
    LiveStream,
    Recording,
    durable_sink,
    is_live,
)
from larspark.feeds.output_file import OutputFile
from larspark.run.commits import Commit, Commits
from larspark.run.new_rules import RuleChange, resume_with_rules
from larspark.run.protocol import Settings
from larspark.run.replay import PausedError
from larspark.run.session import Session, read_session
from larspark.run.state import MALFORMED, unreadable
from larspark.show.terminal import Writer, say

# A source that waits for a commit gets it when nothing has come for so long.
_IDLE_SECONDS = 0.02


class DurableRun:
    """The commits of one run: read at its beginning, written while it is at rest."""

    def __init__(
        self, commits: Commits, seconds: float, options: dict[str, Any], output: str | None
    ) -> None:
        self._commits = commits
        self._seconds = seconds
        self.found = commits.newest()
        if self.found is not None:
            _check_options(self.found.options, options)
            options = self.found.options
        self._options = {"owner": token_hex(8), **options}
        # The sink in whose transactions lines are written, if the output is one.
        self.sink: CommittingSink | None = None
        if output is not None and is_live(output):
            transactions = durable_sink(output, self.owner)
            if transactions is not None:
                self.found = decided_commit(commits, self.found, transactions)
                self.sink = CommittingSink(transactions, say)
        for name in commits.damaged:
            say(f"{name} is damaged: resuming from the previous commit")
        self._number = 0 if self.found is None else self.found.number
        self._files: dict[str, OutputFile] = {}
        self._recording: Recording | None = None
        self._drain: Callable[[], None] = _nothing
        self._progress: object = None
        self._due = 0.0
        # When the last commit was made by this process, and its size in bytes.
        self.committed_at: float | None = None
        self.state_bytes = 0

    @property
    def number(self) -> int:
        """The number of the last commit."""
        return self._number

    @property
    def overdue(self) -> float:
        """For how many seconds there has been something to commit beyond the usual time."""
        if self.committed_at is None or self._stream.progress == self._progress:
            return 0.0
        return max(0.0, time.monotonic() - self._due)

    @property
    def owner(self) -> str:
        """The name of the run, by which brokers know it."""
        return str(self._options["owner"])

    def resume(self, stream: LiveStream) -> None:
        """Let a stream go on from the last commit, if there is one."""
        if self.found is not None:
            with _readable():
                stream.resume(self.found.stream)

    def settings(self, settings: Settings) -> Settings:
        """The settings of the run when it began."""
        return settings if self.found is None else read_session(self.found.session)[0].settings

    def length(self, name: str) -> int | None:
        """How long a file was at the last commit; None before the first one."""
        return None if self.found is None else self.found.lengths.get(name, 0)

    def add_file(self, name: str, file: OutputFile) -> None:
        """A file that is written to, whose length is committed."""
        self._files[name] = file

    def add_recording(self, recording: Recording) -> None:
        self._recording = recording
        if self.found is not None:
            recording.last_t = self.found.answers[1]

    def drain_first(self, drain: Callable[[], None]) -> None:
        """What delivers all lines of a live sink, which is called before every commit."""
        self._drain = drain

    def begin(self, stream: LiveStream, session: Session, answers: AnswerFormat) -> None:
        """Resume from the last commit, and write further commits from now on."""
        self._stream, self._session, self._answers = stream, session, answers
        if self.found is not None:
            change = self._resume(session, self.found.session)
            with _readable():
                answers.restore(self.found.answers[0])
            if change is not None:
                answers.rules_changed(change)
                report_change(change, answers.times)
        else:
            # From now on the files belong to the run.
            self.commit()
        stream.at_rest = self._rest
        self._progress = stream.progress
        self._due = time.monotonic() + self._seconds

    def _resume(self, session: Session, saved: bytes) -> RuleChange | None:
        """Resume a saved session, with the current rules where they may change."""
        if session.history is None or read_session(saved)[1].program == session.identity:
            session.restore(saved)
            return None
        return resume_with_rules(session, saved, str(self._options["--engine"]))

    def commit(self) -> None:
        """Commit now, while the run is at rest."""
        self._commit(finished=False)
        self._progress = self._stream.progress
        self._due = time.monotonic() + self._seconds

    def finish(self) -> None:
        """The run has come to its end."""
        self._commit(finished=True)

    def _rest(self, idle: bool) -> float | None:
        """Commit if it is time to; returns after how many seconds it will be."""
        stream = self._stream
        if stream.progress == self._progress:
            return None
        left = self._due - time.monotonic()
        if left > 0 and not (stream.paused or (idle and stream.waiting)):
            return min(left, _IDLE_SECONDS) if stream.waiting else left
        self.commit()
        return None

    def _commit(self, *, finished: bool) -> None:
        self._drain()
        lengths = {name: file.sync() for name, file in self._files.items()}
        if self.sink is not None:
            lengths |= self.sink.lengths()
        self._number += 1
        recorded = None if self._recording is None else self._recording.last_t
        commit = Commit(
            self._number,
            self._options,
            self._stream.checkpoint(),
            [self._answers.save(), recorded],
            lengths,
            finished,
            self._session.save(),
        )
        self.state_bytes = self._commits.write(commit, self._session.identity)
        if self.sink is not None:
            self.sink.commit(self._number, self._stream.offsets)
        self._stream.committed()
        self.committed_at = time.monotonic()


@contextmanager
def _readable() -> Iterator[None]:
    """In this context, parts of a commit that are not what they should be are an error."""
    try:
        yield
    except MALFORMED as error:
        raise unreadable(error) from error


def _nothing() -> None:
    """Nothing is to be delivered."""


def _check_options(committed: dict[str, Any], given: dict[str, Any]) -> None:
    """Refuse options that differ from those of the run to be resumed."""
    for name, value in given.items():
        if committed.get(name) != value:
            message = f"the run in this directory has the option {name} {committed.get(name)}"
            hint = "give the same options, or another directory for another run"
            raise LarsparkError(Problem("L430", f"{message}, not {value}", hint=hint))


@contextmanager
def durable_run(
    directory: Path | None, commit_every: str, options: dict[str, Any], output: str | None
) -> Iterator[DurableRun | None]:
    """The run that has its state in a directory; None without one."""
    if directory is None:
        yield None
        return
    length = api.parse_tick(commit_every)
    commits = Commits(directory)
    with commits.locked():
        run = DurableRun(commits, length.microseconds / 1_000_000, options, output)
        if run.found is not None and run.found.finished:
            say("this run is finished; another one needs another directory")
            raise typer.Exit
        yield run


@contextmanager
def durable_answers(
    durable: DurableRun | None,
    stream: LiveStream | None,
    session: Session | None,
    answers: AnswerFormat,
    out: Writer,
) -> Iterator[None]:
    """In this context the answers of a run are written, with commits if it is a durable one."""
    if durable is None or stream is None or session is None:
        yield
        return
    durable.drain_first(out.drain)
    durable.begin(stream, session, answers)
    try:
        with suppress(PausedError):
            yield
            durable.finish()
    finally:
        stream.leave()

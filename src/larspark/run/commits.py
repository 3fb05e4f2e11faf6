"""The commits of a run in a directory: how far it is, so that it can go on after a crash.

A commit is one file, written as a whole and on the disk before anything relies on it. The newest
one that is undamaged counts. A few earlier ones are kept.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from larspark.base.disk import Disk
from larspark.base.problems import LarsparkError, Problem
from larspark.run.session import read_session
from larspark.run.state import (
    MALFORMED,
    EarlierFormatError,
    SavedState,
    State,
    atom_of,
    optional_time,
    refused,
    time_of,
    whole_number,
)

_KIND = "run"
_KEPT = 3
_NAME = re.compile(r"commit-([0-9]{12})\.state")


@dataclass(frozen=True, slots=True)
class Commit:
    """How far a run is.

    `session` is the saved session, `stream` where the stream was at rest, `answers` what later
    lines depend on, `lengths` those of the output and the record in bytes, `options` those of the
    command. A finished run has nothing left to do.
    """

    number: int
    options: dict[str, Any]
    stream: dict[str, Any]
    answers: Any
    lengths: dict[str, int]
    finished: bool
    session: bytes

    def to_bytes(self, program: str) -> bytes:
        values = {
            "number": self.number,
            "options": self.options,
            "stream": self.stream,
            "answers": self.answers,
            "lengths": self.lengths,
            "finished": self.finished,
        }
        return SavedState(_KIND, program, State(values), self.session).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Commit":
        """A commit that was saved; anything else is an error."""
        saved = SavedState.from_bytes(data, _KIND)
        # Its digest says whether the session is as it was written, too.
        read_session(saved.attached)
        values = saved.state.values
        try:
            lengths = {
                str(name): whole_number(length, 0, 2**62)
                for name, length in values["lengths"].items()
            }
            _check_stream(values["stream"])
            optional_time(values["answers"][1])
            return cls(
                whole_number(values["number"], 1, 10**12 - 1),
                dict(values["options"]),
                dict(values["stream"]),
                values["answers"],
                lengths,
                bool(values["finished"]),
                saved.attached,
            )
        except MALFORMED as error:
            raise refused(f"the commit cannot be read: {error}") from None


def _check_stream(saved: dict[str, Any]) -> None:
    """Refuse what no stream at rest would give; its source looks at the position itself."""
    _facts, _late, _skipped = (whole_number(count, 0, 2**62) for count in saved["counts"])
    _first_t, _last_t = map(optional_time, saved["times"])
    time_of(saved["newest"])
    held_back = saved["held back"]
    if "partitions" in saved:
        for _, t in saved["partitions"]:
            time_of(t)
        held_back = [each for _, part in held_back for each in part]
    for t, atoms in held_back:
        time_of(t)
        for fields in atoms:
            atom_of(fields)
    if type(saved["timestamps"]) is not bool:
        raise ValueError("whether times are timestamps is neither true nor false")


class Commits:
    """The commits in a directory, which one run at a time uses."""

    def __init__(self, directory: Path, disk: Disk | None = None) -> None:
        self._directory = directory
        self._disk = disk or Disk()
        # Files of commits that could not be read, and why.
        self.damaged: list[str] = []

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs away from the directory, which is made if it is not there."""
        try:
            self._disk.make_directory(self._directory)
            descriptor = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise self._unusable(error) from None
        try:
            if not _lock(descriptor):
                message = f"another run uses the state in {self._directory}"
                raise LarsparkError(Problem("L430", message, hint="one run has one directory"))
            # What a process that was killed was writing.
            for unfinished in self._directory.glob(".*.writing"):
                with suppress(OSError):
                    unfinished.unlink()
            yield
        finally:
            os.close(descriptor)

    def newest(self, at_most: int | None = None) -> Commit | None:
        """The newest commit that is undamaged, up to a number; None before the first one."""
        self.damaged = []
        files = self._files()
        if at_most is not None:
            files = [path for path in files if int(path.stem.removeprefix("commit-")) <= at_most]
        for path in reversed(files):
            try:
                return Commit.from_bytes(path.read_bytes())
            except EarlierFormatError:
                raise
            except LarsparkError:
                self.damaged.append(path.name)
            except OSError as error:
                raise self._unusable(error) from None
        if files:
            raise refused(f"no commit in {self._directory} is undamaged")
        return None

    def write(self, commit: Commit, program: str) -> int:
        """Write a commit, and remove the oldest ones; returns its size in bytes."""
        name = f"commit-{commit.number:012}.state"
        data = commit.to_bytes(program)
        try:
            self._disk.replace(self._directory / name, data)
        except OSError as error:
            raise self._unusable(error) from None
        for path in self._files()[:-_KEPT]:
            with suppress(OSError):
                path.unlink()
        return len(data)

    def _files(self) -> list[Path]:
        """The files of commits, the oldest first."""
        return sorted(p for p in self._directory.iterdir() if _NAME.fullmatch(p.name))

    def _unusable(self, error: OSError) -> LarsparkError:
        why = error.strerror or str(error)
        return LarsparkError(Problem("L430", f"cannot use the state in {self._directory}: {why}"))


def _lock(descriptor: int) -> bool:
    """Lock a file until it is closed; False if another process has locked it."""
    try:
        import fcntl
    except ImportError:
        # Windows: without a lock it is up to the user that one run has one directory.
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

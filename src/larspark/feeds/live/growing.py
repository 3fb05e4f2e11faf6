"""Files that grow: following one, and finding the end of its last complete line."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple, Self

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import LINE_LIMIT
from larspark.feeds.live.address import FILE, Address, LivePlace
from larspark.feeds.live.inbox import Inbox, Lines, Traffic

_LOOK = 1 << 16


def end_of_lines(path: Path) -> int:
    """The offset after the last complete line; 0 if there is none, or no file."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        place = file.seek(0, os.SEEK_END)
        while place > 0:
            before = max(0, place - _LOOK)
            file.seek(before)
            found = file.read(place - before).rfind(b"\n")
            if found >= 0:
                return before + found + 1
            place = before
    return 0


_READ = 1 << 18
_LOOK_SECONDS = 0.1
# So many bytes before the position tell a file that has grown from one that was rewritten.
_TAIL = 4096
# How far rotated files are looked for: `name.1`, `name.2`, ...
_ROTATIONS = 100


@dataclass(frozen=True)
class FilePlace(LivePlace):
    """A file that other processes append to."""

    schemes: ClassVar[tuple[str, ...]] = (FILE,)
    name: str
    path: Path

    @classmethod
    def parse(cls, address: Address) -> Self:
        return cls(address.text, Path(address.path))

    def source(self, retry: bool) -> "GrowingFile":
        return GrowingFile(self, follow=retry)

    def durable_source(self, retry: bool, owner: str) -> "GrowingFile":
        return GrowingFile(self, follow=retry)


class GrowingFile:
    """Reads a file from its beginning, and then what is appended.

    A replaced file is read to its end, then the files that were rotated meanwhile (`name.2`,
    `name.1`), then the new file of that name. A truncated or rewritten file is read again from its
    beginning. What may be lost then is said and counted. A missing file is waited for. Without
    `follow` the reading ends at the end of the file.
    """

    def __init__(self, place: FilePlace, *, follow: bool = True) -> None:
        self._place = place
        self._follow = follow
        self._position: _Position | None = None

    def resume(self, position: Any) -> None:
        """Go on after a position that was committed."""
        if position is not None:
            file, offset, tail = map(position.__getitem__, ("file", "offset", "tail"))
            if offset != abs(int(offset)):
                raise ValueError(f"{offset!r} is no position in a file")
            self._position = _Position(tuple(map(int, file)), int(offset), str(tail))

    def position(self, after: Any) -> Any:
        """The file, the offset in it, and a digest of the bytes before it."""
        return after

    @property
    def waiting(self) -> bool:
        """A file does not wait for commits."""
        return False

    def offsets(self, after: Any) -> object:
        """No sink commits them."""
        return None

    def committed(self, after: Any) -> None:
        """Nothing is to be done: a file keeps its lines."""

    def close(self) -> None:
        """Nothing is to be done: the file is closed."""

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        reported = False
        while not inbox.stopping.is_set():
            try:
                if self._read_files(inbox, traffic):
                    return
            except FileNotFoundError:
                if not self._follow:
                    raise self._unreadable("there is no such file") from None
                if not reported:
                    traffic.say(f"waiting for {self._place.name} to appear")
                reported = True
                inbox.stopping.wait(_LOOK_SECONDS)
            except OSError as error:
                raise self._unreadable(error.strerror or str(error)) from None

    def _unreadable(self, why: str) -> LarsparkError:
        return LarsparkError(Problem("L301", f"cannot read {self._place.name}: {why}"))

    def _read_files(self, inbox: Inbox, traffic: Traffic) -> bool:
        """Read the file of the last position, if there is one, and those after it."""
        for path in self._waiting_files(traffic):
            with path.open("rb") as file:
                over = self._read_one(file, path, inbox, traffic)
            if over or inbox.stopping.is_set():
                return True
        return False

    def _waiting_files(self, traffic: Traffic) -> list[Path]:
        """The files that are not read to their ends, the oldest first."""
        position, path = self._position, self._place.path
        if position is None or position.is_in(path):
            return [path]
        older: list[Path] = []
        for number in range(1, _ROTATIONS):
            rotated = path.with_name(f"{path.name}.{number}")
            if not rotated.exists():
                break
            older.insert(0, rotated)
            if position.is_in(rotated):
                if number > 1:
                    traffic.say(f"{self._place.name} was replaced {number} times: reading them all")
                return [*older, path]
        self._position = None
        traffic.gap(f"{self._place.name} is another file than before, and the old one is gone")
        return [path]

    def _read_one(self, file: BinaryIO, path: Path, inbox: Inbox, traffic: Traffic) -> bool:
        """Read one file until another one has its name, or the run ends; True if that was all."""
        name = str(path) if path != self._place.path else self._place.name
        reading = _Reading(file, Lines(name, inbox, traffic))
        if self._position is not None and self._position.is_in(path):
            reading.seek(self._position)
        replaced = path != self._place.path
        try:
            while not inbox.stopping.is_set():
                if reading.advance():
                    continue
                if reading.rewritten:
                    traffic.gap(f"{name} was {reading.rewritten}: reading it from the beginning")
                    reading.end()
                    file.seek(0)
                    reading = _Reading(file, Lines(name, inbox, traffic))
                    continue
                # A replaced file is complete when a read after the replacement finds nothing more.
                if replaced:
                    if path == self._place.path:
                        traffic.say(f"{name} was replaced: reading the new file")
                    return False
                if not self._follow:
                    reading.close()
                    return True
                replaced = self._is_replaced(file)
                if not replaced:
                    inbox.stopping.wait(_LOOK_SECONDS)
            return True
        finally:
            self._position = reading.position
            reading.end()

    def _is_replaced(self, file: BinaryIO) -> bool:
        """Does another file have the name? If none has, is another one the newest rotated file?"""
        path, ours = self._place.path, os.fstat(file.fileno())
        for newest in (path, path.with_name(f"{path.name}.1")):
            try:
                return not os.path.samestat(os.stat(newest), ours)
            except FileNotFoundError:
                continue
        return False


class _Position(NamedTuple):
    """The end of the last complete line that was read, and a digest of the bytes before it."""

    file: tuple[int, ...]
    offset: int
    tail: str

    def is_in(self, path: Path) -> bool:
        """Whether a file is the one that was read, with the same bytes before the position."""
        try:
            with path.open("rb") as file:
                if file_id(file) != self.file:
                    return False
                before = min(self.offset, _TAIL)
                file.seek(self.offset - before)
                return digest(file.read(before)) == self.tail
        except FileNotFoundError:
            return False


class _Reading:
    """The reading of one file: its lines, and the last bytes that were read."""

    def __init__(self, file: BinaryIO, lines: Lines) -> None:
        self._file = file
        self._lines = lines
        self._file_id = file_id(file)
        lines.after = self._after
        # Where the next block begins, the bytes before it, and those before the last line's end.
        self._offset = 0
        self._recent = b""
        self._closed = False
        self.rewritten = ""
        self.position: _Position | None = None

    def seek(self, position: _Position) -> None:
        """Go on after a position."""
        self._file.seek(position.offset - min(position.offset, _TAIL))
        self._recent = self._file.read(min(position.offset, _TAIL))
        self._offset = position.offset
        self._lines.consumed = position.offset
        self.position = position

    def advance(self) -> bool:
        """Read a block; False at the end, or if what was read before has changed."""
        block = self._file.read(_READ)
        if not block:
            if os.fstat(self._file.fileno()).st_size < self._offset:
                self.rewritten = "truncated"
            return False
        # If the file was rewritten before this block was read, then so are the bytes before it.
        if self._before() != self._recent:
            self.rewritten = "rewritten"
            return False
        self._offset += len(block)
        self._recent = (self._recent + block)[-_TAIL - LINE_LIMIT :]
        self._lines.feed(block)
        self._recent = self._recent[-_TAIL:]
        return True

    def _before(self) -> bytes:
        place = self._file.tell()
        self._file.seek(self._offset - len(self._recent))
        found = self._file.read(len(self._recent))
        self._file.seek(place)
        return found

    def _after(self, consumed: int) -> object:
        self.position = _Position(self._file_id, consumed, self._tail_at(consumed))
        return self.position._asdict()

    def _tail_at(self, offset: int) -> str:
        """The digest of the bytes before an offset; a long unfinished line is read again."""
        end = len(self._recent) - (self._offset - offset)
        before = min(offset, _TAIL)
        if end >= before:
            return digest(self._recent[end - before : end])
        place = self._file.tell()
        self._file.seek(offset - before)
        found = self._file.read(before)
        self._file.seek(place)
        return digest(found)

    def end(self) -> None:
        if not self._closed:
            self._lines.end()

    def close(self) -> None:
        self._closed = True
        self._lines.close()


def file_id(file: BinaryIO) -> tuple[int, ...]:
    """The identity of a file among all that exist at the same time."""
    found = os.fstat(file.fileno())
    return (found.st_dev, found.st_ino)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

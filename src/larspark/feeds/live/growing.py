"""Files that grow: following one, and finding the end of its last complete line."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar, Self

from larspark.base.problems import LarsparkError, Problem
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
        return GrowingFile(self)


class GrowingFile:
    """Reads a file from its beginning, and then what is appended.

    A replaced file is read to its end before the new file of that name. A truncated file is read
    again from its beginning. A missing file is waited for.
    """

    def __init__(self, place: FilePlace) -> None:
        self._place = place

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        try:
            reported = False
            while not inbox.stopping.is_set():
                try:
                    file = self._place.path.open("rb")
                except FileNotFoundError:
                    if not reported:
                        traffic.say(f"waiting for {self._place.name} to appear")
                    reported = True
                    inbox.stopping.wait(_LOOK_SECONDS)
                    continue
                with file:
                    self._read_one(file, inbox, traffic)
        except OSError as error:
            why = error.strerror or str(error)
            message = f"cannot read {self._place.name}: {why}"
            raise LarsparkError(Problem("L301", message)) from None

    def _read_one(self, file: BinaryIO, inbox: Inbox, traffic: Traffic) -> None:
        """Read one file until another file has its name, or the run ends."""
        lines = Lines(self._place.name, inbox, traffic)
        replaced = False
        try:
            while not inbox.stopping.is_set():
                if block := file.read(_READ):
                    lines.feed(block)
                    continue
                # A replaced file is complete when a read after the replacement finds nothing more.
                if replaced:
                    traffic.say(f"{self._place.name} was replaced: reading the new file")
                    return
                replaced = self._is_replaced(file)
                if replaced:
                    continue
                if os.fstat(file.fileno()).st_size < file.tell():
                    traffic.say(f"{self._place.name} was truncated: reading it from the beginning")
                    lines.end()
                    lines = Lines(self._place.name, inbox, traffic)
                    file.seek(0)
                    continue
                inbox.stopping.wait(_LOOK_SECONDS)
        finally:
            lines.end()

    def _is_replaced(self, file: BinaryIO) -> bool:
        try:
            named = os.stat(self._place.path)
        except FileNotFoundError:
            return False
        return not os.path.samestat(named, os.fstat(file.fileno()))

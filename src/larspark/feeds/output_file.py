"""Files of lines that grow at their end, and whose length is known to the byte."""

import os
import stat
from enum import StrEnum
from pathlib import Path

from larspark.base.disk import Disk
from larspark.base.problems import LarsparkError, Problem

_BUFFERED = 1 << 16


class Existing(StrEnum):
    """What to do with an output file that exists already."""

    REFUSE = "refuse"
    APPEND = "append"
    OVERWRITE = "overwrite"


class OutputFile:
    """A file of lines; with `length`, an existing one is cut to so many bytes and goes on there."""

    def __init__(
        self,
        path: Path,
        existing: Existing = Existing.REFUSE,
        *,
        length: int | None = None,
        disk: Disk | None = None,
    ) -> None:
        self._path = path
        self._disk = disk or Disk()
        self._waiting: list[bytes] = []
        self._size = 0
        # Whether the name of the file may not be on the disk yet.
        self._is_new = not path.exists()
        flags = os.O_WRONLY | os.O_CREAT
        if length is None and existing is Existing.OVERWRITE:
            flags |= os.O_TRUNC
        try:
            if length is None and existing is Existing.REFUSE and _holds_something(path):
                message = f"{path} exists already"
                hint = "`--append` writes behind what is in it, `--overwrite` replaces it"
                raise LarsparkError(Problem("L328", message, hint=hint))
            self._descriptor = self._disk.open(path, flags)
            # Pipes and devices keep nothing that could be cut or wait to be on the disk.
            self._keeps = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
            self.length = os.lseek(self._descriptor, 0, os.SEEK_END) if self._keeps else 0
            if length is not None and self._keeps:
                self._cut(length)
        except OSError as error:
            raise self._unwritable(error) from None

    def _cut(self, length: int) -> None:
        if self.length < length:
            message = f"{self._path} has {self.length} bytes, and {length} were written to it"
            hint = "it was changed since; put it back, or begin anew with another directory"
            raise LarsparkError(Problem("L430", message, hint=hint))
        self._disk.truncate(self._descriptor, length)
        self.length = os.lseek(self._descriptor, length, os.SEEK_SET)

    def write(self, text: str) -> None:
        """Write a text, at the latest at the next flush."""
        data = text.encode()
        self._waiting.append(data)
        self._size += len(data)
        if self._size > _BUFFERED:
            self.flush()

    def flush(self) -> None:
        """Hand everything written over to the system."""
        if not self._waiting:
            return
        data = b"".join(self._waiting)
        try:
            self._disk.write_all(self._descriptor, data)
        except OSError as error:
            raise self._unwritable(error) from None
        self._waiting, self._size = [], 0
        self.length += len(data)

    def sync(self) -> int:
        """Wait until everything written is on the disk; returns the length in bytes."""
        self.flush()
        if not self._keeps:
            return self.length
        try:
            self._disk.sync(self._descriptor)
            if self._is_new:
                self._disk.sync_directory(self._path.parent)
                self._is_new = False
        except OSError as error:
            raise self._unwritable(error) from None
        return self.length

    def close(self) -> None:
        self.flush()
        os.close(self._descriptor)

    def _unwritable(self, error: OSError) -> LarsparkError:
        why = error.strerror or str(error)
        return LarsparkError(Problem("L324", f"cannot write {self._path}: {why}"))


def _holds_something(path: Path) -> bool:
    """Whether there is a file with something in it; pipes and devices hold nothing."""
    return path.is_file() and path.stat().st_size > 0

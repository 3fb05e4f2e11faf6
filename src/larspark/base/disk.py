"""Writing files so that a crash, a full disk or a planted link cannot damage them."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class Disk:
    """The file operations that must survive a crash; tests replace them by ones that fail."""

    def open(self, path: Path, flags: int) -> int:
        """A descriptor of a file."""
        return os.open(path, flags | _BINARY | getattr(os, "O_CLOEXEC", 0), 0o644)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Write some of the data; returns how much."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Wait until everything that was written is on the disk."""
        os.fsync(descriptor)

    def truncate(self, descriptor: int, length: int) -> None:
        os.ftruncate(descriptor, length)

    def rename(self, source: Path, target: Path) -> None:
        """Let a file take the place of another one."""
        source.replace(target)

    def mkdir(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)

    def write_all(self, descriptor: int, data: bytes) -> None:
        """Write all of the data."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.write(descriptor, rest) :]

    def sync_directory(self, directory: Path) -> None:
        """Wait until renamed files have their names on the disk; Windows has no such thing."""
        if os.name == "nt":
            return
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            self.sync(descriptor)
        finally:
            os.close(descriptor)

    def make_directory(self, directory: Path) -> None:
        """A directory, with all above it, whose names are on the disk."""
        if directory.is_dir():
            return
        self.make_directory(directory.parent)
        self.mkdir(directory)
        self.sync_directory(directory.parent)

    def replace(self, path: Path, data: bytes) -> None:
        """Write a file that is either the old one or, on the disk, the new one as a whole.

        The new file is written under a name that nobody can know beforehand; a link in the place of
        the old one is replaced, and not followed.
        """
        written = path.with_name(f".{secrets.token_hex(8)}.writing")
        descriptor = self.open(written, _NEW)
        try:
            try:
                self.write_all(descriptor, data)
                self.sync(descriptor)
            finally:
                os.close(descriptor)
            self.rename(written, path)
        except BaseException:
            with suppress(OSError):
                written.unlink()
            raise
        self.sync_directory(path.parent)

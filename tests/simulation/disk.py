"""A disk that fails when the seed says so, and forgets what was not synchronized."""

import errno
import os
import shutil
from pathlib import Path
from random import Random

from tests.simulation.world import World

from larspark.base.disk import Disk


class _File:
    """What a file holds on the disk for sure: all that was written before the last `sync`."""

    def __init__(self, path: Path, sure: bytes) -> None:
        self.path = path
        self.sure = sure


class SimulatedDisk(Disk):
    """Operations on real files, with failures, and with what a loss of power leaves of them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = world.rng
        self._files: dict[int, _File] = {}
        # Files whose content is not on the disk for sure, closed ones too.
        self._unsure: list[_File] = []
        # Names that are not on the disk for sure, and what they stood for before.
        self._names: list[tuple[Path, bytes | None]] = []
        self.calls = 0
        # At which call what happens: a kill before or after it, or an error.
        self.fault_at: int | None = None
        self.fault = ""
        self.fault_happened = False

    def _call(self) -> str:
        """Count an operation; returns the fault that it has."""
        self.calls += 1
        if self._world.dead or self.calls != self.fault_at:
            return ""
        self.fault_happened = True
        if self.fault == "kill":
            self._world.kill()
        if self.fault in ("ENOSPC", "EIO"):
            number = getattr(errno, self.fault)
            raise OSError(number, os.strerror(number))
        return self.fault

    def open(self, path: Path, flags: int) -> int:
        self._call()
        is_new = not path.exists()
        before = b"" if is_new else path.read_bytes()
        descriptor = super().open(path, flags)
        self._files[descriptor] = file = _File(path, before)
        self._unsure.append(file)
        if is_new:
            self._names.append((path, None))
        return descriptor

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        if self._world.dead:
            return len(data)
        fault = self._call()
        if fault in ("short", "torn"):
            written = super().write(descriptor, data[: self._rng.randrange(len(data))] or data[:1])
            if fault == "torn":
                self._world.kill()
            return written
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        if self._world.dead:
            return
        self._call()
        file = self._files.get(descriptor)
        if file is not None:
            file.sure = file.path.read_bytes()

    def truncate(self, descriptor: int, length: int) -> None:
        if not self._world.dead:
            self._call()
            super().truncate(descriptor, length)

    def rename(self, source: Path, target: Path) -> None:
        if self._world.dead:
            return
        self._call()
        before = target.read_bytes() if target.exists() else None
        super().rename(source, target)
        for file in self._unsure:
            if file.path == source:
                file.path = target
        self._names = [(p, b) for p, b in self._names if p != source]
        self._names.append((target, before))

    def mkdir(self, directory: Path) -> None:
        if not self._world.dead:
            self._call()
            super().mkdir(directory)
            self._names.append((directory, None))

    def sync_directory(self, directory: Path) -> None:
        if self._world.dead:
            return
        self._call()
        self._names = [(p, b) for p, b in self._names if p.parent != directory]

    def lose_power(self) -> None:
        """Leave of every file what is there for sure, and of the rest what chance leaves."""
        rng = self._rng
        for file in self._unsure:
            if not file.path.exists():
                continue
            now, sure = file.path.read_bytes(), file.sure
            if now != sure and rng.random() < 0.8:
                file.path.write_bytes(_torn(sure, now, rng))
        for path, before in reversed(self._names):
            if rng.random() < 0.5:
                if path.is_dir():
                    shutil.rmtree(path)
                elif before is None:
                    path.unlink(missing_ok=True)
                else:
                    path.write_bytes(before)
        self.forget()

    def forget(self) -> None:
        """After the end of a process, whose files the system keeps."""
        self._files.clear()
        self._unsure.clear()
        self._names.clear()


def _torn(sure: bytes, now: bytes, rng: Random) -> bytes:
    """What may be left of a file that was written to and not synchronized."""
    if not now.startswith(sure):
        return rng.choice((sure, now))
    kept = now[: rng.randrange(len(sure), len(now) + 1)]
    # The length may be on the disk and the data not.
    lost = bytes(rng.randrange(len(now) - len(kept) + 1))
    return kept + lost

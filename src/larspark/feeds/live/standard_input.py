"""Lines that are piped or typed into standard input."""

import os
import select
import sys
from dataclasses import dataclass
from typing import ClassVar, Self

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import STANDARD, Address, LivePlace
from larspark.feeds.live.inbox import POLL_SECONDS, Inbox, Lines, Traffic

_READ = 1 << 18


@dataclass(frozen=True)
class StandardPlace(LivePlace):
    """Standard input."""

    schemes: ClassVar[tuple[str, ...]] = (STANDARD,)
    name: str = "<stdin>"

    @classmethod
    def parse(cls, address: Address) -> Self:
        return cls()

    def source(self, retry: bool) -> "StandardInput":
        return StandardInput(self)


class StandardInput:
    """Reads standard input to its end; a run that is stopping ends the reading at once."""

    def __init__(self, place: StandardPlace) -> None:
        self._name = place.name

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        descriptor = sys.stdin.fileno()
        lines = Lines(self._name, inbox, traffic)
        try:
            while not inbox.stopping.is_set():
                if not _ready(descriptor):
                    continue
                block = os.read(descriptor, _READ)
                if not block:
                    lines.close()
                    return
                lines.feed(block)
        except OSError as error:
            why = error.strerror or str(error)
            raise LarsparkError(Problem("L301", f"cannot read {self._name}: {why}")) from None
        # The run is ending in the middle of the input, perhaps in the middle of a line.
        lines.end()


def _ready(descriptor: int) -> bool:
    """Whether there is input. Windows can only poll sockets; there, reading blocks instead."""
    if sys.platform == "win32":
        return True
    return bool(select.select([descriptor], [], [], POLL_SECONDS)[0])

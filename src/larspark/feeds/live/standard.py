"""Lines that are piped or typed into standard input."""

import os
import select
import sys

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.inbox import Inbox
from larspark.feeds.live.lines import Lines
from larspark.feeds.live.place import StandardPlace
from larspark.feeds.live.tcp import POLL_SECONDS
from larspark.feeds.live.traffic import Traffic

_READ = 1 << 18


class StandardInput:
    """Reads to the end of the input, as a file is read, but gives up what it has at any time."""

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
    """Is there something to read? Where only sockets can be asked, reading itself waits."""
    if sys.platform == "win32":
        return True
    return bool(select.select([descriptor], [], [], POLL_SECONDS)[0])

"""Changes to a command, which is run once for each of them."""

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from typing import ClassVar, Self

import orjson

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import EXEC, Address, LineSink, LineSource, LivePlace
from larspark.feeds.live.inbox import POLL_SECONDS, Inbox, Traffic
from larspark.feeds.reading import Refused

# How long a command may run.
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class CommandPlace(LivePlace):
    """A command with its first arguments; it is never given to a shell."""

    schemes: ClassVar[tuple[str, ...]] = (EXEC,)
    forms: ClassVar[tuple[str, ...]] = ("exec:command",)
    name: str
    words: tuple[str, ...]

    @classmethod
    def parse(cls, address: Address) -> Self:
        try:
            words = tuple(shlex.split(address.path))
        except ValueError as error:
            raise Refused("L320", f"{address.text}: {str(error).lower()}") from None
        if not words:
            raise Refused("L320", f"{address.text}: the command is missing")
        return cls(f"exec:{words[0]}", words)

    def source(self, retry: bool) -> LineSource:
        raise LarsparkError(Problem("L320", f"{self.name} can only be written to"))

    def sink(self) -> LineSink:
        found = shutil.which(self.words[0])
        if found is None:
            raise LarsparkError(Problem("L320", f"{self.name}: there is no such command"))
        return CommandRunner(self.name, (found, *self.words[1:]))


class CommandRunner:
    """Runs a command for each atom that begins or ceases to hold, one after the other.

    Its last arguments are `add` or `del`, the atom, and the time. A command that fails is reported,
    and the next change is another chance.
    """

    def __init__(self, name: str, words: tuple[str, ...]) -> None:
        self._name = name
        self._words = words
        self.delivered = 0

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        over = False
        while not over and not queue.stopping.is_set():
            blocks, _, over = queue.take(POLL_SECONDS)
            for line in (line for _, block in blocks for line in filter(None, block.lines)):
                self._run_for(line, queue, traffic)
                self.delivered += 1

    def _run_for(self, line: bytes, queue: Inbox, traffic: Traffic) -> None:
        change = orjson.loads(line)
        time = str(change["t"])
        for what in ("add", "del"):
            for atom in change[what]:
                if queue.stopping.is_set():
                    return
                # Arguments end at a NUL.
                words = (*self._words, what, atom.replace("\0", "\ufffd"), time)
                if why := _failure(words):
                    traffic.say(f"{self._name} {what} {words[-2]}: {why}")


def _failure(words: tuple[str, ...]) -> str:
    """Run a command; returns why it failed, if it did."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own command, and no shell
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=_PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"it was ended after {_PATIENCE_SECONDS:g} s"
    except OSError as error:
        return error.strerror or str(error)
    return f"it ended with {done.returncode}" if done.returncode else ""

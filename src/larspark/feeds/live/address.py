"""Addresses of live places, and the interface that every kind of place implements.

A kind of place is one module with a `LivePlace` class, and one line in `places.KINDS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self
from urllib.parse import unquote, urlsplit

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.inbox import Inbox, Traffic
from larspark.feeds.reading import Refused

# The number of lines of a durable sink, among the lengths of a commit.
LINES = "output"

STANDARD, FILE, EXEC = "-", "", "exec"


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of `scheme://user:password@host:port/path`.

    The scheme of `-` is `STANDARD`, that of a path `FILE`, and that of `exec:command` is `EXEC`.
    `text` has no password.
    """

    text: str
    scheme: str
    host: str = ""
    port: int | None = None
    path: str = ""
    user: str | None = None
    password: str | None = field(default=None, repr=False)


def parse_address(text: str) -> Address:
    """Split an address into its parts.

    >>> parse_address("tcp://box:9000")
    Address(text='tcp://box:9000', scheme='tcp', host='box', port=9000, path='', user=None)
    """
    if text == "-":
        return Address(text, STANDARD)
    if text.startswith(f"{EXEC}:"):
        return Address(text, EXEC, path=text.removeprefix(f"{EXEC}:"))
    if "://" not in text:
        return Address(text, FILE, path=text)
    scheme, _, rest = text.partition("://")
    # The path is taken literally: `#` and `+` are wildcards of MQTT topics.
    authority, _, path = rest.partition("/")
    shown = f"{scheme}://{rest.rpartition('@')[2]}"
    try:
        parts = urlsplit(f"//{authority}")
        port = parts.port
    except ValueError as error:
        raise Refused("L320", f"{shown}: {str(error).lower()}") from None
    user = None if parts.username is None else unquote(parts.username)
    password = None if parts.password is None else unquote(parts.password)
    return Address(shown, scheme, parts.hostname or "", port, path, user, password)


class LineSource(Protocol):
    """Reads lines from a live place."""

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        """Put blocks of lines into the inbox until the input ends or the inbox is stopping."""


class DurableSource(LineSource, Protocol):
    """A source that can give lines again: all those after a position that was committed."""

    def resume(self, position: Any) -> None:
        """Before the reading: begin after a position that was committed."""

    def position(self, after: Any) -> Any:
        """The position after a block, as JSON values."""

    @property
    def waiting(self) -> bool:
        """Whether the source may give nothing more before the next commit."""

    def offsets(self, after: Any) -> object:
        """The same position as a sink of the same broker commits it with its lines, if any can."""

    def committed(self, after: Any) -> None:
        """The position after a block is on the disk: nothing before it is asked for again."""

    def close(self) -> None:
        """After the reading and the last commit: leave."""


class LineSink(Protocol):
    """Writes lines to a live place."""

    delivered: int

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        """Deliver the lines of the queue until it ends or is stopping."""


class DurableSink(LineSink, Protocol):
    """A sink that others see lines of when they are committed, and that decides whether they are.

    A commit is on the disk before the sink commits it under the same number.
    """

    def decided(self, say: Callable[[str], None]) -> int | None:
        """The number of the last commit that counts; None if the sink knows of none."""

    def lengths(self) -> dict[str, int]:
        """How many `LINES` there are, and what `published` needs; part of the next commit."""

    def published(
        self, lengths: Mapping[str, int], say: Callable[[str], None]
    ) -> frozenset[int] | None:
        """The numbers of lines that others see, the last one among them, given those of a commit.

        None if nobody can know.
        """

    def resume(self, lengths: Mapping[str, int], there: frozenset[int]) -> None:
        """Go on after the lines of a commit; lines that are there are not written again."""

    def commit(self, number: int, offsets: object, say: Callable[[str], None]) -> None:
        """Commit all lines that were delivered, with the position of the source."""


class LivePlace(ABC):
    """A place that larspark reads lines from, and writes lines to if it has a sink."""

    schemes: ClassVar[tuple[str, ...]]
    # How its addresses are written, for hints.
    forms: ClassVar[tuple[str, ...]] = ()
    # Whether its lines come in several partitions, each in an order of its own.
    has_partitions: ClassVar[bool] = False
    name: str

    @classmethod
    @abstractmethod
    def parse(cls, address: Address) -> Self:
        """The place of an address; `Refused` if the address is not well formed."""

    @abstractmethod
    def source(self, retry: bool) -> LineSource:
        """A reader of its lines; with `retry` it reconnects when a connection ends."""

    def durable_source(self, retry: bool, owner: str) -> DurableSource | None:
        """A reader that can resume after a position, for the run of this name; None without one."""
        return None

    def sink(self) -> LineSink:
        """A writer of lines; an error if the place is for reading only."""
        message = f"{self.name} is not a live place that can be written to"
        raise LarsparkError(Problem("L320", message))

    def durable_sink(self, owner: str) -> DurableSink | None:
        """A writer of lines in transactions, for the run of this name; None without one."""
        return None

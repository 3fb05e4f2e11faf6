"""Lines over TCP, as a client and as a server, for reading and for writing."""

import select
import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Self

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import Address, LineSink, LineSource, LivePlace
from larspark.feeds.live.inbox import POLL_SECONDS, Inbox, Lines, Traffic, keep_connected
from larspark.feeds.reading import Refused

_RECEIVE = 1 << 16
CONNECT_SECONDS = 10.0
# Each connection may hold an unfinished line, so their number bounds the memory.
MOST_CONNECTIONS = 100
# When all of them are taken, one that was silent for so long makes room for a new client.
SILENT_SECONDS = 10.0
_THIS_MACHINE = "127.0.0.1"


@dataclass(frozen=True)
class TcpPlace(LivePlace):
    """A port: of a host to connect to, or of a local address to listen at."""

    schemes: ClassVar[tuple[str, ...]] = ("tcp", "tcp+listen")
    forms: ClassVar[tuple[str, ...]] = ("tcp://host:port", "tcp://:port", "tcp+listen://host:port")
    name: str
    host: str
    port: int
    listen: bool

    @classmethod
    def parse(cls, address: Address) -> Self:
        if address.port is None:
            raise Refused("L320", f"{address.text}: the port is missing")
        if address.path or address.user is not None:
            raise Refused("L320", f"{address.text}: it has more than a host and a port")
        always = address.scheme == "tcp+listen"
        if always and not address.host:
            raise Refused("L320", f"{address.text}: the address to listen at is missing")
        listen = always or not address.host
        return cls(address.text, address.host or _THIS_MACHINE, address.port, listen)

    def source(self, retry: bool) -> LineSource:
        return TcpListener(self) if self.listen else TcpClient(self, retry)

    def sink(self) -> LineSink:
        return TcpFanOut(self) if self.listen else TcpSender(self)


class TcpClient:
    """Reads the lines that a server sends; reconnects when the connection ends."""

    def __init__(self, place: TcpPlace, retry: bool) -> None:
        self._place = place
        self._retry = retry

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        place = self._place

        def talk() -> None:
            address = (place.host, place.port)
            with socket.create_connection(address, CONNECT_SECONDS) as link:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                traffic.up(place.name)
                link.settimeout(POLL_SECONDS)
                lines = Lines(place.name, inbox, traffic)
                try:
                    while not inbox.stopping.is_set():
                        try:
                            received = link.recv(_RECEIVE)
                        except TimeoutError:
                            continue
                        if not received:
                            return
                        lines.feed(received)
                finally:
                    lines.end()

        keep_connected(talk, place.name, inbox, traffic, self._retry)


class TcpListener:
    """Reads the lines of all clients that connect; the end of one leaves the others connected."""

    def __init__(self, place: TcpPlace) -> None:
        self._place = place

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        with listening(self._place) as server, selectors.DefaultSelector() as selector:
            host, port = server.getsockname()[:2]
            traffic.say(f"listening on {host}:{port}")
            selector.register(server, selectors.EVENT_READ)
            senders: dict[socket.socket, _Sender] = {}
            while not inbox.stopping.is_set():
                for key, _ in selector.select(POLL_SECONDS):
                    link = key.fileobj
                    if isinstance(link, socket.socket) and link in senders:
                        sender = senders[link]
                        sender.heard = time.monotonic()
                        if not _receive(link, sender.lines):
                            selector.unregister(link)
                            senders.pop(link).lines.end()
                            link.close()
                    elif len(senders) >= MOST_CONNECTIONS:
                        silent = _longest_silent(senders)
                        if silent is None:
                            # New clients wait in the backlog until another one disconnects.
                            inbox.stopping.wait(POLL_SECONDS)
                            continue
                        selector.unregister(silent)
                        traffic.say(f"{senders[silent].name} was silent and makes room for another")
                        senders.pop(silent).lines.end()
                        silent.close()
                    elif (client := accepted(server)) is not None:
                        accepted_link, name = client
                        lines = Lines(name, inbox, traffic)
                        senders[accepted_link] = _Sender(name, lines, time.monotonic())
                        traffic.connections += 1
                        selector.register(accepted_link, selectors.EVENT_READ)
            for link, sender in senders.items():
                sender.lines.end()
                link.close()


@dataclass(slots=True)
class _Sender:
    """A client, and the time of its last message."""

    name: str
    lines: Lines
    heard: float

    @property
    def host(self) -> str:
        return self.name.rpartition(":")[0]


def _longest_silent(senders: Mapping[socket.socket, _Sender]) -> socket.socket | None:
    """The connection to give up for a new one: a silent one of the host that has most of them."""
    count = Counter(sender.host for sender in senders.values())
    latest = time.monotonic() - SILENT_SECONDS
    silent = [(link, sender) for link, sender in senders.items() if sender.heard <= latest]
    if not silent:
        return None
    return min(silent, key=lambda pair: (-count[pair[1].host], pair[1].heard))[0]


def accepted(server: socket.socket) -> tuple[socket.socket, str] | None:
    """A new client and its name; None if there is none, or it is gone already."""
    try:
        link, (peer, port, *_) = server.accept()
    except OSError:
        return None
    link.setblocking(False)
    return link, f"tcp://{peer}:{port}"


def _receive(link: socket.socket, lines: Lines) -> bool:
    """Read the received bytes; False when the connection is closed."""
    try:
        received = link.recv(_RECEIVE)
    except BlockingIOError:
        return True
    except OSError:
        return False
    if received:
        lines.feed(received)
    return bool(received)


@contextmanager
def listening(place: TcpPlace) -> Iterator[socket.socket]:
    """A socket that listens at an address."""
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        server = socket.create_server((place.host, place.port), family=family)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise LarsparkError(Problem("L321", f"cannot listen at {place.name}: {why}")) from None
    with server:
        server.setblocking(False)
        yield server


# A peer that accepts no data for this long is disconnected.
_STUCK_SECONDS = 10.0


class TcpSender:
    """Sends lines to a server; reconnects when the connection breaks.

    TCP does not confirm delivery to the application: lines in flight when a connection breaks may
    be lost or duplicated.
    """

    def __init__(self, place: TcpPlace) -> None:
        self._place = place
        self._pending: list[bytes] = []
        self.delivered = 0

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        place = self._place

        def talk() -> None:
            address = (place.host, place.port)
            with socket.create_connection(address, CONNECT_SECONDS) as link:
                traffic.up(place.name)
                link.settimeout(_STUCK_SECONDS)
                while not queue.stopping.is_set():
                    _still_there(link)
                    over = not self._pending and self._take(queue)
                    link.sendall(b"".join(self._pending))
                    self.delivered += len(self._pending)
                    self._pending = []
                    if over:
                        queue.stop()

        keep_connected(talk, place.name, queue, traffic, retry=True)

    def _take(self, queue: Inbox) -> bool:
        blocks, _, over = queue.take(POLL_SECONDS)
        self._pending = [line for _, block in blocks for line in block.lines if line is not None]
        return over


def _still_there(link: socket.socket) -> None:
    """Raise if the other side has closed the connection, before more is sent."""
    while select.select([link], [], [], 0)[0]:
        if not link.recv(1 << 12):
            raise ConnectionError("the peer closed it")


class TcpFanOut:
    """Sends every line to all clients that are connected when it is written."""

    def __init__(self, place: TcpPlace) -> None:
        self._place = place
        self.delivered = 0

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        links: list[socket.socket] = []
        with listening(self._place) as server:
            host, port = server.getsockname()[:2]
            traffic.say(f"answers are at {host}:{port}")
            over = False
            while not over and not queue.stopping.is_set():
                blocks, _, over = queue.take(POLL_SECONDS)
                while (client := accepted(server)) is not None:
                    client[0].settimeout(_STUCK_SECONDS)
                    links.append(client[0])
                lines = [line for _, block in blocks for line in block.lines if line is not None]
                links = [link for link in links if _sent(link, b"".join(lines))]
                self.delivered += len(lines)
            for link in links:
                link.close()


def _sent(link: socket.socket, data: bytes) -> bool:
    """Send to one client; False when it has disconnected."""
    try:
        _still_there(link)
        link.sendall(data)
    except OSError:
        link.close()
        return False
    return True

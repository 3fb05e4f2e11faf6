"""Lines over TCP: from a host that we connect to, or from those who connect to us."""

import select
import selectors
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import TcpPlace
from larspark.feeds.live.inbox import Inbox, Lines, Traffic, keep_connected

_RECEIVE = 1 << 16
CONNECT_SECONDS = 10.0
# How long it may take to notice that the run is ending.
POLL_SECONDS = 0.1
# Each connection may hold an unfinished line, so their number bounds the memory.
MOST_CONNECTIONS = 100


class TcpClient:
    """Reads what a server sends, and connects again when the connection ends."""

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
    """Reads what everybody sends who connects; one who leaves leaves the others alone."""

    def __init__(self, place: TcpPlace) -> None:
        self._place = place

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        with listening(self._place) as server, selectors.DefaultSelector() as selector:
            host, port = server.getsockname()[:2]
            traffic.say(f"listening on {host}:{port}")
            selector.register(server, selectors.EVENT_READ)
            senders: dict[socket.socket, Lines] = {}
            while not inbox.stopping.is_set():
                for key, _ in selector.select(POLL_SECONDS):
                    link = key.fileobj
                    if isinstance(link, socket.socket) and link in senders:
                        if not _receive(link, senders[link]):
                            selector.unregister(link)
                            senders.pop(link).end()
                            link.close()
                    elif len(senders) >= MOST_CONNECTIONS:
                        # They wait in the backlog until somebody leaves.
                        inbox.stopping.wait(POLL_SECONDS)
                    elif (visitor := accepted(server)) is not None:
                        sender, name = visitor
                        senders[sender] = Lines(name, inbox, traffic)
                        traffic.connections += 1
                        selector.register(sender, selectors.EVENT_READ)
            for link, lines in senders.items():
                lines.end()
                link.close()


def accepted(server: socket.socket) -> tuple[socket.socket, str] | None:
    """Who has connected, with their name; None when nobody has, or they are gone already."""
    try:
        link, (peer, port, *_) = server.accept()
    except OSError:
        return None
    link.setblocking(False)
    return link, f"tcp://{peer}:{port}"


def _receive(link: socket.socket, lines: Lines) -> bool:
    """Read what has come; False when the connection is gone."""
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


# Who takes nothing for so long is given up.
_STUCK_SECONDS = 10.0


class TcpSender:
    """Sends to a server, and connects again when the connection breaks.

    TCP does not tell what arrived: the lines that were on their way when a connection breaks may
    be lost, or come twice.
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
    """Notice that the other side has gone before sending into the void."""
    while select.select([link], [], [], 0)[0]:
        if not link.recv(1 << 12):
            raise ConnectionError("the other side closed it")


class TcpFanOut:
    """Sends every line to all who are connected when it is written."""

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
                while (visitor := accepted(server)) is not None:
                    visitor[0].settimeout(_STUCK_SECONDS)
                    links.append(visitor[0])
                lines = [line for _, block in blocks for line in block.lines if line is not None]
                links = [link for link in links if _sent(link, b"".join(lines))]
                self.delivered += len(lines)
            for link in links:
                link.close()


def _sent(link: socket.socket, data: bytes) -> bool:
    """Send to one of many; False when it is gone."""
    try:
        _still_there(link)
        link.sendall(data)
    except OSError:
        link.close()
        return False
    return True

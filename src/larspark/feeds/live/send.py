"""Lines out over TCP: to a host that we connect to, or to those who connect to us."""

import select
import socket

from larspark.feeds.live.inbox import Inbox
from larspark.feeds.live.place import TcpPlace
from larspark.feeds.live.retry import keep_connected
from larspark.feeds.live.tcp import CONNECT_SECONDS, POLL_SECONDS, accepted, listening
from larspark.feeds.live.traffic import Traffic

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

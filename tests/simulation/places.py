"""Where the facts of a simulated run come from: files, a broker and a server, with their faults."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import patch

from tests.simulation.world import World


def spread(world: World, count: int, seconds: float) -> list[float]:
    """The moments of so many events, in order."""
    return sorted(world.now + world.rng.random() * seconds for _ in range(count))


class Log:
    """A file that another process appends to, in pieces of any length, and rotates."""

    def __init__(self, world: World, path: Path, data: bytes, seconds: float) -> None:
        rng = world.rng
        ends = sorted({rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 20))})
        self._path = path
        start = 0
        moments = spread(world, len(ends) + 1, seconds)
        for moment, end in zip(moments, [*ends, len(data)], strict=True):
            world.at(moment, lambda piece=data[start:end]: self._append(piece))
            # Who rotates a file does it between two lines.
            if data[:end].endswith(b"\n") and rng.random() < 0.3:
                world.at(moment, self._rotate)
            start = end

    def _append(self, piece: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(piece)

    def _rotate(self) -> None:
        # A run begins with the file of this name, so it must have begun to read that one.
        commits = sorted(self._path.parent.glob("S/commit-*.state"))
        if not self._path.exists() or not commits or b'"offset"' not in commits[-1].read_bytes():
            return
        number = 1
        while self._numbered(number).exists():
            number += 1
        for older in range(number, 0, -1):
            source = self._path if older == 1 else self._numbered(older - 1)
            source.rename(self._numbered(older))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


class Network:
    """Connections break, and cannot be made for a while."""

    def __init__(self, world: World, seconds: float) -> None:
        self.world = world
        self._up_at = 0.0
        # Which of the connections are those of now.
        self.age = 0
        for moment in spread(world, world.rng.randrange(5), seconds):
            world.at(moment, self._break)

    def _break(self) -> None:
        self.age += 1
        self._up_at = self.world.now + self.world.rng.choice((0.0, 0.01, 2.0))

    def connect(self) -> int:
        self.world.pause()
        if self.world.now < self._up_at:
            raise ConnectionRefusedError("nobody answers")
        return self.age


class Broker:
    """An MQTT broker that keeps sessions: what is not acknowledged is delivered again."""

    def __init__(self, world: World, lines: Sequence[str], seconds: float) -> None:
        self.world = world
        self.network = Network(world, seconds)
        self.sessions: dict[str, Session] = {}
        self._lines = lines
        self._seconds = seconds
        self._began = False

    def begin(self) -> None:
        """The first subscription is there: publish from now on."""
        if self._began:
            return
        self._began = True
        rng, start = self.world.rng, 0
        while start < len(self._lines):
            count = rng.choice((1, 1, 1, 2, 5))
            payload = "".join(self._lines[start : start + count]).encode()
            start += count
            moment = self.world.now + self._seconds * start / len(self._lines)
            self.world.at(moment, lambda payload=payload: self._publish(payload))

    def _publish(self, payload: bytes) -> None:
        for session in (each for each in self.sessions.values() if each.subscribed):
            session.number = session.number % 65535 + 1
            session.messages.append(
                SimpleNamespace(
                    mid=session.number, payload=payload, qos=1, dup=False, topic="facts"
                )
            )

    def client(self, place: Any, *, name: str, clean: bool) -> "Client":
        """In place of a client of paho."""
        return Client(self, name)


class Session:
    def __init__(self) -> None:
        self.messages: deque[Any] = deque()
        self.number = 0
        self.subscribed = False


_WINDOW = 20


class Client:
    """A client as far as the run uses it."""

    on_connect: Callable[..., None]
    on_message: Callable[..., None]
    on_subscribe: Callable[..., None]

    def __init__(self, broker: Broker, name: str) -> None:
        self._broker = broker
        self._name = name
        self._age = -1
        self._replies: deque[Callable[[], None]] = deque()
        self._sent = 0
        # Acknowledgements that the broker may never get.
        self._underway: list[int] = []

    def manual_ack_set(self, wanted: bool) -> None:
        assert wanted

    def connect(self, host: str, port: int, keepalive: int) -> None:
        broker = self._broker
        self._age = broker.network.connect()
        self._sent = 0
        self._replies.clear()
        self._underway.clear()
        present = self._name in broker.sessions
        session = broker.sessions.setdefault(self._name, Session())
        flags = SimpleNamespace(session_present=present)
        good = SimpleNamespace(is_failure=False)
        self._replies.append(lambda: self.on_connect(self, None, flags, good, None))
        self._session = session

    def subscribe(self, topic: str, quality: int) -> None:
        good = SimpleNamespace(is_failure=False)

        def confirm() -> None:
            self._session.subscribed = True
            self._broker.begin()
            self.on_subscribe(self, None, 0, [good], None)

        self._replies.append(confirm)

    def _has_something(self) -> bool:
        broken = self._age != self._broker.network.age
        return broken or bool(self._replies) or self._sent < min(len(self._messages()), _WINDOW)

    def _messages(self) -> deque[Any]:
        return self._session.messages

    def loop(self, seconds: float) -> Any:
        self._broker.world.wait(self._has_something, seconds)
        if self._age != self._broker.network.age:
            return SimpleNamespace(name="MQTT_ERR_CONN_LOST")
        self._acknowledge()
        if self._replies:
            self._replies.popleft()()
        elif self._sent < min(len(self._messages()), _WINDOW):
            message = self._messages()[self._sent]
            self._sent += 1
            delivered = SimpleNamespace(**vars(message))
            message.dup = True
            self.on_message(self, None, delivered)
        return 0

    def _acknowledge(self) -> None:
        for number in self._underway:
            for message in list(self._messages()):
                if message.mid == number:
                    position = self._messages().index(message)
                    self._sent -= position < self._sent
                    self._messages().remove(message)
        self._underway.clear()

    def ack(self, number: int, quality: int) -> None:
        if self._age == self._broker.network.age:
            self._underway.append(number)

    def disconnect(self) -> None:
        if self._broker.world.rng.random() < 0.5:
            self._acknowledge()


class Server:
    """A server that sends its lines once, also into a connection that is about to break.

    Then it sends ever later times, if it is to send any, because a run may wait for them.
    """

    def __init__(self, world: World, data: bytes, seconds: float, *, timed: bool) -> None:
        self._later = 2_000_000 if timed else None
        self.world = world
        self.network = Network(world, seconds)
        self.data = b""
        for moment in spread(world, 20, seconds):
            end = world.rng.randrange(len(data))
            world.at(moment, lambda end=end: self._reach(data[:end]))
        world.at(world.now + seconds, lambda: self._reach(data))

    def later(self) -> bytes:
        """A line that tells of a later time."""
        if self._later is None:
            return b"\n"
        self._later += 10
        return b'\n{"t": %d}\n' % self._later

    def _reach(self, data: bytes) -> None:
        self.data = max(self.data, data, key=len)

    def create_connection(self, address: Any, seconds: float) -> "Link":
        return Link(self)


class Link:
    """A connection to the server."""

    sent = 0

    def __init__(self, server: Server) -> None:
        self._server = server
        self._age = server.network.connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def setsockopt(self, *_: int) -> None:
        pass

    def settimeout(self, seconds: float) -> None:
        self._seconds = seconds

    def recv(self, size: int) -> bytes:
        server = self._server

        def ready() -> bool:
            return self._age != server.network.age or Link.sent < len(server.data)

        server.world.wait(ready, self._seconds)
        if self._age != server.network.age:
            if server.world.rng.random() < 0.5:
                raise ConnectionResetError("reset")
            return b""
        if not ready():
            if server.world.rng.random() < 0.1:
                return server.later()
            raise TimeoutError
        start = Link.sent
        Link.sent += server.world.rng.randrange(1, 200)
        return server.data[start : Link.sent]


@contextmanager
def network(broker: Broker | None, server: Server | None) -> Iterator[None]:
    """In this context, connections are made to these."""
    with ExitStack() as stack:
        if broker is not None:
            stack.enter_context(patch("larspark.feeds.live.mqtt.make_client", broker.client))
        if server is not None:
            Link.sent = 0
            sockets = SimpleNamespace(
                create_connection=server.create_connection, SOL_SOCKET=0, SO_KEEPALIVE=0
            )
            stack.enter_context(patch("larspark.feeds.live.tcp.socket", sockets))
        yield

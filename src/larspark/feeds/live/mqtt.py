"""Lines over MQTT: a subscriber, whose messages hold one or more lines, and a publisher."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import Address, DurableSource, LineSink, LineSource, LivePlace
from larspark.feeds.live.inbox import POLL_SECONDS, Block, Inbox, Lines, Traffic, keep_connected
from larspark.feeds.reading import Refused

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

# Delivery at least once: a broker sends a message again until it is acknowledged.
QOS = 1
KEEPALIVE_SECONDS = 60
_FAREWELL_ROUNDS = 20
_PIECE = 1 << 16
_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class MqttPlace(LivePlace):
    """A topic of a broker; for reading it may have wildcards. `encrypted` means TLS."""

    schemes: ClassVar[tuple[str, ...]] = tuple(_PORTS)
    forms: ClassVar[tuple[str, ...]] = ("mqtt://host/topic", "mqtts://...")
    name: str
    host: str
    port: int
    topic: str
    encrypted: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, address: Address) -> Self:
        scheme, host, topic = address.scheme, address.host, address.path
        port = _PORTS[scheme] if address.port is None else address.port
        name = f"{scheme}://{host}:{port}/{topic}"
        if not host:
            raise Refused("L320", f"{name}: the host is missing")
        if why := _topic_problem(topic):
            raise Refused("L320", f"{name}: {why}")
        password = address.password
        if password is None:
            password = os.environ.get("LARSPARK_MQTT_PASSWORD")
        return cls(name, host, port, topic, scheme == "mqtts", address.user, password)

    def source(self, retry: bool) -> LineSource:
        return MqttSubscriber(self, retry)

    def durable_source(self, retry: bool, owner: str) -> DurableSource:
        return DurableSubscriber(self, retry, owner)

    def sink(self) -> LineSink:
        return MqttPublisher(self)


def _topic_problem(topic: str) -> str:
    """Why a topic is not well formed; empty if it is."""
    if not topic:
        return "the topic is missing"
    *above, last = topic.split("/")
    if "\0" in topic or any("#" in level for level in above) or ("#" in last and last != "#"):
        return "`#` stands alone, as the last level of a topic"
    if any("+" in level and level != "+" for level in (*above, last)):
        return "`+` stands alone between the slashes of a topic"
    return ""


def make_client(place: MqttPlace, *, name: str, clean: bool) -> Client:
    """A client with the user and password of the place, not yet connected."""
    if find_spec("paho") is None:
        hint = "install it with `pip install 'larspark[mqtt]'`"
        raise LarsparkError(Problem("L323", f"{place.name} needs the package paho-mqtt", hint=hint))
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    client = Client(CallbackAPIVersion.VERSION2, client_id=name, clean_session=clean)
    if place.user is not None:
        client.username_pw_set(place.user, place.password)
    if place.encrypted:
        # The certificate must be one that this machine trusts.
        client.tls_set()
    return client


class MqttSubscriber:
    """Reads the messages of a topic; reconnects when the connection breaks.

    A message is acknowledged when its lines are in the queue, so a full queue delays the next
    message. The session is persistent: the broker keeps messages published during a break. A
    broker that has lost the session is counted. A session may be without a subscription, if the
    connection broke before the broker confirmed it.
    """

    def __init__(self, place: MqttPlace, retry: bool, owner: str | None = None) -> None:
        self._place = place
        self._retry = retry
        self._client_name = f"larspark-{owner or secrets.token_hex(8)}"
        # A missing package is reported here, not in the reader thread.
        self._client = make_client(place, name=self._client_name, clean=False)
        self._refusal: LarsparkError | None = None
        # Whether the session has the subscription, as far as the broker has confirmed it.
        self._subscribed = False

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        place, client = self._place, self._client
        broker = place.name.removesuffix(f"/{place.topic}")

        def on_connect(_: Client, __: Any, flags: Any, reason: Any, ___: Any) -> None:
            if reason.is_failure:
                self._refuse(f"the broker refuses the connection: {reason}")
                return
            traffic.up(place.name)
            if not flags.session_present:
                traffic.forgotten += traffic.breaks > 0
                self._subscribed = False
                self._lost_session(traffic)
            else:
                self._found_session(traffic)
            if not self._subscribed:
                client.subscribe(place.topic, QOS)

        def on_subscribe(_: Client, __: Any, ___: int, reasons: Any, ____: Any) -> None:
            if any(reason.is_failure for reason in reasons):
                self._refuse("the broker refuses the subscription")
            self._subscribed = True
            traffic.say(f"subscribed to {place.name}")

        def on_message(_: Client, __: Any, message: MQTTMessage) -> None:
            traffic.again += message.dup
            if not self._accept(message):
                return
            topic = f"{broker}/{_topic(message)}"
            lines = Lines(topic, inbox, traffic)
            # Piece by piece, so that a message of any size waits for room in the queue.
            for start in range(0, len(message.payload), _PIECE):
                lines.feed(bytes(message.payload[start : start + _PIECE]))
            lines.close()
            self._arrived(inbox, topic)

        def on_unsubscribe(*_: Any) -> None:
            self._subscribed = False

        def talk() -> None:
            client.connect(place.host, place.port, KEEPALIVE_SECONDS)
            while not inbox.stopping.is_set():
                self._step(POLL_SECONDS)
                self._acknowledge()
            self._leave()

        client.on_connect = on_connect
        client.on_subscribe = on_subscribe
        client.on_message = on_message
        client.on_unsubscribe = on_unsubscribe
        keep_connected(talk, place.name, inbox, traffic, self._retry)

    def _lost_session(self, traffic: Traffic) -> None:
        """The broker has no session of this client."""

    def _found_session(self, traffic: Traffic) -> None:
        """The broker has kept the session of this client, and its subscription."""

    def _accept(self, message: MQTTMessage) -> bool:
        """Whether a message is to be read; one that was read before is not."""
        return True

    def _arrived(self, inbox: Inbox, topic: str) -> None:
        """All lines of a message are in the queue."""

    def _acknowledge(self) -> None:
        """Acknowledge what is to be acknowledged; paho does that when a message has arrived."""

    def _step(self, seconds: float) -> None:
        result = self._client.loop(seconds)
        if self._refusal is not None:
            raise self._refusal
        if result != 0:
            raise ConnectionError(str(result.name).removeprefix("MQTT_ERR_").lower())

    def _leave(self) -> None:
        """Receive messages in flight, then end the session at the broker."""
        self._client.unsubscribe(self._place.topic)
        with suppress(OSError):
            for _ in range(_FAREWELL_ROUNDS):
                if self._subscribed:
                    self._step(POLL_SECONDS)
            self._client.disconnect()
            # A session ends when its client connects and asks for a clean one.
            ending = make_client(self._place, name=self._client_name, clean=True)
            ending.connect(self._place.host, self._place.port, KEEPALIVE_SECONDS)
            ending.loop(POLL_SECONDS)
            ending.disconnect()

    def _refuse(self, why: str) -> None:
        self._refusal = LarsparkError(Problem("L321", f"{self._place.name}: {why}"))


class _Message(NamedTuple):
    """A message by its number among all that arrived, and as its broker tells it from others."""

    number: int
    packet: int
    quality: int
    digest: str


# Messages that were acknowledged so many commits and seconds ago, on a connection that is still
# there, may be delivered again: the acknowledgement may not have reached the broker.
_REMEMBERED_COMMITS = 3
_REMEMBERED_SECONDS = 2.0


class DurableSubscriber(MqttSubscriber):
    """Reads the messages of a topic for a durable run.

    A message is acknowledged when what came of it is committed. The session of the run stays at the
    broker, which delivers what was not acknowledged again, under the same packet identifier, and
    what was published meanwhile. A message that was committed before is acknowledged and not read.
    """

    def __init__(self, place: MqttPlace, retry: bool, owner: str) -> None:
        super().__init__(place, retry, owner)
        self._client.manual_ack_set(True)
        self._lock = threading.Lock()
        self._number = 0
        self._unacknowledged: deque[_Message] = deque()
        # What was committed and acknowledged lately, commit by commit; and what is to be
        # acknowledged now.
        self._committed: deque[tuple[float, list[_Message]]] = deque()
        self._due: list[_Message] = []
        self._resumed = False
        self._connected = 0.0

    def resume(self, position: Any) -> None:
        self._resumed = True
        earlier = [_Message(0, int(packet), QOS, str(digest)) for packet, digest in position or ()]
        if earlier:
            # What gave messages has the subscription.
            self._subscribed = True
            self._committed.append((time.monotonic(), earlier))

    def position(self, after: Any) -> Any:
        with self._lock:
            taken = [m for m in self._unacknowledged if m.number <= after]
            earlier = [message for _, group in self._committed for message in group]
        return [[m.packet, m.digest] for m in (*earlier, *taken) if m.quality]

    @property
    def waiting(self) -> bool:
        """A broker sends only so many messages before some are acknowledged."""
        return bool(self._unacknowledged)

    def offsets(self, after: Any) -> object:
        """No sink commits them."""
        return None

    def committed(self, after: Any) -> None:
        with self._lock:
            group: list[_Message] = []
            while self._unacknowledged and self._unacknowledged[0].number <= after:
                group.append(self._unacknowledged.popleft())
            if group:
                self._committed.append((time.monotonic(), group))
                self._due += group
                self._forget()

    def _forget(self) -> None:
        """Forget what the broker knows to be acknowledged."""
        long_ago = time.monotonic() - _REMEMBERED_SECONDS
        while len(self._committed) > _REMEMBERED_COMMITS and long_ago > max(
            self._connected, self._committed[0][0]
        ):
            self._committed.popleft()

    def close(self) -> None:
        """Send the last acknowledgements; the session stays at the broker."""
        with suppress(OSError):
            self._acknowledge()
            self._client.loop(POLL_SECONDS)
            self._client.disconnect()

    def _accept(self, message: MQTTMessage) -> bool:
        digest = hashlib.sha256(message.payload).hexdigest()[:16]
        if message.dup and message.qos:
            key = (message.mid, digest)
            with self._lock:
                underway = {(m.packet, m.digest) for m in self._unacknowledged}
                earlier = {(m.packet, m.digest) for _, group in self._committed for m in group}
            if key in underway:
                return False
            if key in earlier:
                self._client.ack(message.mid, message.qos)
                return False
        self._number += 1
        self._pending = _Message(self._number, message.mid, message.qos, digest)
        return True

    def _arrived(self, inbox: Inbox, topic: str) -> None:
        with self._lock:
            self._unacknowledged.append(self._pending)
        # An empty block behind the lines carries the position.
        inbox.put(Block(topic, 1, [], self._pending.number))

    def _acknowledge(self) -> None:
        with self._lock:
            due, self._due = self._due, []
        for message in due:
            self._client.ack(message.packet, message.quality)

    def _lost_session(self, traffic: Traffic) -> None:
        if self._resumed:
            traffic.gap(f"the broker of {self._place.name} has lost the session of this run")
        self._resumed = True
        self._connected = time.monotonic()

    def _found_session(self, traffic: Traffic) -> None:
        self._resumed = True
        self._connected = time.monotonic()
        traffic.say(f"listening to {self._place.name}, in the session of this run")

    def _leave(self) -> None:
        """The connection stays until the last commit."""


def _topic(message: MQTTMessage) -> str:
    try:
        return message.topic
    except UnicodeDecodeError:
        return "?"


# Unacknowledged messages at any time.
_UNDERWAY = 1000


class MqttPublisher:
    """Publishes every line at least once: unacknowledged messages are sent again."""

    def __init__(self, place: MqttPlace) -> None:
        if "+" in place.topic or "#" in place.topic:
            raise LarsparkError(
                Problem("L320", f"{place.name}: a topic to write to has no wildcards")
            )
        self._place = place
        self._client = make_client(place, name=f"larspark-{secrets.token_hex(8)}", clean=False)
        self._acknowledged = threading.Condition()
        self._published = 0
        self.delivered = 0

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        place, client = self._place, self._client

        def on_connect(_: Client, __: Any, ___: Any, reason: Any, ____: Any) -> None:
            if reason.is_failure:
                why = f"{place.name}: the broker refuses the connection: {reason}"
                queue.end(LarsparkError(Problem("L321", why)))
                queue.stop()
            else:
                traffic.up(place.name)

        def on_disconnect(*_: Any) -> None:
            if not queue.stopping.is_set():
                traffic.broken(f"lost the connection to {place.name}; trying again")

        def on_publish(*_: Any) -> None:
            with self._acknowledged:
                self.delivered += 1
                self._acknowledged.notify_all()

        client.on_connect = on_connect
        client.on_disconnect = on_disconnect
        client.on_publish = on_publish
        client.reconnect_delay_set(1, 5)
        client.connect_async(place.host, place.port, KEEPALIVE_SECONDS)
        client.loop_start()
        over = False
        while not over and not queue.stopping.is_set():
            blocks, _, over = queue.take(POLL_SECONDS)
            for _, block in blocks:
                for line in filter(None, block.lines):
                    self._wait_for(_UNDERWAY, queue)
                    client.publish(place.topic, line.removesuffix(b"\n"), QOS)
                    self._published += 1
        self._wait_for(1, queue)
        client.disconnect()
        client.loop_stop()

    def _wait_for(self, underway: int, queue: Inbox) -> None:
        """Wait until fewer than `underway` messages are unacknowledged."""
        with self._acknowledged:
            while self._published - self.delivered >= underway and not queue.stopping.is_set():
                self._acknowledged.wait(POLL_SECONDS)

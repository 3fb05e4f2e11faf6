"""Lines over MQTT: a subscriber, whose messages hold one or more lines, and a publisher."""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Self

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import Address, LineSink, LineSource, LivePlace
from larspark.feeds.live.inbox import POLL_SECONDS, Inbox, Lines, Traffic, keep_connected
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
    broker that has lost the session is counted.
    """

    def __init__(self, place: MqttPlace, retry: bool) -> None:
        self._place = place
        self._retry = retry
        self._client_name = f"larspark-{secrets.token_hex(8)}"
        # A missing package is reported here, not in the reader thread.
        self._client = make_client(place, name=self._client_name, clean=False)
        self._refusal: LarsparkError | None = None
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
                client.subscribe(place.topic, QOS)

        def on_subscribe(_: Client, __: Any, ___: int, reasons: Any, ____: Any) -> None:
            if any(reason.is_failure for reason in reasons):
                self._refuse("the broker refuses the subscription")
            traffic.say(f"subscribed to {place.name}")

        def on_message(_: Client, __: Any, message: MQTTMessage) -> None:
            traffic.again += message.dup
            topic = f"{broker}/{_topic(message)}"
            lines = Lines(topic, inbox, traffic)
            # Piece by piece, so that a message of any size waits for room in the queue.
            for start in range(0, len(message.payload), _PIECE):
                lines.feed(bytes(message.payload[start : start + _PIECE]))
            lines.close()

        def on_unsubscribe(*_: Any) -> None:
            self._subscribed = False

        def talk() -> None:
            client.connect(place.host, place.port, KEEPALIVE_SECONDS)
            while not inbox.stopping.is_set():
                self._step(POLL_SECONDS)
            self._leave()

        client.on_connect = on_connect
        client.on_subscribe = on_subscribe
        client.on_message = on_message
        client.on_unsubscribe = on_unsubscribe
        keep_connected(talk, place.name, inbox, traffic, self._retry)

    def _step(self, seconds: float) -> None:
        result = self._client.loop(seconds)
        if self._refusal is not None:
            raise self._refusal
        if result != 0:
            raise ConnectionError(str(result.name).removeprefix("MQTT_ERR_").lower())

    def _leave(self) -> None:
        """Receive messages in flight, then end the session at the broker."""
        self._subscribed = True
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

"""Lines out to an MQTT broker: every line is a message."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Any

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.inbox import Inbox
from larspark.feeds.live.mqtt import KEEPALIVE_SECONDS, QOS, make_client
from larspark.feeds.live.place import MqttPlace
from larspark.feeds.live.tcp import POLL_SECONDS
from larspark.feeds.live.traffic import Traffic

if TYPE_CHECKING:
    from paho.mqtt.client import Client

# Messages that the broker has not acknowledged yet.
_UNDERWAY = 1000


class MqttPublisher:
    """Publishes at least once: what the broker does not acknowledge is sent again."""

    def __init__(self, place: MqttPlace) -> None:
        if "+" in place.topic or "#" in place.topic:
            raise LarsparkError(Problem("L320", f"{place.name}: a topic to write to is one topic"))
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
        """Wait until fewer messages than that are on their way."""
        with self._acknowledged:
            while self._published - self.delivered >= underway and not queue.stopping.is_set():
                self._acknowledged.wait(POLL_SECONDS)

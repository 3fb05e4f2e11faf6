"""Facts from a real MQTT broker, which may be slow, refuse, or be killed."""

import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.feeds.live.broker import MOSQUITTO, Gate, RunningBroker, make_certificate

from larspark.base.problems import LarsparkError
from larspark.feeds.live import LiveStream


@pytest.fixture
def broker() -> Iterator[RunningBroker]:
    running = RunningBroker()
    running.start()
    yield running
    running.kill()


def wait_for(what: Callable[[], bool]) -> None:
    for _ in range(1500):
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("waited in vain")


@contextmanager
def publisher(broker: RunningBroker) -> Iterator[Client]:
    client = Client(CallbackAPIVersion.VERSION2)
    client.reconnect_delay_set(0.1, 0.2)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    yield client
    client.disconnect()
    client.loop_stop()


class Subscriber:
    """Reads a topic in a thread of its own."""

    def __init__(self, place: str, pause: float = 0, **options) -> None:
        self.said: list[str] = []
        self.stream = LiveStream(place, say=self.said.append, **options)
        self.found: list[str] = []
        self._pause = pause
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        wait_for(lambda: self.subscriptions == 1)

    @property
    def subscriptions(self) -> int:
        return sum(text.startswith("subscribed") for text in self.said)

    def _read(self) -> None:
        for batch in self.stream.batches():
            time.sleep(self._pause)
            self.found += [str(row.atom) for row in batch.rows()]

    def stop(self) -> None:
        self.stream.stop()
        self._thread.join(300)


def fact(number: int) -> str:
    return f'{{"t": 1, "atom": "p({number})"}}'


def test_a_message_holds_one_line_or_several_and_wildcards_name_many_topics(broker):
    subscriber = Subscriber(f"mqtt://127.0.0.1:{broker.port}/plant/+/events", on_error="skip")
    with publisher(broker) as client:
        client.publish("plant/a/events", fact(1), qos=1)
        client.publish("plant/b/events", f"{fact(2)}\n{fact(3)}\n", qos=1)
        client.publish("plant/b/other", fact(4), qos=1)
        client.publish("plant/b/events", f"{fact(5)}\nnonsense\n{fact(6)}", qos=1)
        wait_for(lambda: len(subscriber.found) == 5)
    subscriber.stop()
    assert sorted(subscriber.found) == ["p(1)", "p(2)", "p(3)", "p(5)", "p(6)"]
    (problem,) = subscriber.stream.problems
    assert problem.span is not None
    place = f"mqtt://127.0.0.1:{broker.port}/plant/b/events"
    assert (problem.code, problem.span.source, problem.span.line) == ("L308", place, 2)


def test_payloads_are_mapped_as_files_are(broker):
    place = f"mqtt://127.0.0.1:{broker.port}/plant/+/events"
    options = {"map": "temp(sensor, value)", "clock": 3_600_000_000, "start": 7}
    subscriber = Subscriber(place, format="csv", columns="sensor,value", **options)
    other = Subscriber(place.replace("events", "json"), **options)
    with publisher(broker) as client:
        client.publish("plant/a/events", "m1,95", qos=1)
        client.publish("plant/b/events", "sensor,value\nm2,1e5\nm3\n", qos=1)
        client.publish("plant/a/json", '{"sensor": "m4", "value": 2.0}', qos=1)
        wait_for(lambda: len(other.stream.problems) + subscriber.stream.traffic.lines > 3)
    subscriber.stop()
    other.stop()
    assert sorted(subscriber.found) == ["temp(m1,95)", 'temp(m2,"1e5")']
    assert other.found == ["temp(m4,2)"]
    assert [problem.code for problem in subscriber.stream.problems] == ["L316"]


def test_a_full_queue_holds_the_broker_back_and_loses_nothing(broker):
    subscriber = Subscriber(f"mqtt://127.0.0.1:{broker.port}/events", pause=0.02, queue=1)
    with publisher(broker) as client:
        for number in range(100):
            client.publish("events", fact(number), qos=1)
        wait_for(lambda: len(set(subscriber.found)) == 100)
    subscriber.stop()
    # A client that had to connect again sends what was not acknowledged once more.
    assert list(dict.fromkeys(subscriber.found)) == [f"p({number})" for number in range(100)]


def test_with_the_broker_killed_and_started_again_the_counts_add_up(broker):
    subscriber = Subscriber(f"mqtt://127.0.0.1:{broker.port}/events")
    with publisher(broker) as client:
        for number in range(200):
            client.publish("events", fact(number), qos=1)
        wait_for(lambda: len(set(subscriber.found)) == 200)
        broker.kill()
        wait_for(lambda: subscriber.stream.traffic.breaks == 1)
        # The publisher keeps these, and the broker gets them before or after we are back.
        for number in range(200, 250):
            client.publish("events", fact(number), qos=1)
        broker.start()
        wait_for(lambda: subscriber.subscriptions == 2 and client.is_connected())
        for number in range(250, 450):
            client.publish("events", fact(number), qos=1).wait_for_publish(300)
        wait_for(lambda: subscriber.found[-1] == "p(449)")
    subscriber.stop()
    stream, traffic = subscriber.stream, subscriber.stream.traffic
    numbers = [int(text[2:-1]) for text in subscriber.found]
    assert stream.facts == len(numbers) == traffic.lines
    assert len(numbers) == len(set(numbers)) + traffic.again
    missing = set(range(450)) - set(numbers)
    # Only what was published while we were away may be missing, and that we were is told.
    assert missing <= set(range(200, 250))
    assert (traffic.breaks, traffic.forgotten, traffic.connections) == (1, 1, 2)
    assert traffic.down > 0
    assert any(text.startswith("lost the connection to mqtt://") for text in subscriber.said)
    assert any("again after" in text for text in subscriber.said)


def test_with_our_connection_cut_only_what_the_broker_did_not_keep_is_missing(broker):
    gate = Gate(broker.port)
    gate.open()
    subscriber = Subscriber(f"mqtt://127.0.0.1:{gate.port}/events")
    traffic = subscriber.stream.traffic
    with publisher(broker) as client:

        def publish(first: int) -> None:
            for number in range(first, first + 100):
                client.publish("events", fact(number), qos=1).wait_for_publish(300)

        publish(0)
        wait_for(lambda: len(subscriber.found) == 100)
        gate.cut()
        wait_for(lambda: traffic.breaks == 1)
        publish(100)
        gate.open()
        wait_for(lambda: traffic.connections == 2)
        wait_for(lambda: subscriber.subscriptions == 1 + traffic.forgotten)
        publish(200)
        wait_for(lambda: "p(299)" in subscriber.found)
    subscriber.stop()
    gate.cut()
    assert subscriber.stream.facts == len(set(subscriber.found)) + traffic.again
    missing = {f"p({number})" for number in range(300)} - set(subscriber.found)
    # mosquitto keeps what comes for a client that is away; amqtt says so, and may not.
    assert missing <= {f"p({number})" for number in range(100, 100 if MOSQUITTO else 200)}
    assert traffic.breaks == 1


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    made = make_certificate(tmp_path)
    if made is None:
        pytest.skip("openssl makes the certificate")
    return made


def test_an_encrypted_connection_is_made_to_a_broker_that_can_prove_its_name(
    broker, certificate, monkeypatch
):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    gate = Gate(broker.port, context)
    gate.open()
    place = f"mqtts://localhost:{gate.port}/events"
    with pytest.raises(LarsparkError, match="certificate verify failed"):
        list(LiveStream(place, retry=False).batches())
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
    subscriber = Subscriber(place)
    with publisher(broker) as client:
        for number in range(100):
            client.publish("events", fact(number), qos=1)
        wait_for(lambda: len(subscriber.found) == 100)
    subscriber.stop()
    gate.cut()


def test_without_the_package_the_command_to_install_it_is_told():
    script = (
        "import sys; sys.modules['paho'] = None\n"
        "from larspark.feeds.live import LiveStream\n"
        "LiveStream('mqtt://box/a')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert "error L323: mqtt://box:1883/a needs the package paho-mqtt" in done.stderr
    assert "hint: install it with `pip install 'larspark[mqtt]'`" in done.stderr

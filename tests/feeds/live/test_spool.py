"""MQTT into a file, with a real broker."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.feeds.live.broker import MOSQUITTO, Gate, RunningBroker, free_port

from larspark.base.problems import LarsparkError
from larspark.feeds.live import mqtt_spool as spooling
from larspark.feeds.live.mqtt_spool import spool


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    running = RunningBroker()
    running.start()
    yield running
    running.kill()


def publish(broker: RunningBroker, topic: str, *payloads: str) -> None:
    client = Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    for payload in payloads:
        client.publish(topic, payload, qos=1).wait_for_publish(120)
    client.disconnect()
    client.loop_stop()


def wait_for(what: Callable[[], bool]) -> None:
    patience = time.monotonic() + 300
    while not what():
        assert time.monotonic() < patience
        time.sleep(0.02)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_whoever_spools_again_goes_on_in_the_same_file(
    broker: RunningBroker, tmp_path: Path
) -> None:
    path, place = tmp_path / "spool.jsonl", f"mqtt://127.0.0.1:{broker.port}/kept"
    with spool(place, path):
        publish(broker, "kept", "1", "2\n3\n")
        wait_for(lambda: lines(path) == ["1", "2", "3"])
    publish(broker, "kept", "4")
    with spool(place, path):
        publish(broker, "kept", "5")
        wait_for(lambda: lines(path)[-1] == "5")
    # mosquitto keeps what comes while nobody listens; amqtt says so, and does not.
    assert lines(path) == ["1", "2", "3", *(["4"] if MOSQUITTO else []), "5"]


def test_a_broken_connection_is_made_again(broker: RunningBroker, tmp_path: Path) -> None:
    path, gate = tmp_path / "spool.jsonl", Gate(broker.port)
    gate.open()
    with spool(f"mqtt://127.0.0.1:{gate.port}/broken", path):
        publish(broker, "broken", "1")
        wait_for(lambda: lines(path) == ["1"])
        gate.cut()
        gate.open()
        numbers = itertools.count(2)

        def arrives() -> bool:
            publish(broker, "broken", str(next(numbers)))
            return len(lines(path)) > 1

        wait_for(arrives)
    gate.cut()


def test_a_line_that_a_crash_cut_short_is_taken_out(broker: RunningBroker, tmp_path: Path) -> None:
    path = tmp_path / "spool.jsonl"
    path.write_text('{"t": 1}\n{"t": ')
    with spool(f"mqtt://127.0.0.1:{broker.port}/cut", path):
        publish(broker, "cut", '{"t": 2}')
        wait_for(lambda: len(lines(path)) == 2)
    assert lines(path) == ['{"t": 1}', '{"t": 2}']


def test_what_is_no_topic_and_a_broker_that_is_not_there_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LarsparkError, match="L320"), spool("events.jsonl", tmp_path / "spool"):
        pass
    monkeypatch.setattr(spooling, "_PATIENCE_SECONDS", 0.5)
    place = f"mqtt://127.0.0.1:{free_port()}/nobody"
    with pytest.raises(LarsparkError, match="cannot connect"), spool(place, tmp_path / "spool"):
        pass


def test_a_file_that_cannot_be_written_is_told(broker: RunningBroker, tmp_path: Path) -> None:
    place = f"mqtt://127.0.0.1:{broker.port}/folder"
    with pytest.raises(LarsparkError, match="L324"), spool(place, tmp_path):
        pass

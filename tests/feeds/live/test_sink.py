"""Answers that go to live places: slow ones, absent ones, and those who come and go."""

import socket
import threading
import time

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.feeds.live.broker import RunningBroker, free_port

from larspark.base.problems import LarsparkError
from larspark.feeds.live import open_sink


def read_all(link: socket.socket) -> bytes:
    with link, link.makefile("rb") as file:
        return file.read()


def test_lines_wait_for_a_server_that_is_not_there_yet():
    port, said, got = free_port(), [], []

    def serve() -> None:
        time.sleep(0.5)
        with socket.create_server(("127.0.0.1", port)) as server:
            got.append(read_all(server.accept()[0]))

    server = threading.Thread(target=serve)
    server.start()
    with open_sink(f"tcp://127.0.0.1:{port}", said.append) as sink:
        for number in range(1000):
            sink.write(f"{number}\n")
            sink.flush()
    server.join(300)
    assert got[0].decode().split() == [str(number) for number in range(1000)]
    assert said[0].startswith("cannot connect to")


def test_a_server_that_goes_and_comes_back_gets_the_rest():
    port, said, got = free_port(), [], []
    half = threading.Event()

    def serve() -> None:
        with socket.create_server(("127.0.0.1", port)) as server:
            with server.accept()[0] as link:
                got.append(link.recv(100))
            half.set()
            got.append(read_all(server.accept()[0]))

    server = threading.Thread(target=serve)
    server.start()
    with open_sink(f"tcp://127.0.0.1:{port}", said.append) as sink:
        sink.write("one\n")
        sink.flush()
        half.wait(300)
        # Once the connection is seen to be gone, nothing is sent into it.
        while not any(text.startswith("lost the connection") for text in said):
            time.sleep(0.02)
        sink.write("two\n")
    server.join(300)
    assert got == [b"one\n", b"two\n"]


def test_everybody_who_listens_gets_the_lines_from_then_on():
    said: list[str] = []
    with open_sink("tcp://:0", said.append) as sink:
        while not said:
            time.sleep(0.02)
        port = int(said[0].rpartition(":")[2])
        links = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        links.pop().close()
        time.sleep(0.5)
        for number in range(100):
            sink.write(f"{number}\n")
            sink.flush()
    for link in links:
        assert read_all(link).decode().split() == [str(number) for number in range(100)]


def test_every_line_is_a_message_and_comes_through_a_broker_that_is_killed():
    broker = RunningBroker()
    broker.start()
    got: list[str] = []
    client = Client(CallbackAPIVersion.VERSION2)
    client.reconnect_delay_set(1, 1)
    client.on_connect = lambda client, *_: client.subscribe("answers", 1)
    client.on_message = lambda _, __, message: got.append(message.payload.decode())
    subscribed = threading.Event()
    client.on_subscribe = lambda *_: subscribed.set()
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    assert subscribed.wait(300)
    said: list[str] = []
    with open_sink(f"mqtt://127.0.0.1:{broker.port}/answers", said.append) as sink:
        for number in range(100):
            sink.write(f"{number}\n")
        sink.flush()
        while "99" not in got:
            time.sleep(0.02)
        broker.kill()
        while not any(text.startswith("lost the connection") for text in said):
            time.sleep(0.02)
        sink.write("100\n")
        sink.flush()
        broker.start()
    client.disconnect()
    client.loop_stop()
    broker.kill()
    assert sorted(set(map(int, got)))[:100] == list(range(100))
    # The broker has the last line, else closing were a problem; who reads it is its own matter.


def test_lines_that_do_not_get_through_are_a_problem(monkeypatch):
    monkeypatch.setattr("larspark.feeds.live.sink.LAST_LINES_SECONDS", 0.5)
    with (
        pytest.raises(LarsparkError, match="2 of 2 lines of output were not delivered"),
        open_sink(f"tcp://127.0.0.1:{free_port()}", lambda text: None) as sink,
    ):
        sink.write("one\n")
        sink.write("two\n")


def test_a_topic_to_write_to_is_one_topic():
    with (
        pytest.raises(LarsparkError, match="a topic to write to has no wildcards"),
        open_sink("mqtt://box/a/#", print),
    ):
        pass

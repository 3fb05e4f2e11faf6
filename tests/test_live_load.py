"""A live run under load keeps up, loses nothing, and has the answers of its replay.

Seconds of 20,000 facts each: a few by default, a minute with `LARSPARK_LIVE_SECONDS=60`.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.feeds.live.broker import RunningBroker

LARSPARK = Path(sys.executable).with_name("larspark")
SECONDS = int(os.environ.get("LARSPARK_LIVE_SECONDS", "2"))
RATE = 20_000
# Facts are sent in so many pieces a second.
PIECES = 20

PROGRAM = """
hot(M)    :- [3] some temp(M, V), V > 4990.
jumped(M) :- [#2 by M] @T temp(M, V), [#2 by M] @U temp(M, W), T <= U, W > V + 3000.
alarm(M)  :- hot(M), jumped(M).
calm(M)   :- machine(M), not [5] some hot(M).
machine(m1). machine(m2). machine(m3).
"""


def facts(first: int, count: int) -> bytes:
    numbers = range(first, first + count)
    values = ((n % 1000, n * 2654435761 % 2**32 % 5000) for n in numbers)
    return "".join(f'{{"atom": "temp(m{m},{v})"}}\n' for m, v in values).encode()


@contextmanager
def over_tcp(told: Callable[[], str]) -> Iterator[Callable[[bytes], None]]:
    port = int(told().rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as link:
        yield link.sendall


@contextmanager
def over_mqtt(broker: RunningBroker) -> Iterator[Callable[[bytes], None]]:
    client = Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    sent = []
    yield lambda lines: sent.append(client.publish("events", lines, qos=1))
    for message in sent:
        message.wait_for_publish(300)
    client.disconnect()
    client.loop_stop()


def send(give: Callable[[bytes], None]) -> float:
    """Send at the rate; how long a piece was held up at most."""
    began, held_up = time.monotonic(), 0.0
    for piece in range(SECONDS * PIECES):
        give(facts(piece * (RATE // PIECES), RATE // PIECES))
        left = began + (piece + 1) / PIECES - time.monotonic()
        held_up = max(held_up, -left)
        time.sleep(max(0.0, left))
    return held_up


@pytest.mark.parametrize("way", ["tcp", "mqtt"])
def test_a_live_run_under_load_loses_nothing_and_equals_its_replay(way: str, tmp_path: Path):
    (tmp_path / "m.lars").write_text(PROGRAM)
    broker = RunningBroker()
    if way == "mqtt":
        broker.start()
    place = f"mqtt://127.0.0.1:{broker.port}/events" if way == "mqtt" else "tcp://:0"
    err = tmp_path / "err"
    words = ["--clock", "1s", "--from", "0", "--as", "changes", "--record", "facts.jsonl"]
    with (tmp_path / "out").open("wb") as out, err.open("wb") as errors:
        run = subprocess.Popen(
            [LARSPARK, "run", "m.lars", "-s", place, *words],
            cwd=tmp_path,
            stdout=out,
            stderr=errors,
        )

    def told() -> str:
        """The line that names the place; warnings about the program may come before it."""
        while True:
            lines = err.read_text().splitlines(keepends=True)
            for line in lines:
                if line.startswith(("listening", "subscribed")) and line.endswith("\n"):
                    return line.rstrip()
            time.sleep(0.02)

    told()
    with over_mqtt(broker) if way == "mqtt" else over_tcp(told) as give:
        held_up = send(give)
    sent = time.monotonic()
    recorded = tmp_path / "facts.jsonl"
    while recorded.read_bytes().count(b"atom") < SECONDS * RATE and time.monotonic() < sent + 300:
        time.sleep(0.05)
    behind = time.monotonic() - sent
    run.send_signal(signal.SIGINT)
    assert run.wait(300) == 0
    broker.kill()
    assert f"{SECONDS * RATE:,} facts\n" in err.read_text()
    replayed = subprocess.run(
        [LARSPARK, "run", "m.lars", "-s", "facts.jsonl", "--as", "changes"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert replayed.stdout == (tmp_path / "out").read_text()
    assert "hot" in replayed.stdout
    # The very facts that were sent, in their order.
    kept = re.sub(r'"t": \d+, ', "", recorded.read_text())
    assert "".join(re.findall(r'\{"atom".*\n', kept)).encode() == facts(0, SECONDS * RATE)
    if SECONDS > 10:
        print(f"{way}: a piece held up {held_up:.3f} s at most, {behind:.3f} s behind at the end")  # noqa: T201

"""What simulated runs have found, each by itself."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from tests.simulation.disk import SimulatedDisk
from tests.simulation.world import World

from larspark.analysis.check import check
from larspark.base.atoms import fact
from larspark.base.facts import Row, RowBatch
from larspark.feeds.live.inbox import Inbox, Traffic
from larspark.feeds.live.mqtt import DurableSubscriber, MqttPlace
from larspark.feeds.live.sink import Recording
from larspark.feeds.output_file import OutputFile
from larspark.language import parse_program
from larspark.run.commits import Commit, Commits
from larspark.run.session import Session

# A stream that has given nothing.
AT_REST: dict[str, Any] = {"newest": 0, "held back": [], "counts": [0, 0, 0]}
AT_REST |= {"times": [None, None], "timestamps": False}
PLACE = MqttPlace("mqtt://box:1883/facts", "box", 1883, "facts")


@pytest.mark.parametrize("seed", range(6))
def test_new_files_and_directories_are_there_after_a_loss_of_power(
    seed: int, tmp_path: Path
) -> None:
    disk = SimulatedDisk(World(Random(seed)))
    out = OutputFile(tmp_path / "out", disk=disk)
    out.write("line\n")
    out.sync()
    out.close()
    parsed = parse_program("q :- p.")
    assert parsed.program is not None
    saved = Session(check(parsed.program, ())).save()
    commits = Commits(tmp_path / "a" / "b", disk)
    with commits.locked():
        commits.write(Commit(1, {}, AT_REST, [None, None], {}, False, saved), "program")
    disk.lose_power()
    assert (tmp_path / "out").read_text() == "line\n"
    newest = commits.newest()
    assert newest is not None
    assert newest.number == 1


def test_commits_that_were_cut_off_by_a_kill_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".0a1b.writing").write_text("half a comm")
    with Commits(tmp_path).locked():
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_recording_begins_with_the_first_time_point_of_the_run(tmp_path: Path) -> None:
    recording = Recording(OutputFile(tmp_path / "r"), start=5)
    recording.add(RowBatch([Row(7, fact("p"), 0)], 8))
    lines = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    assert lines == [{"t": 5}, {"t": 7, "atom": "p"}, {"t": 8}]


class Client:
    """Does what a script says, one step for each call of `loop`."""

    def __init__(self, script: list[Callable[["Client"], Any]]) -> None:
        self._script = script
        self.subscribed = 0
        self.acknowledged: list[int] = []

    def connect(self, *_: object) -> None:
        pass

    disconnect = manual_ack_set = connect

    def subscribe(self, *_: object) -> None:
        self.subscribed += 1

    def ack(self, number: int, _: int) -> None:
        self.acknowledged.append(number)

    def loop(self, _: float) -> Any:
        return self._script.pop(0)(self) or 0


def connected(present: bool) -> Callable[[Client], Any]:
    flags, good = SimpleNamespace(session_present=present), SimpleNamespace(is_failure=False)
    return lambda client: client.on_connect(client, None, flags, good, None)


def message(number: int, dup: bool) -> Callable[[Client], Any]:
    found = SimpleNamespace(mid=number, payload=b"{}", qos=1, dup=dup, topic="facts")
    return lambda client: client.on_message(client, None, found)


def broken(_: Client) -> Any:
    return SimpleNamespace(name="MQTT_ERR_CONN_LOST")


def run(
    monkeypatch: pytest.MonkeyPatch, position: Any, *script: Callable[[Client], Any]
) -> tuple[Client, DurableSubscriber, int]:
    """What a subscriber does with a script: its client, and how many messages it took."""
    inbox = Inbox(lambda: 0)
    client = Client([*script, lambda _: inbox.stop()])
    monkeypatch.setattr("larspark.feeds.live.mqtt.make_client", lambda *_, **__: client)
    subscriber = DurableSubscriber(PLACE, retry=True, owner="me")
    if position is not None:
        subscriber.resume(position)
    subscriber.read(inbox, Traffic())
    inbox.end()
    taken = [block.after for _, block in inbox.take(0).blocks if block.after is not None]
    return client, subscriber, len(taken)


def test_a_session_without_a_confirmed_subscription_is_subscribed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The connection broke, or the run was killed, between the two."""
    script = (connected(False), broken, connected(True))
    assert run(monkeypatch, None, *script)[0].subscribed == 2
    assert run(monkeypatch, [], connected(True))[0].subscribed == 1
    assert run(monkeypatch, [[3, "x"]], connected(True))[0].subscribed == 0


def test_a_committed_message_is_not_read_again_however_often_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its acknowledgement is lost twice, before and after the run was killed."""
    digest = hashlib.sha256(b"{}").hexdigest()[:16]
    script = (connected(True), message(3, True), broken, connected(True), message(3, True))
    client, subscriber, taken = run(monkeypatch, [[3, digest]], *script, message(4, False))
    assert taken == 1
    assert client.acknowledged == [3, 3]
    assert subscriber.position(1) == [[3, digest], [4, digest]]

"""Live runs from the command line: they answer while facts come, and end in order."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.feeds.live.broker import RunningBroker

import larspark as lp

LARSPARK = Path(sys.executable).with_name("larspark")

PROGRAM = """hot(M) :- [3] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5] some serviced(M).
"""
FACT = b'{"atom": "temp(a,95)"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.lars").write_text(PROGRAM)
    return tmp_path


class Run:
    """A live run in a process of its own, whose lines can be waited for."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._folder = folder
        if "--as" not in words:
            words = (*words, "--as", "points")
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                [LARSPARK, "run", "m.lars", *words],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
            )

    @property
    def answers(self) -> list[dict[str, object]]:
        text = (self._folder / "out").read_text()
        return [json.loads(line) for line in text.splitlines()]

    @property
    def told(self) -> str:
        return (self._folder / "err").read_text()

    def wait_for(self, pattern: str, name: str) -> re.Match[str]:
        for _ in range(1500):
            file = self._folder / name
            if file.exists() and (found := re.search(pattern, file.read_text())):
                return found
            time.sleep(0.02)
        self.process.kill()
        raise AssertionError(f"waited in vain for {pattern}: {self.answers[-5:]} {self.told}")

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def connect(self) -> socket.socket:
        port = self.wait_for(r"listening on .*:(\d+)", "err")[1]
        return socket.create_connection(("127.0.0.1", int(port)))

    def end(self, number: int | None = signal.SIGINT) -> int:
        if number is not None:
            self.process.send_signal(number)
        return self.process.wait(300)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_time_point_and_says_what_was_done(folder, number):
    run = Run(folder, "--stream", "-")
    run.write('{"t": 1, "atom": "temp(a,95)"}\n{"t": 2, "atom": "temp(b,95)"}\n')
    # The first time point is answered while the second one is still going on.
    run.wait_for('"t": 1', "out")
    assert len(run.answers) == 1
    assert run.end(number) == 0
    assert run.answers == [
        {"t": 1, "atoms": ["alarm(a)", "hot(a)"]},
        {"t": 2, "atoms": ["alarm(a)", "alarm(b)", "hot(a)", "hot(b)"]},
    ]
    assert run.told == "stopped: answered 2 time points, 1 to 2, 2 facts\n"


@pytest.mark.parametrize("clock", [(), ("--clock", "1h", "--from", "2")])
def test_a_run_that_is_stopped_goes_no_further_although_it_was_asked_to(folder, clock):
    run = Run(folder, "--stream", "-", "--to", "1000000000000", *clock, "--record", "facts")
    run.write('{"t": 2, "atom": "temp(a,95)"}\n')
    run.wait_for("temp", "facts")
    assert run.end() == 0
    assert run.answers == [{"t": 2, "atoms": ["alarm(a)", "hot(a)"]}]


def test_the_clock_moves_windows_on_when_nothing_comes(folder):
    run = Run(folder, "--stream", "-", "--clock", "100ms", "--as", "changes")
    run.write('{"predicate": "temp", "args": ["a", 95]}\n')
    run.wait_for(r'"del": \["', "out")
    assert run.end() == 0
    begun, ended = run.answers
    assert (begun["add"], ended["del"]) == (["alarm(a)", "hot(a)"], ["alarm(a)", "hot(a)"])
    # A window of three time points holds for four of them.
    begin, end = (datetime.fromisoformat(answer["t"]) for answer in (begun, ended))
    assert end - begin == timedelta(milliseconds=400)
    # Time points count from 1970, as timestamps do.
    assert abs(begin.timestamp() - time.time()) < 300


def test_a_program_with_facts_of_its_own_begins_with_the_clock(folder):
    (folder / "m.lars").write_text("@3 temp(z,99). " + PROGRAM)
    run = Run(folder, "--stream", "-", "--clock", "100ms", "--every", "change")
    run.write(FACT.decode())
    run.wait_for("hot", "out")
    assert run.end() == 0
    assert run.answers[0]["atoms"] == ["alarm(a)", "hot(a)"]


def test_a_recorded_live_run_has_the_answers_of_its_replay(folder):
    words = ("--clock", "50ms", "--from", "0", "--to", "40", "--lateness", "2")
    more = ("--on-error", "skip", "--record", "facts.jsonl")
    run = Run(folder, "--stream", "tcp://:0", *words, *more)
    with run.connect() as link:
        while run.process.poll() is None:
            number = len(run.answers)
            facts = [f'{{"atom": "temp(m{number % 7},{80 + number})"}}\n']
            facts.append(f'{{"t": {number + 2}, "atom": "serviced(m{number % 5})"}}\n')
            try:
                link.sendall("".join(facts).encode())
            except OSError:
                break
            time.sleep(0.02)
    assert run.end(None) == 0
    assert [answer["t"] for answer in run.answers] == list(range(41))
    assert any(answer["atoms"] for answer in run.answers)
    for engine in ("interval", "oracle"):
        replayed = subprocess.run(
            [
                LARSPARK,
                "run",
                "m.lars",
                "-s",
                "facts.jsonl",
                "--to",
                "40",
                "--as",
                "points",
                "-e",
                engine,
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert replayed.stdout == (folder / "out").read_text()
        # A fact may come twice within a time point of 50 ms.
        notes = [line for line in replayed.stderr.splitlines() if "count once" not in line]
        assert notes == []


def test_a_bad_line_ends_a_run_after_what_was_accepted_is_answered(folder):
    run = Run(folder, "--stream", "tcp://:0", "--clock", "1h", "--from", "7", "--on-error", "fail")
    with run.connect() as link:
        link.sendall(b'{"atom": "temp(a,95)"}\n{"atom": "temp(X,95)"}\n{"atom": "temp(b,95)"}\n')
        assert run.end(None) == 1
    assert run.answers == [{"t": 7, "atoms": ["alarm(a)", "hot(a)"]}]
    assert "answered 1 time point, 7 to 7, 1 fact\n" in run.told
    assert ":2:16: error L312: `X` is a variable, and facts have no variables" in run.told


def test_what_is_wrong_can_be_skipped_and_is_counted(folder):
    words = ("--clock", "1h", "--from", "7", "--on-error", "skip", "--record", "facts")
    run = Run(folder, "--stream", "tcp://:0", *words)
    lines = [
        '{"atom": "temp(a,95)"}',
        '{"t": 3, "atoms": ["temp(b,95)", "temp(c,95)"]}',
        '{"t": 9, "atom": "temp(d,95)"}',
        "import os",
        '{"atom": "hot(m)"}',
        '{"t": 8, "atom": "temp(e,95)"}',
        '{"atom": "temp(f,',
    ]
    with run.connect() as link:
        link.sendall("\n".join(lines).encode())
    run.wait_for("temp", "facts")
    assert run.end() == 0
    assert run.answers == [
        {"t": 7, "atoms": ["alarm(a)", "hot(a)"]},
        {"t": 8, "atoms": ["alarm(a)", "alarm(e)", "hot(a)", "hot(e)"]},
    ]
    summary = "stopped: answered 2 time points, 7 to 8, 2 facts, 2 late, 3 skipped, 1 line cut off"
    assert summary in run.told
    for code in ("L314", "L322", "L308", "L401"):
        assert f"error {code}" in run.told


def test_options_that_do_not_go_together_are_told(folder):
    (folder / "m.lars").write_text("#tick 1 min. hot(M) :- [3 min] some temp(M, V), V > 90.")
    run = Run(folder, "--stream", "-", "--clock", "1s")
    assert run.end(None) == 2
    assert "the program has `#tick 1 min`, but --clock 1s is another length" in re.sub(
        r"[│\s]+", " ", run.told
    )
    (folder / "e.jsonl").write_text("")
    run = Run(folder, "--stream", "e.jsonl", "--clock", "1 min")
    assert run.end(None) == 2
    assert "--follow" in run.told


def test_through_a_broker_that_is_killed_the_counts_add_up_and_answers_equal_their_replay(folder):
    broker = RunningBroker()
    broker.start()
    place = f"mqtt://127.0.0.1:{broker.port}"
    words = ("--clock", "100ms", "--as", "changes", "--record", "facts.jsonl", "-o", "o.jsonl")
    words = (*words, "--times", "points")
    run = Run(folder, "--stream", f"{place}/events", *words)
    run.wait_for("subscribed", "err")
    client = Client(CallbackAPIVersion.VERSION2)
    client.reconnect_delay_set(1, 1)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()

    def publish(first: int) -> None:
        while not client.is_connected():
            time.sleep(0.02)
        for number in range(first, first + 100):
            line = f'{{"atom": "temp(m{number},95)"}}'
            client.publish("events", line, qos=1).wait_for_publish(300)

    publish(0)
    run.wait_for(r"temp\(m99,", "facts.jsonl")
    broker.kill()
    run.wait_for("lost the connection", "err")
    broker.start()
    run.wait_for(r"subscribed[^$]*subscribed", "err")
    publish(100)
    run.wait_for(r"temp\(m199,", "facts.jsonl")
    assert run.end() == 0
    client.disconnect()
    client.loop_stop()
    broker.kill()
    recorded = (folder / "facts.jsonl").read_text()
    numbers = [int(number) for number in re.findall(r"temp\(m(\d+),", recorded)]
    assert set(numbers) == set(range(200))
    summary = re.search(r"stopped: .*, (\d+) facts, 1 break of .*broker(.*)\n", run.told)
    assert summary is not None, run.told
    assert int(summary[1]) == len(numbers)
    assert "1 of them not bridged by the broker" in run.told
    replayed = subprocess.run(
        [LARSPARK, "run", "m.lars", "-s", "facts.jsonl", "--as", "changes"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert replayed.stdout == (folder / "o.jsonl").read_text()


def test_answers_go_out_over_tcp_at_every_tenth_time_point(folder):
    out = ("--output", "tcp://:0", "--every", "10 time")
    run = Run(folder, "--stream", "-", "--clock", "20ms", "--from", "0", *out)
    port = run.wait_for(r"answers are at .*:(\d+)", "err")[1]
    with socket.create_connection(("127.0.0.1", int(port))) as link, link.makefile() as lines:
        times = [json.loads(lines.readline())["t"] for _ in range(3)]
        assert run.end() == 0
        times += [json.loads(line)["t"] for line in lines]
    assert [t % 10 for t in times] == [0] * len(times)
    assert times == list(range(times[0], times[-1] + 1, 10))


def test_a_file_that_cannot_be_written_is_told(folder):
    run = Run(folder, "--stream", "-", "--output", "nowhere/o.jsonl")
    assert run.end(None) == 1
    assert run.told == "error L324: cannot write nowhere/o.jsonl: No such file or directory\n"


def test_a_reasoner_follows_a_live_stream_and_explains_its_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        stream = lp.LiveStream(place, clock=50_000, start=0)
        reasoner = lp.Reasoner(PROGRAM, start=0)
        answers = reasoner.follow(stream)
        begun = threading.Thread(target=lambda: server.accept()[0].sendall(FACT))
        begun.start()
        for answer in answers:
            if answer.added:
                assert sorted(map(str, answer.added)) == ["alarm(a)", "hot(a)"]
                assert reasoner.explain("hot(a)", at=answer.t).holds
            if answer.removed:
                stream.stop()
        begun.join()
    assert stream.facts == 1

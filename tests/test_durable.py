"""Runs with a state: killed at any moment, the same command goes on, and its output is the same."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.feeds.live.broker import MOSQUITTO, RunningBroker
from tests.in_process import larspark

LARSPARK = Path(sys.executable).with_name("larspark")
# `LARSPARK_KILLS=100` kills as often for every kind of source.
KILLS = int(os.environ.get("LARSPARK_KILLS", "4"))
POINTS = ("--as", "points")
PROGRAM = """hot(M) :- [3] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5] some serviced(M).
last(M, V) :- [#2 by M] @T temp(M, V), [40] some temp(M, V).
busy(M) :- [2] always temp(M, _).
"""
FORMS = {
    "points": ("--as", "points"),
    "changes": ("--as", "changes"),
    "intervals": ("--as", "intervals", "--lateness", "2"),
    "signals": ("--every", "7 signals", "--as", "changes", "--engine", "asp"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.lars").write_text(PROGRAM)
    return tmp_path


def facts(rng: Random, last: int, per_time: int) -> list[str]:
    """Lines of facts up to a time point, some of them late by one or two."""
    lines = []
    for t in range(1, last + 1):
        for _ in range(rng.randrange(2 * per_time)):
            atom = f"temp(m{rng.randrange(9)},{rng.randrange(80, 100)})"
            if rng.random() < 0.2:
                atom = f"serviced(m{rng.randrange(9)})"
            lines.append(f'{{"t": {t}, "atom": "{atom}"}}\n')
    return lines


def late(lines: list[str], rng: Random) -> list[str]:
    """The lines in another order, late by two time points at most."""
    times = [json.loads(line)["t"] + rng.choice((0, 0, 0, 1, 2)) for line in lines]
    return [line for _, line in sorted(zip(times, lines, strict=True), key=lambda pair: pair[0])]


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    with (folder / "err").open("ab") as err:
        command = [LARSPARK, "run", "m.lars", "--state", "S", "--commit-every", "1ms", *words]
        return subprocess.Popen(command, cwd=folder, stderr=err)


def newest_commit(folder: Path) -> str:
    return max((path.name for path in folder.glob("S/commit-*")), default="")


def kill_when_committed(folder: Path, run: subprocess.Popen[bytes], rng: Random) -> bool:
    """Kill a run some time after it has committed something; False if it ended before that."""
    before = newest_commit(folder)
    while newest_commit(folder) == before:
        if run.poll() is not None:
            assert run.returncode == 0, (folder / "err").read_text()
            return False
        time.sleep(0.002)
    time.sleep(rng.random() * 0.05)
    run.kill()
    run.wait()
    return True


@pytest.mark.parametrize("form", FORMS)
def test_a_run_over_a_file_that_is_killed_again_and_again_writes_what_it_would_have(folder, form):
    rng = Random(form)
    lines = facts(rng, 1500 if form == "signals" else 6000, 5)
    if form == "intervals":
        lines = late(lines, rng)
    (folder / "s.jsonl").write_text("".join(lines))
    words = ("--stream", "s.jsonl", *FORMS[form])
    undisturbed = larspark(folder, "run", "m.lars", *words, "-o", "expected")
    assert undisturbed.returncode == 0
    killed = 0
    while True:
        run = start(folder, *words, "-o", "out", "--record", "facts.jsonl")
        if killed >= KILLS or not kill_when_committed(folder, run, rng):
            assert run.wait(300) == 0, (folder / "err").read_text()
            break
        killed += 1
    assert killed
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()
    replayed = larspark(folder, "run", "m.lars", "-s", "facts.jsonl", *FORMS[form], "-o", "again")
    assert replayed.returncode == 0
    assert (folder / "again").read_bytes() == (folder / "expected").read_bytes()
    done = larspark(
        folder, "run", "m.lars", "--state", "S", *words, "-o", "out", "--record", "facts.jsonl"
    )
    assert done.stderr == "this run is finished; another one needs another directory\n"


def test_a_run_over_a_growing_file_that_is_rotated_while_it_is_dead_loses_nothing(folder):
    rng = Random(7)
    lines = facts(rng, 400, 5)
    (folder / "all.jsonl").write_text("".join(lines))
    assert (
        larspark(folder, "run", "m.lars", "-s", "all.jsonl", *POINTS, "-o", "expected").returncode
        == 0
    )
    log = folder / "s.jsonl"
    words = (
        *POINTS,
        "--stream",
        "s.jsonl",
        "--follow",
        "-o",
        "out",
        "--to",
        str(json.loads(lines[-1])["t"]),
    )
    parts = KILLS + 2
    for number in range(parts):
        part = lines[len(lines) * number // parts : len(lines) * (number + 1) // parts]
        with log.open("a") as file:
            file.write("".join(part))
        if number in (2, 3):
            # The last part is not read yet, and another one comes into a new file.
            for old in (2, 1):
                if (rotated := folder / f"s.jsonl.{old}").exists():
                    rotated.rename(folder / f"s.jsonl.{old + 1}")
            log.rename(folder / "s.jsonl.1")
            continue
        run = start(folder, *words)
        if number < parts - 1:
            assert kill_when_committed(folder, run, rng)
    # A time point ends with a fact of a later one.
    with log.open("a") as file:
        file.write('{"t": 1000000}\n')
    assert run.wait(300) == 0, (folder / "err").read_text()
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()
    assert "may be lost" not in (folder / "err").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_goes_on_in_the_middle_of_a_time_point(folder, number):
    log = folder / "s.jsonl"
    log.write_text('{"t": 1, "atom": "temp(a,95)"}\n{"t": 2, "atom": "temp(b,95)"}\n')
    words = (*POINTS, "--stream", "s.jsonl", "--follow", "--to", "3", "-o", "out")
    run = start(folder, *words)
    while not (folder / "out").exists() or not (folder / "out").read_text():
        time.sleep(0.01)
    run.send_signal(number)
    assert run.wait(60) == 0
    # Time point 2 is not over: other facts of it may come.
    assert (folder / "out").read_text().count("\n") == 1
    with log.open("a") as file:
        file.write('{"t": 2, "atom": "serviced(b)"}\n{"t": 4}\n')
    assert start(folder, *words).wait(60) == 0
    answers = [json.loads(line) for line in (folder / "out").read_text().splitlines()]
    assert [answer["t"] for answer in answers] == [1, 2, 3]
    assert "alarm(b)" not in answers[1]["atoms"]
    assert "hot(b)" in answers[1]["atoms"]


def told(folder: Path, *words: str) -> str:
    done = larspark(folder, "run", "m.lars", "-s", "s.jsonl", *words)
    assert done.returncode == 1, done
    return done.stderr


def test_nothing_that_exists_is_overwritten_or_read_and_written_at_once(folder):
    (folder / "s.jsonl").write_text('{"t": 1, "atom": "temp(a,95)"}\n')
    (folder / "b.jsonl").write_text("")
    (folder / "o").write_text("precious\n")
    (folder / "link").symlink_to("s.jsonl")
    exists = "error L328: o exists already"
    assert exists in told(folder, "-o", "o")
    assert exists in told(folder, "--follow", "--record", "o")
    assert (folder / "o").read_text() == "precious\n"
    for place in ("s.jsonl", "./s.jsonl", "link", "m.lars", "b.jsonl"):
        for more in ((), ("--overwrite",), ("--append",)):
            said = told(folder, "-b", "b.jsonl", "-o", place, *more)
            assert f"error L328: {Path(place)} cannot be written: it is read by this run\n" in said
    both = ("-o", "n", "--record", "n", "--follow")
    assert "it is written to twice" in told(folder, *both)
    assert (
        larspark(
            folder, "run", "m.lars", "-s", "s.jsonl", "-o", "o", "--append", *POINTS
        ).returncode
        == 0
    )
    line = '{"t": 1, "atoms": ["alarm(a)", "busy(a)", "hot(a)", "last(a,95)"]}\n'
    assert (folder / "o").read_text() == "precious\n" + line
    words = ("run", "m.lars", "-s", "s.jsonl", "-o", "o", *POINTS)
    assert larspark(folder, *words, "--overwrite").returncode == 0
    assert (folder / "o").read_text() == line


def test_an_output_that_keeps_nothing_is_written_to_with_a_state(folder):
    (folder / "s.jsonl").write_text('{"t": 1, "atom": "temp(a,95)"}\n')
    os.mkfifo(folder / "pipe")
    words = ("run", "m.lars", "-s", "s.jsonl", *POINTS)
    with subprocess.Popen(["cat", "pipe"], cwd=folder, stdout=subprocess.PIPE) as reader:
        done = larspark(folder, *words, "-o", "pipe", "--state", "S")
        assert done.returncode == 0, done
        assert reader.communicate()[0].decode() == larspark(folder, *words).stdout
    done = larspark(folder, *words, "-o", "/dev/null", "--state", "T")
    assert done.returncode == 0, done


def test_a_directory_belongs_to_one_run(folder):
    (folder / "s.jsonl").write_text('{"t": 1, "atom": "temp(a,95)"}\n')
    words = ("--state", "S", "-o", "o")
    run = start(folder, *POINTS, "--stream", "s.jsonl", "--follow", "-o", "o")
    while not newest_commit(folder):
        time.sleep(0.01)
    follow = ("--follow", *POINTS, *words)
    assert told(folder, *follow).startswith("error L430: another run uses the state in S")
    run.kill()
    run.wait()
    said = told(folder, "--follow", *words, "--as", "changes")
    assert said.startswith("error L430: the run in this directory has the option --as points")
    (folder / "m.lars").write_text(PROGRAM + "more(M) :- hot(M).\n")
    assert "belongs to another program" in told(folder, *follow)
    (folder / "m.lars").write_text(PROGRAM)
    (folder / "o").write_text("")
    newest = folder / "S" / newest_commit(folder)
    data = newest.read_bytes()
    for damaged in (data[: len(data) // 2], data.replace(b'"lengths":{', b'"lenghts":{')):
        newest.write_bytes(damaged)
        if len(list(folder.glob("S/commit-*"))) == 1:
            assert "no commit in S is undamaged" in told(folder, *follow)


def test_a_damaged_commit_is_passed_over_for_the_one_before_it(folder):
    lines = facts(Random(3), 3000, 4)
    (folder / "s.jsonl").write_text("".join(lines))
    words = ("--stream", "s.jsonl", "-o", "out")
    assert larspark(folder, "run", "m.lars", *words[:2], "-o", "expected").returncode == 0
    assert start(folder, *words).wait(120) == 0
    newest = folder / "S" / newest_commit(folder)
    newest.write_bytes(newest.read_bytes()[:-7])
    assert start(folder, *words).wait(120) == 0
    assert (
        f"{newest.name} is damaged: resuming from the previous commit"
        in (folder / "err").read_text()
    )
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


def test_commits_of_an_earlier_version_are_refused_by_their_format(folder):
    (folder / "s.jsonl").write_text("".join(facts(Random(3), 20, 2)))
    words = ("--state", "S", "-o", "out")
    assert larspark(folder, "run", "m.lars", "-s", "s.jsonl", *words).returncode == 0
    commits = list(folder.glob("S/commit-*"))
    for commit in commits:
        of_this_version = commit.read_bytes()
        assert of_this_version.startswith(b"larspark state 3\n")
        commit.write_bytes(of_this_version.replace(b"state 3", b"state 2", 1))
    before = {path: path.read_bytes() for path in (*commits, folder / "out")}
    said = told(folder, *words)
    assert said.startswith(
        "error L407: the saved state has the format `larspark state 2`; "
        "this version reads `larspark state 3`"
    )
    assert {path: path.read_bytes() for path in before} == before


# amqtt forgets the session of a client whose connection breaks.
PERSISTENT = MOSQUITTO or shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")


@pytest.mark.skipif(PERSISTENT is None, reason="needs mosquitto, a broker that keeps sessions")
def test_a_run_over_mqtt_that_is_killed_again_and_again_writes_what_it_would_have(folder):
    rng = Random(11)
    lines = facts(rng, 300, 5)
    (folder / "all.jsonl").write_text("".join(lines))
    last = json.loads(lines[-1])["t"]
    assert (
        larspark(folder, "run", "m.lars", "-s", "all.jsonl", *POINTS, "-o", "expected").returncode
        == 0
    )
    # mosquitto 2.0.11 gets stuck now and then when its window is full while a client comes back.
    settings = folder / "mosquitto.conf"
    settings.write_text("allow_anonymous true\nmax_inflight_messages 0\nmax_queued_messages 0\n")
    broker = RunningBroker(PERSISTENT, "-c", str(settings))
    broker.start()
    place = f"mqtt://127.0.0.1:{broker.port}/facts"
    words = (*POINTS, "--stream", place, "-o", "out", "--to", str(last), "--on-error", "fail")
    client = Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    try:
        parts = KILLS + 1
        for number in range(parts):
            connected = (folder / "err").read_text().count(place) if number else 0
            run = start(folder, *words)
            while (folder / "err").read_text().count(place) == connected:
                assert run.poll() is None, (folder / "err").read_text()
                time.sleep(0.01)
            part = lines[len(lines) * number // parts : len(lines) * (number + 1) // parts]
            underway = [client.publish("facts", line, qos=1) for line in part]
            if number < parts - 1:
                assert kill_when_committed(folder, run, rng)
            for message in underway:
                message.wait_for_publish(30)
        client.publish("facts", '{"t": 1000000}\n', qos=1).wait_for_publish(30)
        assert run.wait(120) == 0, (folder / "err").read_text()
    finally:
        client.disconnect()
        client.loop_stop()
        broker.kill()
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


def test_a_broker_that_has_lost_the_session_of_a_run_is_told(folder):
    broker = RunningBroker(None)
    place = f"mqtt://127.0.0.1:{broker.port}/facts"
    gap = f"the broker of {place} has lost the session of this run; lines may be lost\n"
    try:
        for pattern in ("subscribed to", gap):
            # amqtt keeps sessions in memory, so that a new process has none.
            broker.start()
            run = start(folder, "--stream", place, "-o", "out")
            while pattern not in (folder / "err").read_text() or not newest_commit(folder):
                assert run.poll() is None
                time.sleep(0.01)
            run.kill()
            run.wait()
            broker.kill()
    finally:
        broker.kill()

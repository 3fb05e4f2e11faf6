"""Facts from a real Kafka broker and answers to it."""

import json
import os
import subprocess
import sys
import threading
import time
from itertools import zip_longest
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.in_process import larspark
from tests.test_resumed_runs import block_by_block

from larspark.base.problems import LarsparkError
from larspark.feeds.live import LiveStream
from larspark.feeds.live.places import parse_place
from larspark.run.commits import Commit

pytestmark = pytest.mark.xdist_group("kafka")

LARSPARK = Path(sys.executable).with_name("larspark")
# `LARSPARK_KILLS=100` kills as often, every second time the broker, too.
KILLS = int(os.environ.get("LARSPARK_KILLS", "3"))
BROKER_TOO = "LARSPARK_KILLS" in os.environ
PROGRAM = """hot(M) :- [3] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5] some serviced(M).
last(M, V) :- [#2 by M] @T temp(M, V), [40] some temp(M, V).
latest(M) :- [#1] some temp(M, _).
"""
POINTS = ("--as", "points")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "m.lars").write_text(PROGRAM)
    return tmp_path


def line(t, atom):
    return json.dumps({"t": t, "atom": atom})


def parts(rng, partitions, last):
    """Lines of facts for each partition, each in the order of time."""
    found = [[] for _ in range(partitions)]
    for t in range(1, last + 1):
        for _ in range(rng.randrange(8)):
            atom = f"temp(m{rng.randrange(9)},{rng.randrange(80, 100)})"
            if rng.random() < 0.2:
                atom = f"serviced(m{rng.randrange(9)})"
            rng.choice(found).append(line(t, atom))
    return found


def merged(found):
    """The lines of all partitions in the order in which a run reads them."""
    times = [(json.loads(text)["t"], p, text) for p, texts in enumerate(found) for text in texts]
    return "".join(f"{text}\n" for *_, text in sorted(times, key=lambda each: each[:2]))


def replay(folder, found, *words):
    """The answers of a replay of the same facts from a file, as lines."""
    (folder / "all.jsonl").write_text(merged(found))
    command = ("run", "m.lars", "-s", "all.jsonl", "-o", "expected", "--overwrite", *words)
    done = larspark(folder, *command)
    assert done.returncode == 0, done
    return (folder / "expected").read_text().splitlines()


def test_what_is_published_is_there_when_the_broker_comes_back_after_a_crash(kafka):
    kafka.create("kept", 2)
    kafka.publish("kept", ["a", "b"], 1)
    kafka.kill()
    kafka.start()
    kafka.publish("kept", ["c"])
    assert kafka.read("kept", (0, 1)) == ["c", "a", "b"]


@pytest.mark.parametrize("lateness", ["0", "3"])
def test_several_partitions_give_the_answers_of_their_facts_in_order(kafka, folder, lateness):
    rng = Random(lateness)
    found = parts(rng, 3, 200)
    place = kafka.create(f"parts{lateness}", 3)
    expected = replay(folder, found, "--lateness", lateness, *POINTS)
    # The first partition is there as a whole before the others have anything.
    for partition, texts in enumerate(found):
        kafka.publish(f"parts{lateness}", texts, partition)
    for partition in range(3):
        kafka.publish(f"parts{lateness}", ['{"t": 1000}'], partition)
    last = str(json.loads(expected[-1])["t"])
    words = ("--stream", place, "--lateness", lateness, "--to", last, "--on-error", "fail")
    done = larspark(folder, "run", "m.lars", *words, *POINTS)
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == expected


def test_a_partition_that_is_idle_holds_nothing_back_and_its_late_facts_are_told(kafka):
    place = kafka.create("idle", 2)
    kafka.publish("idle", [line(t, f"a({t})") for t in range(1, 9)])
    told = []
    stream = LiveStream(f"{place}?idle=500ms", say=told.append)
    batches = stream.batches()
    facts = []
    while len(facts) < 7:
        facts += next(batches).rows()
    assert [row.t for row in facts] == [*range(1, 8)]
    assert any("[1] is idle" in each for each in told)
    kafka.publish("idle", [line(2, "a(0)"), line(9, "a(9)")], 1)
    kafka.publish("idle", [line(10, "a(10)")], 0)
    while len(facts) < 8:
        facts += next(batches).rows()
    stream.stop()
    facts += [row for batch in batches for row in batch.rows()]
    assert [row.t for row in facts] == [*range(1, 11)]
    assert stream.late == 1
    assert "[1]:0" in stream.problems[0].render()


def test_messages_hold_any_number_of_lines_and_are_numbered_by_their_offsets(kafka):
    place = kafka.create("lines")
    messages = [line(1, "a"), "", f"{line(2, 'b')}\n{line(3, 'c')}\n", "{", "{}"]
    kafka.publish("lines", [*messages, line(4, "d")])
    stream = LiveStream(place)
    batches = stream.batches()
    facts = []
    while len(facts) < 3:
        facts += next(batches).rows()
    stream.stop()
    facts += [row for batch in batches for row in batch.rows()]
    assert [(row.t, str(row.atom)) for row in facts] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert [p.span.line for p in stream.problems if p.span] == [3, 4]


def test_options_choose_partitions_and_the_end_as_the_beginning(kafka):
    place = kafka.create("chosen", 3)
    for partition in range(3):
        kafka.publish("chosen", [line(1, f"a({partition})")], partition)
    for options, first in (("partitions=1-2", "a(1)"), ("partitions=2", "a(2)")):
        stream = LiveStream(f"{place}?{options}&idle=100ms")
        batches = stream.batches()
        kafka.publish("chosen", [line(5, "b")], 2)
        assert str(next(row for batch in batches for row in batch.rows()).atom) == first
        stream.stop()
        assert "a(0)" not in [str(row.atom) for batch in batches for row in batch.rows()]
    stream = LiveStream(f"{place}?from=end&partitions=0")
    stopped = threading.Event()

    def publish():
        t = 7
        while not stopped.wait(0.1):
            kafka.publish("chosen", [line(t, "c")], 0)
            t += 1

    publishing = threading.Thread(target=publish)
    publishing.start()
    batches = stream.batches()
    first = next(row for batch in batches for row in batch.rows())
    stopped.set()
    publishing.join()
    stream.stop()
    found = {str(row.atom) for batch in batches for row in batch.rows()}
    assert (str(first.atom), found | {"c"}) == ("c", {"c"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kafka:///topic", "the host is missing"),
        ("kafka://me@host/topic", "LARSPARK_KAFKA_SASL_USERNAME"),
        ("kafka://host/a b", "cannot be the name of a topic"),
        ("kafka://host/", "cannot be the name of a topic"),
        ("kafka://host/t?x=1", "has no option `x`"),
        ("kafka://host/t?from=5", "it is read from beginning or end"),
        ("kafka://host/t?partitions=1-", "partitions are written as"),
        ("kafka://host/t?partitions=3-1", "is no range of partitions"),
        ("kafka://host/t?idle=soon", "neither a number of time points nor a duration"),
    ],
)
def test_an_address_that_is_not_well_written_is_refused(text, why):
    with pytest.raises(LarsparkError, match="L320") as refused:
        parse_place(text)
    assert why in refused.value.problems[0].message


def test_users_and_encryption_come_from_the_environment(kafka, folder, monkeypatch):
    from tests.feeds.live.kafka_broker import PASSWORD, USER

    kafka.create("secret")
    kafka.publish("secret", [line(1, "temp(m1,95)"), '{"t": 3}'])
    place = f"kafka://localhost:{kafka.tls_port}/secret"
    words = ("run", "m.lars", "--stream", place, "--to", "1", *POINTS)
    for name, value in {
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SASL_MECHANISM": "PLAIN",
        "SASL_USERNAME": USER,
        "SASL_PASSWORD": PASSWORD,
        "SSL_CA_LOCATION": str(kafka.certificate),
    }.items():
        monkeypatch.setenv(f"LARSPARK_KAFKA_{name}", value)
    done = larspark(folder, *words)
    assert done.returncode == 0, done
    assert '"hot(m1)"' in done.stdout
    monkeypatch.setenv("LARSPARK_KAFKA_SASL_PASSWORD", "wrong")
    done = larspark(folder, *words)
    assert done.returncode == 1, done
    assert "error L321" in done.stderr
    assert PASSWORD not in done.stderr
    monkeypatch.setenv("LARSPARK_KAFKA_SASSL_PASSWORD", "wrong")
    assert "LARSPARK_KAFKA_SASSL_PASSWORD sets nothing" in larspark(folder, *words).stderr


def test_answers_without_a_state_are_published_in_order(kafka, folder):
    kafka.create("answers")
    found = parts(Random(5), 1, 100)
    expected = replay(folder, found, *POINTS)
    words = ("run", "m.lars", "-s", "all.jsonl", "-o", kafka.place("answers"), *POINTS)
    done = larspark(folder, *words)
    assert done.returncode == 0, done
    assert kafka.read("answers") == expected


def newest_commit(folder):
    return max((path.name for path in folder.glob("S/commit-*")), default="")


def test_from_kafka_to_kafka_killed_again_and_again_with_the_broker_every_line_is_there_once(
    kafka, folder
):
    rng = Random(KILLS)
    found = parts(rng, 2, 60 * (KILLS + 1))
    expected = replay(folder, found, *POINTS)
    last = str(json.loads(expected[-1])["t"])
    source, out = kafka.create("facts", 2), kafka.create("out")
    words = ("--stream", f"{source}?idle=1h", "-o", out, "--to", last, "--on-error", "fail")
    command = [LARSPARK, "run", "m.lars", *words, "--state", "S", "--commit-every", "20ms"]
    command += POINTS

    def start():
        with (folder / "err").open("ab") as err:
            return subprocess.Popen(command, cwd=folder, stderr=err)

    pieces = KILLS + 1
    for number in range(pieces):
        run = start()
        for partition, texts in enumerate(found):
            first, end = (len(texts) * n // pieces for n in (number, number + 1))
            kafka.publish("facts", texts[first:end], partition)
        if number == pieces - 1:
            break
        before = newest_commit(folder)
        while newest_commit(folder) == before:
            assert run.poll() is None, (folder / "err").read_text()
            time.sleep(0.002)
        time.sleep(rng.random() * 0.3)
        if BROKER_TOO and number % 2:
            kafka.kill()
            if number % 8 == 1:
                # The run waits for the broker, and goes on by itself.
                kafka.start()
                time.sleep(rng.random())
            else:
                # What it does without a broker, and what the broker had not finished.
                time.sleep(rng.random() * 0.5)
        run.kill()
        run.wait()
        if BROKER_TOO and number % 2 and number % 8 != 1:
            kafka.start()
    for partition in range(2):
        kafka.publish("facts", ['{"t": 1000000}'], partition)
    assert run.wait(300) == 0, (folder / "err").read_text()
    for got, wanted in zip_longest(kafka.read("out"), expected):
        assert got == wanted


def test_the_lines_of_a_topic_decide_whatever_the_broker_says_of_its_transactions(kafka, folder):
    out = kafka.create("decided")
    expected = replay(folder, parts(Random(3), 1, 12), *POINTS)
    command = ["run", "m.lars", "-s", "all.jsonl", "-o", out, "--state", "S", *POINTS]
    command += ["--commit-every", "1us"]
    with block_by_block(), patch("larspark.run.commits._KEPT", 999):
        done = larspark(folder, *command)
    assert done.returncode == 0, done
    assert kafka.read("decided") == expected
    commits = sorted(folder.glob("S/commit-*"))
    owner = Commit.from_bytes(commits[0].read_bytes()).options["owner"]
    assert len(commits) > 5
    # The number in the broker is that of the first commit; lines that are out are not repeated,
    # from whichever commit the run goes on.
    marker = [TopicPartition("decided", 0, 1, "1")]
    for number in (len(commits) - 1, 4, 1):
        kept = folder / str(number)
        (kept / "S").mkdir(parents=True)
        for path in (*commits[:number], folder / "m.lars", folder / "all.jsonl"):
            os.link(path, kept / path.relative_to(folder))
        group = Consumer(
            {"bootstrap.servers": kafka.address, "group.id": f"larspark-{owner}-output"}
        )
        group.commit(offsets=marker, asynchronous=False)
        group.close()
        done = larspark(kept, *command)
        assert done.returncode == 0, done
        assert "again" not in done.stderr
        assert kafka.read("decided") == expected


def test_from_kafka_to_a_file_a_run_that_is_killed_goes_on_and_commits_its_offsets(kafka, folder):
    found = parts(Random(23), 2, 120)
    expected = replay(folder, found, *POINTS)
    last = str(json.loads(expected[-1])["t"])
    source = kafka.create("tofile", 2)
    words = ("--stream", f"{source}?idle=1h&group=mine", "-o", "out", "--to", last)
    command = [LARSPARK, "run", "m.lars", *words, "--state", "S", "--commit-every", "1ms", *POINTS]
    for number in range(3):
        for partition, texts in enumerate(found):
            first, end = (len(texts) * n // 3 for n in (number, number + 1))
            kafka.publish("tofile", texts[first:end], partition)
        with (folder / "err").open("ab") as err:
            run = subprocess.Popen(command, cwd=folder, stderr=err)
        if number < 2:
            before = newest_commit(folder)
            while newest_commit(folder) == before:
                assert run.poll() is None, (folder / "err").read_text()
                time.sleep(0.002)
            run.kill()
            run.wait()
    for partition in range(2):
        kafka.publish("tofile", ['{"t": 1000000}'], partition)
    assert run.wait(120) == 0, (folder / "err").read_text()
    assert (folder / "out").read_text().splitlines() == expected
    # The last line of each partition is read ahead of what was answered.
    assert sum(kafka.committed("mine", "tofile", 2)) == sum(map(len, found)) + 2

"""Kafka to Spark to Kafka with a real broker, while the driver and the broker are killed."""

import json
import os
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import larspark as lp
from larspark.base.problems import LarsparkError
from larspark.feeds import interval_line

pytest.importorskip("pyspark")
pytest.importorskip("confluent_kafka")
from tests.scale.cluster import driver
from tests.scale.test_cluster import await_next

from larspark.spark import kafka_jars, topic_sink

pytestmark = pytest.mark.xdist_group("kafka")

# `LARSPARK_KILLS=10 LARSPARK_FACTS=1000000` is the run that the documents speak of.
KILLS = int(os.environ.get("LARSPARK_KILLS", "1"))
FACTS = int(os.environ.get("LARSPARK_FACTS", "3000"))
COMMAND = "from larspark.cli import main; main()"
PROGRAM = """hot(M) :- [4] some temp(M, V), V > 90.
calm(M) :- [9] some temp(M, _), not hot(M).
"""
# Facts of a time point, and how many time points they come late.
AT_ONCE, DELAY = 10, 20


@pytest.fixture
def connector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the jars of Spark's connector."""
    from tests.feeds.live.kafka_broker import _CACHE

    folder = _CACHE / "larspark"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LARSPARK_CACHE", str(folder))
        try:
            assert "spark-sql-kafka" in kafka_jars()
        except LarsparkError as error:
            if error.problems[0].code != "L499":
                raise
            pytest.skip(str(error))
    return folder


def lines_out_of_order(random: Random) -> list[str]:
    times = [number // AT_ONCE for number in range(FACTS)]
    times.sort(key=lambda t: t + random.uniform(0, DELAY))
    return [
        json.dumps({"t": t, "atom": f"temp(m{random.randrange(50)},{random.randrange(80, 93)})"})
        for t in times
    ]


def local_lines(lines: list[str], folder: Path) -> list[str]:
    """What a local run answers up to the time point that the stream has closed."""
    ordered = sorted(lines, key=lambda line: json.loads(line)["t"])
    (folder / "all.jsonl").write_text("".join(f"{line}\n" for line in ordered))
    closed = (FACTS - 1) // AT_ONCE - 2 * DELAY - 1
    reasoner = lp.Program.parse(PROGRAM)
    rows = lp.run(reasoner, lp.Stream.read(folder / "all.jsonl"), to=closed).to_pylist()
    return sorted(interval_line(r["atom"], r["from"], r["to"]) for r in rows if r["to"] < closed)


def test_every_answer_is_in_the_topic_once(kafka: Any, connector: Path, tmp_path: Path) -> None:
    random, log = Random(KILLS), tmp_path / "log"
    (tmp_path / "program.lars").write_text(PROGRAM)
    kafka.create("spark-facts", 3)
    kafka.create("spark-answers")
    lines = lines_out_of_order(random)
    for partition in range(3):
        kafka.publish("spark-facts", lines[partition::3], partition)
    words = ["-c", COMMAND, "submit", tmp_path / "program.lars", "--master", "local[2]"]
    words += ["--stream", kafka.place("spark-facts"), "--output", kafka.place("spark-answers")]
    words += ["--checkpoint", tmp_path / "state", "--watermark", 2 * DELAY, "--until-empty"]
    words += ["--option", f"maxOffsetsPerTrigger={-(-FACTS // (2 * KILLS + 4))}", "--shards", 2]
    words += ["--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1"]

    def begun() -> int:
        return len(list((tmp_path / "state" / "offsets").glob("[0-9]*")))

    python = Path(sys.executable)
    kills = 0
    # On a slow machine Spark may give up on a Python worker: the same command goes on from there.
    for _ in range(KILLS + 4):
        with driver(*words, python=python, log=log, cache=connector) as process:
            if kills == KILLS:
                if process.wait(600) == 0:
                    break
                continue
            await_next(begun, process, log)
            if kills == 5:
                kafka.kill()
                time.sleep(5)
                kafka.start()
            time.sleep(random.uniform(0, 1.5))
            kills += process.poll() is None
    else:
        pytest.fail(log.read_text())
    assert sorted(kafka.read("spark-answers")) == local_lines(lines, tmp_path)
    assert " 0 late" in log.read_text()


def test_a_topic_is_a_place_of_kafka() -> None:
    with pytest.raises(LarsparkError, match="is not a topic of Kafka"):
        topic_sink("mqtt://localhost/alarms")

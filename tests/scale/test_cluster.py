"""A standalone cluster gives the local answers, while its parts are killed."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.scale.piecewise import Interval, arrivals
from tests.scale.streaming.on_spark import put_files
from tests.scale.streaming.simulated import final_intervals, out_of_order

import larspark as lp
from larspark.base.atoms import Element, fact
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare

pytest.importorskip("pyspark")
from tests.scale import cluster_driver
from tests.scale.cluster import Cluster, await_true, driver, python_without

pytestmark = pytest.mark.xdist_group("spark")

# Twenty kills take minutes: LARSPARK_KILLS=20.
KILLS = int(os.environ.get("LARSPARK_KILLS", "3"))
FACTS = 6000 if KILLS < 10 else 60_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.stop()


def rows_of(answers: pa.Table) -> list[Interval]:
    return sorted((row["atom"], row["from"], row["to"]) for row in answers.to_pylist())


def expected_answers(facts: int) -> dict[str, list[Interval]]:
    times = [number // 3 for number in range(facts)]
    sensors = [f"s{number % 7}" for number in range(facts)]
    values = [(number * 37 + number // 11) % 20 for number in range(facts)]
    table = pa.table({"t": times, "sensor": sensors, "value": values})
    return {
        name: rows_of(lp.run(program, table, map=cluster_driver.MAPPING))
        for name, (program, _) in cluster_driver.PROGRAMS.items()
    }


def check_answers(folder: Path, facts: int) -> None:
    """All answers that were written in a folder are the local ones."""
    for name, answers in expected_answers(facts).items():
        found = sorted(folder.glob(f"{name}-*.parquet"))
        assert found
        assert len(answers) > 20
        for file in found:
            assert rows_of(pq.read_table(file)) == answers, file


def test_batch_by_key_by_time_and_in_stages_while_executors_are_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    # The package travels, and so does what it needs; without Numba the answers are the same.
    python = python_without(tmp_path / "python", "larspark", "lark", "rich", "numba", "llvmlite")
    random, log = Random(KILLS), tmp_path / "log"
    words = ("-m", "tests.scale.cluster_driver", cluster.url, tmp_path, FACTS)
    with driver(*words, python=python, log=log, cache=tmp_path / "cache") as process:
        for number in range(KILLS):
            await_true(lambda: bool(cluster.executors()), "no executor")
            time.sleep(random.uniform(1, 5))
            assert process.poll() is None, log.read_text()
            if number % 3 == 1:
                cluster.kill_worker(random)
            else:
                cluster.kill_executor(random)
        (tmp_path / "enough").touch()
        assert process.wait(600) == 0, log.read_text()
    check_answers(tmp_path, FACTS)
    assert log.read_text().count("numba is not installed on executors") == 1


COMMAND = "from larspark.cli import main; main()"
PROGRAM = """#tick 1 h.
hot(S) :- [4] some temp(S, V), V > 30.
calm(S) :- [6] some temp(S, _), not hot(S).
"""
DELAY = 5


def test_a_submitted_stream_while_executors_workers_and_the_driver_are_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    deltalake = pytest.importorskip("deltalake")
    python = python_without(tmp_path / "python", "larspark", "lark", "rich")
    random, log = Random(KILLS), tmp_path / "log"
    (tmp_path / "program.lars").write_text(PROGRAM)
    elements = [
        Element(t, fact("temp", f"s{random.randrange(5)}", random.randrange(40)))
        for t in range(400)
        for _ in range(random.randint(0, 3))
    ]
    coming = [element for _, element in out_of_order(elements, DELAY, random)]
    lines = [{"t": element.t, "atom": str(element.atom)} for element in coming]
    size = -(-len(lines) // (2 * KILLS + 4))
    put_files(tmp_path / "facts", [lines[n : n + size] for n in range(0, len(lines), size)])

    def begun() -> int:
        return len(list((tmp_path / "state" / "offsets").glob("[0-9]*")))

    words = ["-c", COMMAND, "submit", tmp_path / "program.lars", "--master", cluster.url]
    words += ["--stream", tmp_path / "facts", "--output", tmp_path / "answers"]
    words += ["--checkpoint", tmp_path / "state", "--watermark", DELAY, "--until-empty"]
    words += ["--tables", "delta", "--table", "hot/1: s string", "--table", "calm/1: s string"]
    words += ["--files-per-batch", 1, "--shards", 2]
    for setting in cluster_driver.SETTINGS.items():
        words += ["--conf", "=".join(setting)]
    kills = ["executor", "driver", "worker"] * KILLS
    done = 0
    while done <= KILLS:
        with driver(*words, python=python, log=log, cache=tmp_path / "cache") as process:
            for what in kills[done:KILLS]:
                await_next(begun, process, log)
                time.sleep(random.uniform(0, 1.5))
                assert process.poll() is None, log.read_text()
                done += 1
                if what == "driver":
                    break
                (cluster.kill_executor if what == "executor" else cluster.kill_worker)(random)
            else:
                assert process.wait(600) == 0, log.read_text()
                break
    prepared = prepare(PROGRAM, (), "auto", Settings(), RequestedCuts())
    closed = max(element.t for element in coming) - DELAY - 1
    expected = final_intervals(prepared, arrivals(elements, ordered=False), closed)
    assert len(expected) > 50
    found = [
        (f"{name}({row['s']})", row["from"], row["to"])
        for name in ("hot", "calm")
        for row in deltalake.DeltaTable(tmp_path / "answers" / name).to_pyarrow_table().to_pylist()
    ]
    assert sorted(found) == expected


def await_next(begun: Callable[[], int], process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until another micro-batch has begun."""
    before = begun()
    await_true(lambda: begun() > before or process.poll() is not None, log.read_text())

"""A standalone cluster gives the local answers, while its parts are killed."""

import os
import time
from collections.abc import Iterator
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


def test_batch_by_key_by_time_and_in_stages_while_executors_are_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    # The package travels, and so does what it needs; without Numba the answers are the same.
    python = python_without(tmp_path / "python", "larspark", "lark", "rich", "numba", "llvmlite")
    random, log = Random(KILLS), tmp_path / "log"
    words = (cluster.url, tmp_path, "batch", FACTS)
    module = "tests.scale.cluster_driver"
    with driver(module, *words, python=python, log=log, cache=tmp_path / "cache") as process:
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
    expected = expected_answers(FACTS)
    for name, answers in expected.items():
        found = sorted(tmp_path.glob(f"{name}-*.parquet"))
        assert found
        assert len(answers) > 20
        for file in found:
            assert rows_of(pq.read_table(file)) == answers, file
    assert log.read_text().count("numba is not installed on executors") == 1


def test_a_stream_while_executors_workers_and_the_driver_are_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    python = python_without(tmp_path / "python", "larspark", "lark", "rich")
    random, log = Random(KILLS), tmp_path / "log"
    elements = [
        Element(t, fact("temp", f"s{random.randrange(5)}", random.randrange(40)))
        for t in range(400)
        for _ in range(random.randint(0, 3))
    ]
    coming = [element for _, element in out_of_order(elements, cluster_driver.DELAY, random)]
    size = -(-len(coming) // (2 * KILLS + 4))
    columns = ("sensor", "v")
    lines = [{"ts": e.t, **dict(zip(columns, e.atom.args, strict=True))} for e in coming]
    files = [lines[first : first + size] for first in range(0, len(lines), size)]
    put_files(tmp_path / "facts", files)

    def begun() -> int:
        return len(list((tmp_path / "checkpoint" / "offsets").glob("[0-9]*")))

    words = (cluster.url, tmp_path, "stream")
    module = "tests.scale.cluster_driver"
    kills = ["driver", "executor", "worker"] * KILLS
    done = 0
    while done <= KILLS:
        with driver(module, *words, python=python, log=log, cache=tmp_path / "cache") as process:
            for what in kills[done:KILLS]:
                before = begun()
                await_true(lambda: begun() > before or process.poll() is not None, "no batch")  # noqa: B023
                time.sleep(random.uniform(0, 1.5))
                assert process.poll() is None, log.read_text()
                done += 1
                if what == "driver":
                    break
                (cluster.kill_executor if what == "executor" else cluster.kill_worker)(random)
            else:
                assert process.wait(600) == 0, log.read_text()
                break
    prepared = prepare(cluster_driver.STREAM, (), "auto", Settings(), RequestedCuts())
    closed = max(element.t for element in coming) - cluster_driver.DELAY - 1
    expected = final_intervals(prepared, arrivals(elements, ordered=False), closed)
    assert len(expected) > 50
    assert written(tmp_path / "answers") == expected


def written(folder: Path) -> list[Interval]:
    """The rows of Spark's file sink: those of the files that its log lists."""
    import json

    listed = [
        json.loads(line)["path"]
        for log in (folder / "_spark_metadata").glob("[0-9]*")
        for line in log.read_text().splitlines()[1:]
    ]
    tables = [pq.read_table(path.removeprefix("file://")) for path in sorted(set(listed))]
    return rows_of(pa.concat_tables(tables))

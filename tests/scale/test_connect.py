"""Spark Connect: the same answers through a real server, which larspark travels to."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.scale.cluster import (
    ROOT,
    SPARK_HOME,
    answers_at,
    await_true,
    driver,
    environment,
    free_port,
    python_without,
)
from tests.scale.test_cluster import check_answers

import larspark as lp

PROGRAM = "hot(S) :- [10] some temp(S, V), V > 60.  all(S) :- [3] always hot(S).  #remember hot/1."


@pytest.fixture
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server whose Python has all packages, except those of the parameter."""
    port, folder = free_port(), tmp_path_factory.mktemp("connect")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    # The server counts as a daemon; 256 MB are enough for a master, but not for a session.
    memory = {"SPARK_DAEMON_MEMORY": "1g"}
    variables = {**environment(folder), **memory, "PYSPARK_PYTHON": sys.executable}
    if without := request.param:
        variables["PYSPARK_PYTHON"] = str(python_without(folder / "python", *without))
    else:
        variables["PYTHONPATH"] = str(ROOT / "src")
    words = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[2]"]
    words += [word for item in settings.items() for word in ("--conf", "=".join(item))]
    words += ["--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*words, "spark-internal"], env=variables, cwd=folder, stdout=log, stderr=log
        )
        try:
            await_true(lambda: answers_at(port) or process.poll() is not None, "no server")
            assert process.poll() is None, (folder / "log").read_text()
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


@pytest.mark.parametrize("server", [("larspark", "lark", "rich")], indirect=True)
def test_programs_by_key_by_time_and_in_stages(server: str, tmp_path: Path) -> None:
    (tmp_path / "enough").touch()
    words = ("-m", "tests.scale.cluster_driver", server, tmp_path, 600)
    log, cache = tmp_path / "log", tmp_path / "cache"
    with driver(*words, python=Path(sys.executable), log=log, cache=cache) as process:
        assert process.wait(600) == 0, log.read_text()
    check_answers(tmp_path, 600)


# A stream starts a Python of the server that gets nothing from the client.
@pytest.mark.parametrize("server", [()], indirect=True)
def test_answers_through_a_server_are_the_local_ones(server: str, tmp_path: Path) -> None:
    client = Path(__file__).with_name("connect_client.py")
    done = subprocess.run(
        [sys.executable, str(client), server, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    stream = lp.Stream.of([(t, lp.fact("temp", f"s{t % 3}", 20.0 + t)) for t in range(60)])
    rows = lp.run(lp.Program.parse(PROGRAM), stream).to_pylist()
    expected = sorted([row["atom"], row["from"], row["to"]] for row in rows)
    assert found["frame"] == expected
    assert found["files"] == expected
    assert found["refused"][0] == "LarsparkError"
    # A stream emits what it is sure of: all but what still holds at its end.
    assert found["stream"] == [row for row in expected if row[2] < 58]
    assert found["progress"] == 30

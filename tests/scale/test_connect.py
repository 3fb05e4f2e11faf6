"""Spark Connect: the same answers through a real server."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

import larspark as lp
from larspark.scale.spark_session import find_java

SPARK_HOME = Path(pyspark.__file__).parent
PROGRAM = "hot(S) :- [10] some temp(S, V), V > 60.  all(S) :- [3] always hot(S).  #remember hot/1."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    words = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[2]"]
    words += [word for item in settings.items() for word in ("--conf", "=".join(item))]
    words += ["--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    folder = tmp_path_factory.mktemp("connect")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*words, "spark-internal"], env=environment, cwd=folder, stdout=log, stderr=log
        )
        try:
            _wait_for(port, process, folder / "log")
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(3000):
        assert process.poll() is None, log.read_text()
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(log.read_text())


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
    assert found["progress"] == 60

"""A standalone Spark cluster of processes on this machine, whose parts can be killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pyspark

from larspark.scale.spark_session import find_java

ROOT = Path(__file__).parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
PATIENCE = 300
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.deploy.maxExecutorRetries=-1"


def environment(folder: Path) -> dict[str, str]:
    """What processes of Spark are given: Java, and none of this process's own Python paths."""
    others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {
        **others,
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _JAVA,
        "LARSPARK_CACHE": str(folder / "cache"),
    }


def python_without(folder: Path, *packages: str) -> Path:
    """A Python that has the packages of this one, except some."""
    venv.create(folder, with_pip=False)
    [target] = folder.glob("lib/python3*/site-packages")
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        name = entry.name.lower().removeprefix("_editable_impl_")
        if not name.startswith(packages) and entry.suffix != ".pth":
            (target / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def await_true(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def answers_at(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


class Cluster:
    """A master and two workers with a core each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = environment(folder)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._port = free_port()
        self.url = f"spark://127.0.0.1:{self._port}"
        self._started = 0
        words = ["--host", "127.0.0.1", "--port", str(self._port), "--webui-port", "0"]
        self._start("org.apache.spark.deploy.master.Master", *words)
        await_true(lambda: answers_at(self._port), "no master")
        self.workers = [self._worker(), self._worker()]

    def _start(self, main: str, *words: str) -> "subprocess.Popen[bytes]":
        self._started += 1
        with (self._folder / f"process-{self._started}.log").open("w") as log:
            process = subprocess.Popen(
                [str(SPARK_HOME / "bin" / "spark-class"), main, *words],
                env=self._environment,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def _worker(self) -> "subprocess.Popen[bytes]":
        words = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        folder = self._folder / f"work-{self._started}"
        return self._start(
            "org.apache.spark.deploy.worker.Worker", *words, "-d", str(folder), self.url
        )

    def executors(self) -> list[int]:
        """The executors that run."""
        parents = ",".join(str(worker.pid) for worker in self.workers)
        done = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", parents], capture_output=True, text=True, check=False
        )
        return sorted(map(int, done.stdout.split()))

    def kill_executor(self, random: Random) -> None:
        await_true(lambda: bool(self.executors()), "no executor")
        with contextlib.suppress(ProcessLookupError):
            os.kill(random.choice(self.executors()), signal.SIGKILL)

    def kill_worker(self, random: Random) -> None:
        """Kill a worker, which takes its executors with it, and start another one."""
        killed = self.workers.pop(random.randrange(2))
        self._kill(killed)
        self.workers.append(self._worker())

    def _kill(self, process: "subprocess.Popen[bytes]") -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self._processes:
            self._kill(process)


@contextlib.contextmanager
def driver(
    *words: object, python: Path, log: Path, cache: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """A driver in a process group of its own, none of which is left behind."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    variables = {
        **os.environ,
        "PYTHONPATH": paths,
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "LARSPARK_CACHE": str(cache),
    }
    with log.open("a") as output:
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            cwd=ROOT,
            env=variables,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

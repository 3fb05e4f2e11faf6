"""What the tests of clusters run in a process of its own, against a master or a Connect server.

The arguments are the address, a folder, and what to run: `batch` (with the number of facts) writes
the answers of each program as Parquet, again and again until there is a file `enough`; `stream`
continues a stream from files to files.
"""

import logging
import os
import sys
from itertools import count
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from tests.scale.streaming.on_spark import read_files

import larspark.spark as ls

# A program and the options with which it is cut: by key, by time, in stages.
PROGRAMS = {
    "keyed": (
        "hot(S) :- [10] some temp(S, V), V > 18.  all(S) :- [3] always hot(S).  #remember hot/1.",
        {"shards": 3},
    ),
    "sliced": (
        "pair(A, B) :- [3] some temp(A, V), [3] some temp(B, V), V > 15, A != B.",
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
STREAM = "hot(S) :- [4] some temp(S, V), V > 30.  calm(S) :- [6] always temp(S, _), not hot(S)."
DELAY = 5


def session(address: str) -> SparkSession:
    if address.startswith("sc://"):
        return SparkSession.builder.remote(address).getOrCreate()
    settings = {
        "spark.master": address,
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Each kill is a failure of the tasks that ran there.
        "spark.task.maxFailures": "20",
        "spark.stage.maxConsecutiveAttempts": "20",
    }
    spark = ls.local_session(2, short=True, settings=settings)
    spark.sparkContext.setLogLevel("OFF")
    return spark


def batch(spark: SparkSession, folder: Path, facts: int) -> None:
    frame = spark.range(0, facts, 1, 4).selectExpr(*FACTS)
    for number in count():
        enough = (folder / "enough").exists()
        for name, (program, options) in PROGRAMS.items():
            answers = ls.collect(ls.run(program, frame, map=MAPPING, **options))
            pq.write_table(answers, folder / f"{name}-{number}.parquet")
        if enough:
            return


def stream(spark: SparkSession, folder: Path) -> None:
    facts = read_files(spark, folder / "facts", "ts long, sensor string, v long")
    answers = ls.stream(STREAM, facts, map="ts -> temp(sensor, v)", watermark=DELAY)
    writing = answers.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    ls.wait(ls.start(writing.trigger(availableNow=True), str(folder / "answers")))


def main(address: str, folder: str, what: str, *numbers: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    spark = session(address)
    (batch if what == "batch" else stream)(spark, Path(folder), *map(int, numbers))
    # The threads of a Connect channel may keep the process alive.
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

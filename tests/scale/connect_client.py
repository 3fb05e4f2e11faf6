"""What the test of Spark Connect runs in a process of its own; prints the answers as JSON."""

import json
import os
import sys

from pyspark.sql import SparkSession

import larspark.spark as ls


def lines(answers):
    found = ls.collect(answers).to_pylist()
    return sorted((row["atom"], row["from"], row["to"]) for row in found)


def main(address, folder):
    spark = SparkSession.builder.remote(address).getOrCreate()
    program = (
        "hot(S) :- [10] some temp(S, V), V > 60.  all(S) :- [3] always hot(S).  #remember hot/1."
    )
    mapping = "minute -> temp(sensor, value)"
    rows = [(minute, f"s{minute % 3}", 20.0 + minute) for minute in range(60)]
    frame = spark.createDataFrame(rows, "minute long, sensor string, value double")
    frame.coalesce(1).write.parquet(f"{folder}/facts")

    results = {
        "frame": lines(ls.run(program, frame, map=mapping)),
        "files": lines(ls.run(program, f"{folder}/facts", map=mapping)),
    }
    try:
        ls.run(program, frame.selectExpr("minute", "sensor", "double('nan') as value"), map=mapping)
    except Exception as error:
        results["refused"] = [type(error).__name__, [problem.code for problem in error.problems]]
    # A stream goes on from its checkpoint.
    for part in ("minute < 30", "minute >= 30"):
        frame.where(part).coalesce(1).write.mode("append").parquet(f"{folder}/arriving")
        incoming = spark.readStream.schema(frame.schema).parquet(f"{folder}/arriving")
        answers = ls.stream(program, incoming, map=mapping, watermark=0)
        writing = answers.writeStream.format("parquet").trigger(availableNow=True)
        writing = writing.option("checkpointLocation", f"{folder}/checkpoint")
        query = ls.start(writing, f"{folder}/out")
        ls.wait(query)
    results["stream"] = lines(spark.read.parquet(f"{folder}/out"))
    results["progress"] = ls.progress(query)["facts"]
    json.dump(results, sys.stdout)
    # The channel's threads may keep the process alive.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

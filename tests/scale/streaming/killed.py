"""A stream from files to files in a process of its own, to be killed at any moment.

The arguments are the folder, and the sink: `lines` (our JSON Lines) or `parquet` (Spark's files).
"""

import sys
from pathlib import Path

from tests.scale.streaming.on_spark import read_files

from larspark.spark import json_lines, local_session, stream, wait

PROGRAM = "hot(S) :- [4] some temp(S, V), V > 30. calm(S) :- [6] always temp(S, _), not hot(S)."
COLUMNS = "ts long, sensor string, v long"
DELAY = 5


def main(folder: Path, sink: str) -> None:
    spark = local_session(2, short=True)
    spark.sparkContext.setLogLevel("OFF")
    facts = read_files(spark, folder / "facts", COLUMNS)
    answers = stream(PROGRAM, facts, map="ts -> temp(sensor, v)", watermark=DELAY)
    writing = answers.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    writing = writing.trigger(availableNow=True)
    if sink == "lines":
        query = writing.foreachBatch(json_lines(folder / "answers")).start()
    else:
        query = writing.start(str(folder / "answers"))
    wait(query)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

"""The streaming query: raw files in, typed tables of Delta Lake out, restarted from its checkpoint.

    python examples/pipeline/query.py FOLDER [--until-empty]

`FOLDER/arriving` receives the raw files, `FOLDER/checkpoint` holds the state, and `FOLDER/answers`
the tables. With `--until-empty` the query stops when all files are processed.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "flights"))

import pipeline
from pyspark.sql import DataFrame, SparkSession

import larspark as lp
from larspark.spark import local_session, start, stream, table_sink, wait

# A flight can leave almost a day after its schedule, so its fact can follow facts of the next day.
WATERMARK = "1 d"
PROGRAM = lp.Program.load(pipeline.PROGRAM)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--until-empty", action="store_true")
    options = parser.parse_args()
    spark = local_session(short=True, quiet=True)
    answers = streaming_answers(spark, options.folder / "arriving")
    # Spark repeats a micro-batch after a crash; the sink writes it once.
    sink = table_sink(options.folder / "answers", PROGRAM, pipeline.TABLES)
    writing = answers.writeStream.foreachBatch(sink)
    writing = writing.option("checkpointLocation", str(options.folder / "checkpoint"))
    if options.until_empty:
        writing = writing.trigger(availableNow=True)
    wait(start(writing))


def streaming_answers(spark: SparkSession, arriving: Path) -> DataFrame:
    """The answers over the files that arrive, one day per micro-batch."""
    reader = spark.readStream.option("maxFilesPerTrigger", 1)
    flights = pipeline.raw_table(reader, arriving / "flights", pipeline.FLIGHT_COLUMNS)
    weather = pipeline.raw_table(reader, arriving / "weather", pipeline.WEATHER_COLUMNS)
    facts = pipeline.facts(flights, weather)
    return stream(PROGRAM, facts, time="at", watermark=WATERMARK)


if __name__ == "__main__":
    main()

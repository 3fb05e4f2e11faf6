"""What `larspark submit` runs: where facts come from on Spark, and where answers go."""

from enum import StrEnum
from typing import Any, NamedTuple

from larspark import api
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.kafka import KafkaPlace
from larspark.feeds.live.places import parse_place
from larspark.show.terminal import say

KAFKA = "kafka://"


class Source(StrEnum):
    """What the files of facts are."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


class Tables(StrEnum):
    """What the tables of answers are."""

    DELTA = "delta"
    PARQUET = "parquet"


class Form(StrEnum):
    """What the answers of a stream are."""

    INTERVALS = "intervals"
    CHANGES = "changes"


class Facts(NamedTuple):
    """Where facts are: a folder of files, or a topic of Kafka.

    `schema` are the columns, where they are not found in the files; `options` are Spark's own, for
    reading.
    """

    place: str
    kind: Source
    schema: str | None
    options: dict[str, str]

    @property
    def is_topic(self) -> bool:
        return self.place.startswith(KAFKA)

    def reader(self, reader: Any, schema: Any = None) -> Any:
        """A reader of files, for history or for a stream."""
        if self.kind is Source.JSONL:
            return reader.format("text").options(**self.options)
        reader = reader.format(self.kind.value)
        if self.kind is Source.CSV:
            reader = reader.option("header", True)
        schema = self.schema or schema
        if schema is not None:
            reader = reader.schema(schema)
        elif self.kind is Source.CSV:
            reader = reader.option("inferSchema", True)
        return reader.options(**self.options)

    def history(self, spark: Any) -> Any:
        return self.reader(spark.read).load(self.place)

    def stream(self, spark: Any, files_per_batch: int | None) -> Any:
        """A streaming DataFrame of the facts."""
        if self.is_topic:
            return self._messages(spark)
        schema = None
        if self.kind is not Source.JSONL and self.schema is None:
            schema = self.history(spark).schema
        reader = spark.readStream
        if files_per_batch is not None:
            reader = reader.option("maxFilesPerTrigger", files_per_batch)
        return self.reader(reader, schema).load(self.place)

    def _messages(self, spark: Any) -> Any:
        """The messages of a topic: our JSON Lines, or JSON objects with the columns of a schema."""
        topic = topic_of(self.place)
        reading = {
            "kafka.bootstrap.servers": topic.topic.servers,
            "subscribe": topic.topic.topic,
            "startingOffsets": "latest" if topic.selection.at_end else "earliest",
            # Of a transaction that was given up there is nothing to see.
            "kafka.isolation.level": "read_committed",
        }
        frame = spark.readStream.format("kafka").options(**{**reading, **self.options}).load()
        lines = frame.selectExpr("string(value) as value")
        if self.schema is None:
            return lines
        from larspark.scale.spark_session import functions

        value = functions.from_json("value", self.schema).alias("value")
        return lines.select(value).select("value.*")


def topic_of(address: str) -> KafkaPlace:
    """The topic of an address."""
    place = parse_place(address)
    if not isinstance(place, KafkaPlace):
        message = f"{address} is not a topic of Kafka"
        raise LarsparkError(Problem("L490", message, hint="kafka://host:9092/topic"))
    return place


class Answers(NamedTuple):
    """Where answers go: a folder or a topic of Kafka, with tables or without."""

    place: str
    columns: dict[str, str]
    tables: Tables
    checkpoint: str | None

    @property
    def is_topic(self) -> bool:
        return self.place.startswith(KAFKA)


class Trigger(NamedTuple):
    """When micro-batches start and when the stream ends."""

    until_empty: bool
    every: str | None

    def on(self, writing: Any) -> Any:
        if self.until_empty:
            return writing.trigger(availableNow=True)
        return writing if self.every is None else writing.trigger(processingTime=self.every)


def run_history(
    spark: Any, program: api.Program, facts: Facts, answers: Answers, options: dict[str, Any]
) -> None:
    """Evaluate all files once; existing answers are an error of Spark."""
    from larspark.spark import outputs, problems, run

    # Spark's default, INT96, has no time zone: other readers would take the times as local ones.
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    with problems():
        found = run(program, facts.history(spark), **options)
        if not answers.columns:
            found.write.parquet(answers.place)
            return
        found = found.persist()
        for name, frame in outputs(found, answers.columns, program).items():
            folder = f"{answers.place.rstrip('/')}/{name.partition('/')[0]}"
            frame.write.partitionBy("day").parquet(folder)


def run_stream(
    spark: Any,
    program: api.Program,
    facts: Facts,
    answers: Answers,
    options: dict[str, Any],
    trigger: Trigger,
    files_per_batch: int | None,
) -> None:
    """Run a stream until it is empty or interrupted."""
    from larspark.spark import problems, start, stream, table_sink, topic_sink, wait, watch

    with problems():
        found = stream(program, facts.stream(spark, files_per_batch), **options)
    watch(spark)
    checkpoint = answers.checkpoint or f"{answers.place.rstrip('/')}/_checkpoint"
    writing = trigger.on(found.writeStream.option("checkpointLocation", checkpoint))
    to_files = False
    if answers.is_topic:
        writing = writing.foreachBatch(topic_sink(answers.place))
    elif answers.columns:
        sink = table_sink(answers.place, program, answers.columns, format=answers.tables.value)
        writing = writing.foreachBatch(sink)
    else:
        to_files = True
    query = start(writing, answers.place if to_files else None)
    try:
        wait(query)
    except KeyboardInterrupt:
        say("stopping; the same command goes on from here")
        query.stop()

"""`larspark submit`: a program on a Spark cluster, over history or as a stream."""

import logging
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer

from larspark import api
from larspark.base.problems import LarsparkError, Problem
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, load_program
from larspark.cli.options import (
    BackgroundFiles,
    DialectOption,
    EngineOption,
    MapOption,
    ProgramFile,
)
from larspark.show.terminal import say


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


class Trigger(NamedTuple):
    """When a stream ends, and what it reads at once."""

    until_empty: bool
    files_per_batch: int | None


@app.command(
    epilog="Example: [bold]larspark submit hot.lars --master spark://host:7077 --stream s3a://bucket"
    "/readings --format parquet --map 'time -> temp(machine, value)' --output s3a://bucket/hot[/bold]",
    short_help="Run a program on a Spark cluster: files in, tables out.",
)
def submit(
    program: ProgramFile,
    stream: Annotated[
        str, typer.Option("--stream", "-s", help="A folder of files that all executors can read.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="The folder of the answers.")],
    master: Annotated[
        str | None,
        typer.Option(
            help="spark://host:7077, yarn, k8s://https://host, sc://host (Connect), local[4]; by "
            "default that of spark-submit, else this machine."
        ),
    ] = None,
    kind: Annotated[Source, typer.Option("--format", help="The format of the files.")] = (
        Source.JSONL
    ),
    mapping: MapOption = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="A table of answers with its columns, several times: 'alarm/1: machine string'; "
            "without it the answers are Parquet files with atom, from, to."
        ),
    ] = None,
    tables: Annotated[Tables, typer.Option(help="The format of the tables.")] = Tables.PARQUET,
    checkpoint: Annotated[
        str | None, typer.Option(help="The state of the stream; OUTPUT/_checkpoint by default.")
    ] = None,
    watermark: Annotated[
        str, typer.Option(help="How late facts may be: time points, or a duration such as '10 s'.")
    ] = "0",
    files_per_batch: Annotated[
        int | None, typer.Option(min=1, help="How many files a micro-batch reads at most.")
    ] = None,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="End when all files are processed.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Evaluate all files once, instead of a stream.")
    ] = False,
    shards: Annotated[
        int, typer.Option(min=1, help="Partitions of the state: the cores of the executors.")
    ] = 8,
    conf: Annotated[
        list[str] | None, typer.Option(help="A setting of Spark: NAME=VALUE, several times.")
    ] = None,
    engine: EngineOption = "auto",
    background: BackgroundFiles = None,
    dialect: DialectOption = None,
) -> None:
    """Start a driver on this machine, or in `spark-submit`, that runs until it is interrupted."""
    loaded = load_program(program, dialect)
    options: dict[str, Any] = {
        "background": background_facts(background, loaded.syntax.named),
        "engine": engine,
        "map": mapping,
    }
    columns = dict(_pair(text, ":", "--table") for text in table or ())
    settings = dict(_pair(text, "=", "--conf") for text in conf or ())
    if history and tables is Tables.DELTA:
        message = "tables of history are written as Parquet"
        raise LarsparkError(Problem("L490", message, hint="leave out --tables"))
    if history and kind is Source.JSONL:
        message = "history is read from Parquet, CSV or JSON, with a mapping"
        raise LarsparkError(Problem("L490", message, hint="give --format and --map"))
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    # Imported here, because only this needs PySpark.
    from larspark.scale.spark_session import active_session, cluster_session

    was_there = active_session() is not None
    spark = cluster_session(master, {"spark.sql.shuffle.partitions": str(shards), **settings})
    try:
        if history:
            _history(spark, loaded, stream, kind, output, columns, options)
        else:
            logging.getLogger("larspark.stream").setLevel(logging.INFO)
            options["watermark"] = int(watermark) if watermark.isdecimal() else watermark
            sink = (output, checkpoint or f"{output.rstrip('/')}/_checkpoint", tables.value)
            trigger = Trigger(until_empty, files_per_batch)
            _stream(spark, loaded, stream, kind, columns, sink, options, trigger)
    finally:
        if not was_there:
            spark.stop()


def _pair(text: str, between: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(between)
    if not found:
        raise typer.BadParameter(f"'{text}' is not NAME{between}VALUE", param_hint=option)
    return name.strip(), value.strip()


def _files(reader: Any, kind: Source, schema: Any = None) -> Any:
    """A reader of files, for history or for a stream."""
    if kind is Source.JSONL:
        return reader.format("text")
    reader = reader.format(kind.value)
    if kind is Source.CSV:
        reader = reader.option("header", True)
    if schema is not None:
        return reader.schema(schema)
    return reader.option("inferSchema", True) if kind is Source.CSV else reader


def _history(
    spark: Any,
    program: api.Program,
    place: str,
    kind: Source,
    output: str,
    columns: dict[str, str],
    options: dict[str, Any],
) -> None:
    """Evaluate all files once; existing answers are an error of Spark."""
    from larspark.spark import outputs, problems, run

    with problems():
        answers = run(program, _files(spark.read, kind).load(place), **options)
        if not columns:
            answers.write.parquet(output)
            return
        answers = answers.persist()
        for name, frame in outputs(answers, columns, program).items():
            folder = f"{output.rstrip('/')}/{name.partition('/')[0]}"
            frame.write.partitionBy("day").parquet(folder)


def _stream(
    spark: Any,
    program: api.Program,
    place: str,
    kind: Source,
    columns: dict[str, str],
    sink: tuple[str, str, str],
    options: dict[str, Any],
    trigger: Trigger,
) -> None:
    """Run a stream until it is empty or interrupted."""
    from larspark.spark import problems, start, stream, table_sink, wait, watch

    output, checkpoint, form = sink
    with problems():
        schema = None if kind is Source.JSONL else _files(spark.read, kind).load(place).schema
        reader = spark.readStream
        if trigger.files_per_batch is not None:
            reader = reader.option("maxFilesPerTrigger", trigger.files_per_batch)
        facts = _files(reader, kind, schema).load(place)
        answers = stream(program, facts, **options)
    watch(spark)
    writing = answers.writeStream.option("checkpointLocation", checkpoint)
    if trigger.until_empty:
        writing = writing.trigger(availableNow=True)
    if columns:
        writing = writing.foreachBatch(table_sink(output, program, columns, format=form))
    query = start(writing, None if columns else output)
    try:
        wait(query)
    except KeyboardInterrupt:
        say("stopping; the same command goes on from here")
        query.stop()

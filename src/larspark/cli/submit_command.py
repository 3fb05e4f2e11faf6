"""`larspark submit`: a program on a Spark cluster, over history or as a stream."""

import logging
from typing import Annotated, Any

import typer

from larspark.base.problems import LarsparkError, Problem
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, given_options, load_program
from larspark.cli.options import (
    BackgroundFiles,
    DialectOption,
    EngineOption,
    FirstReportOption,
    MapOption,
    OnError,
    ProgramFile,
    RangeOption,
    ReadingOption,
    ReportOption,
    TickOption,
)
from larspark.cli.submitted_run import (
    Answers,
    Facts,
    Form,
    Source,
    Tables,
    Trigger,
    run_history,
    run_stream,
)


@app.command(
    epilog="Example: [bold]larspark submit hot.lars --master spark://host:7077 --stream s3a://bucket"
    "/readings --format parquet --map 'time -> temp(machine, value)' --output s3a://bucket/hot[/bold]",
    short_help="Run a program on a Spark cluster: files in, tables out.",
)
def submit(
    program: ProgramFile,
    stream: Annotated[
        str,
        typer.Option(
            "--stream",
            "-s",
            help="A folder of files that all executors can read, or kafka://host:9092/topic.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="The folder of the answers, or kafka://host:9092/topic."
        ),
    ],
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
    schema: Annotated[
        str | None,
        typer.Option(
            help="The columns, as in SQL, instead of looking into the files; of JSON messages: "
            "'time timestamp, machine string, value double'."
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="An option of Spark for reading: NAME=VALUE, several times."),
    ] = None,
    on_error: Annotated[
        OnError, typer.Option("--on-error", help="Whether what is no fact ends the run.")
    ] = OnError.FAIL,
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
    form: Annotated[
        Form, typer.Option("--as", help="Intervals when they have ended, or changes at once.")
    ] = Form.INTERVALS,
    every: Annotated[
        str | None,
        typer.Option(help="How often a micro-batch starts, '10 s'; by default one after another."),
    ] = None,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="End when everything is processed.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Evaluate all files once, instead of a stream.")
    ] = False,
    shards: Annotated[
        int, typer.Option(min=1, help="Partitions of the state: the cores of the executors.")
    ] = 8,
    in_stages: Annotated[
        bool,
        typer.Option("--in-stages", help="Run a stream without a common key in stages."),
    ] = False,
    conf: Annotated[
        list[str] | None, typer.Option(help="A setting of Spark: NAME=VALUE, several times.")
    ] = None,
    engine: EngineOption = "auto",
    background: BackgroundFiles = None,
    dialect: DialectOption = None,
    reading: ReadingOption = None,
    tick: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
) -> None:
    """Start a driver on this machine, or in `spark-submit`, that runs until it is interrupted."""
    choices = given_options(reading=reading, tick=tick, range=span, t0=first_report, report=report)
    loaded = load_program(program, dialect, options=choices)
    options: dict[str, Any] = {
        "background": background_facts(background, loaded.syntax.named),
        "engine": engine,
        "map": mapping,
        "on_error": on_error.value,
    }
    columns = dict(_pair(text, ":", "--table") for text in table or ())
    settings = dict(_pair(text, "=", "--conf") for text in conf or ())
    read_with = dict(_pair(text, "=", "--option") for text in option or ())
    facts = Facts(stream, kind, schema, read_with)
    answers = Answers(output, columns, tables, checkpoint)
    _refuse(facts, answers, history, mapping, form)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    # Imported here, because only this needs PySpark.
    from larspark.scale.spark_session import active_session, cluster_session, is_submitted

    was_there = active_session() is not None
    takes_jars = not (was_there or is_submitted() or (master or "").startswith("sc://"))
    if facts.is_topic and takes_jars and not settings.keys() & _JARS:
        from larspark.scale.kafka_connector import kafka_jars

        settings["spark.jars"] = kafka_jars()
    spark = cluster_session(master, {"spark.sql.shuffle.partitions": str(shards), **settings})
    try:
        if history:
            run_history(spark, loaded, facts, answers, options)
        else:
            logging.getLogger("larspark.stream").setLevel(logging.INFO)
            options["watermark"] = int(watermark) if watermark.isdecimal() else watermark
            options["form"] = form.value
            options["shards"] = shards if in_stages else None
            trigger = Trigger(until_empty, every)
            run_stream(spark, loaded, facts, answers, options, trigger, files_per_batch)
    finally:
        if not was_there:
            spark.stop()


_JARS = {"spark.jars", "spark.jars.packages"}


def _refuse(facts: Facts, answers: Answers, history: bool, mapping: str | None, form: Form) -> None:
    """Raise what cannot be submitted before Spark starts."""
    refused = []
    if history and answers.tables is Tables.DELTA:
        refused.append(("tables of history are written as Parquet", "leave out --tables"))
    if history and (facts.is_topic or answers.is_topic):
        refused.append(("a topic of Kafka is a stream, not history", "leave out --history"))
    elif history and facts.kind is Source.JSONL:
        message = "history is read from Parquet, CSV or JSON, with a mapping"
        refused.append((message, "give --format and --map"))
    if facts.is_topic and bool(mapping) != bool(facts.schema):
        message = "JSON messages need a schema and a mapping, our JSON Lines neither"
        refused.append((message, "--schema 'time timestamp, machine string' --map ..."))
    if answers.is_topic and answers.checkpoint is None and not history:
        refused.append(("a stream into a topic needs a folder for its state", "give --checkpoint"))
    if answers.columns and (answers.is_topic or form is Form.CHANGES):
        refused.append(("tables hold intervals, in a folder", "leave out --table"))
    problems = [Problem("L490", message, hint=hint) for message, hint in refused]
    if problems:
        raise LarsparkError(problems)


def _pair(text: str, between: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(between)
    if not found:
        raise typer.BadParameter(f"'{text}' is not NAME{between}VALUE", param_hint=option)
    return name.strip(), value.strip()

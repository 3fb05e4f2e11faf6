"""`larspark hypothesize`."""

from itertools import islice
from typing import Annotated

import typer

from larspark import api
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, given_options, load_program, open_stream
from larspark.cli.options import (
    AllowPathOption,
    AtOption,
    BackgroundFiles,
    ColumnsOption,
    DelimiterOption,
    DialectOption,
    FirstReportOption,
    FormatOption,
    FromOption,
    JsonOption,
    LatenessOption,
    Layout,
    MapOption,
    OnErrorOption,
    ProgramFile,
    RangeOption,
    ReadingOption,
    ReportOption,
    TickOption,
    TimesOption,
    ZoneOption,
)
from larspark.language import parse_formula
from larspark.language.nodes import time_names
from larspark.run.hypothetical import answer_line
from larspark.show.answer_lines import hypothetical_line, precondition_line
from larspark.show.terminal import print_skipped, writer


@app.command(
    epilog="Example: [bold]larspark hypothesize m.lars '@T alarm(M)' -s events.jsonl --at 8[/bold]",
    short_help="List answers that may become true, and what they need.",
)
def hypothesize(
    program: ProgramFile,
    question: Annotated[str, typer.Argument(metavar="QUERY", help="Such as '@T alarm(M)'.")],
    stream: Annotated[
        list[str] | None,
        typer.Option("--stream", "-s", help="Events: a file, - for stdin, or NAME=FILE."),
    ] = None,
    at: AtOption = None,
    unsupported: Annotated[
        bool,
        typer.Option("--all", help="Also answers without evidence, which need only future facts."),
    ] = False,
    preconditions: Annotated[
        bool,
        typer.Option("--preconditions", help="The facts that an answer needs, without a stream."),
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The maximum number of answers per time point.")
    ] = None,
    background: BackgroundFiles = None,
    start: FromOption = None,
    lateness: LatenessOption = "0",
    on_error: OnErrorOption = None,
    mapping: MapOption = None,
    stream_format: FormatOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    times: TimesOption = None,
    timezone: ZoneOption = None,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    tick: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """Write answers that may become true: their evidence, missing facts, and deadline."""
    options = given_options(reading=reading, tick=tick, range=span, t0=first_report, report=report)
    loaded = load_program(program, dialect, allow_path, options)
    known = background_facts(background, loaded.syntax.named)
    if preconditions:
        with writer(None, json) as out:
            for one in islice(api.preconditions(loaded, question, background=known), limit):
                if out.people:
                    out.line(precondition_line(one))
                else:
                    out.json(one.fields())
        return
    if not stream:
        raise typer.BadParameter("--stream is missing; only --preconditions needs none")
    source = open_stream(
        stream,
        mapping,
        loaded.syntax.tick,
        on_error,
        lateness,
        Layout(stream_format, delimiter, columns),
        loaded.syntax.named,
        timezone=timezone,
    )
    answers = api.hypothesize(
        loaded,
        question,
        source,
        at=at,
        background=known,
        start=start,
        limit=limit,
        timezone=timezone,
        unsupported=unsupported,
    )
    written = api.TimeTexts(source.options.tick, times, timezone).written(source)
    asked = parse_formula(question, tick=loaded.syntax.tick).formula
    named = frozenset[str]() if asked is None else time_names(asked)
    with writer(None, json) as out:
        for answer in answers:
            if out.people:
                out.line(hypothetical_line(answer, written))
            else:
                out.line(answer_line(answer, written, named))
    print_skipped(source)

"""`larspark hypothesize`."""

from typing import Annotated

import typer

from larspark import api
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, load_program, open_stream
from larspark.cli.options import (
    AllowPathOption,
    BackgroundFiles,
    ColumnsOption,
    DelimiterOption,
    DialectOption,
    FormatOption,
    FromOption,
    JsonOption,
    LatenessOption,
    Layout,
    MapOption,
    OnErrorOption,
    ProgramFile,
    StreamFile,
)
from larspark.run.hypothetical import answer_line
from larspark.show.answer_lines import hypothetical_line
from larspark.show.terminal import print_skipped, writer


@app.command(
    epilog="Example: [bold]larspark hypothesize m.lars '@T alarm(M)' -s events.jsonl --at 8[/bold]",
    short_help="List answers that may become true, and what they need.",
)
def hypothesize(
    program: ProgramFile,
    question: Annotated[str, typer.Argument(metavar="QUERY", help="Such as '@T alarm(M)'.")],
    stream: StreamFile,
    at: Annotated[int | None, typer.Option("--at", help="Only at this time point.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The maximum number of answers per time point.")
    ] = None,
    background: BackgroundFiles = None,
    start: FromOption = None,
    lateness: LatenessOption = 0,
    on_error: OnErrorOption = None,
    mapping: MapOption = None,
    stream_format: FormatOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    json: JsonOption = False,
) -> None:
    """Write answers that may become true: their evidence, missing facts, and deadline."""
    loaded = load_program(program, dialect, allow_path)
    source = open_stream(
        stream,
        mapping,
        loaded.syntax.tick,
        on_error,
        lateness,
        Layout(stream_format, delimiter, columns),
    )
    answers = api.hypothesize(
        loaded,
        question,
        source,
        at=at,
        background=background_facts(background),
        start=start,
        limit=limit,
    )
    with writer(None, json) as out:
        for answer in answers:
            out.line(hypothetical_line(answer) if out.people else answer_line(answer))
    print_skipped(source)

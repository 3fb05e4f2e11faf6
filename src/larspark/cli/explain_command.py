"""`larspark explain`."""

from pathlib import Path
from typing import Annotated

import typer

from larspark import api
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, given_options, load_program, open_stream
from larspark.cli.options import (
    AllowPathOption,
    AtTime,
    BackgroundFiles,
    ColumnsOption,
    DelimiterOption,
    DialectOption,
    FirstReportOption,
    FormatOption,
    FromOption,
    HindsightOption,
    JsonOption,
    LatenessOption,
    Layout,
    MapOption,
    OnErrorOption,
    ProgramFile,
    RangeOption,
    ReadingOption,
    ReportOption,
    StreamFile,
    TickOption,
    TimesOption,
    UntilOption,
    ZoneOption,
)
from larspark.show.terminal import errors, print_skipped, write_file, writer


@app.command(
    epilog="Example: [bold]larspark explain m.lars 'alarm(m1)' --at 8 -s events.jsonl[/bold]",
    short_help="Explain why an atom holds, or why not.",
)
def explain(
    program: ProgramFile,
    atom: Annotated[str, typer.Argument(metavar="ATOM", help="A ground atom, or `@T atom`.")],
    stream: StreamFile,
    at: AtTime,
    why_not: Annotated[
        bool, typer.Option("--why-not", help="The atom is expected not to hold.")
    ] = False,
    background: BackgroundFiles = None,
    start: FromOption = None,
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    lateness: LatenessOption = "0",
    on_error: OnErrorOption = None,
    mapping: MapOption = None,
    stream_format: FormatOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    times: TimesOption = None,
    timezone: ZoneOption = None,
    svg: Annotated[Path | None, typer.Option(help="Write the tree as SVG to this file.")] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the tree also to a pipe.")] = False,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    tick: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """Show the proof of an atom as a tree, or the first missing condition of each rule."""
    options = given_options(reading=reading, tick=tick, range=span, t0=first_report, report=report)
    loaded = load_program(program, dialect, allow_path, options, hindsight=hindsight)
    hindsight = hindsight or bool(loaded.syntax.hindsight)
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
    found = api.explain(
        loaded,
        atom,
        source,
        at=at,
        background=background_facts(background, loaded.syntax.named),
        start=start,
        hindsight=hindsight,
        until=until,
        times=times,
        timezone=timezone,
    )
    if why_not and found.holds:
        errors.print(f"{atom} holds at {at}", markup=False)
    if svg is not None:
        write_file(svg, found.to_svg())
    with writer(None, json) as out:
        if out.people or text:
            for line in found.lines(out.people, out.width if out.people else None):
                out.line(line)
        else:
            out.json(found.to_json())
    print_skipped(source)

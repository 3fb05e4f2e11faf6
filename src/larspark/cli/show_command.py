"""`larspark show`."""

from pathlib import Path
from typing import Annotated

import typer

from larspark import api
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, given_options, load_program, open_stream
from larspark.cli.options import (
    AllowPathOption,
    BackgroundFiles,
    ColumnsOption,
    DelimiterOption,
    DialectOption,
    EngineOption,
    FirstReportOption,
    FormatOption,
    FromOption,
    HindsightOption,
    JsonOption,
    LatenessOption,
    Layout,
    MapOption,
    OnErrorOption,
    RangeOption,
    ReadingOption,
    ReportOption,
    StreamFile,
    TickOption,
    TimesOption,
    ToOption,
    UntilOption,
    ZoneOption,
    existing,
    time_argument,
)
from larspark.feeds.time_options import is_time
from larspark.run.protocol import Settings
from larspark.run.registry import AUTO
from larspark.run.session import Session
from larspark.show.terminal import print_notes, print_skipped, write_file, writer
from larspark.show.timeline.picture import Scene, picture_run, picture_stream


@app.command(
    epilog="Example: [bold]larspark show traffic.lars --stream events.jsonl --at 45[/bold]",
    short_help="Draw a stream and its answers as a timeline.",
)
def show(
    stream: StreamFile,
    program: Annotated[
        Path | None,
        typer.Argument(
            metavar="PROGRAM",
            help="A .lars file; without it only facts are drawn.",
            callback=existing,
        ),
    ] = None,
    background: BackgroundFiles = None,
    engine: EngineOption = AUTO,
    start: FromOption = None,
    to: ToOption = None,
    at: Annotated[
        str | None, time_argument("--at", "Draw the windows at this time point or timestamp.")
    ] = None,
    view: Annotated[
        tuple[str, str] | None,
        typer.Option("--view", help="The first and the last time point to draw."),
    ] = None,
    only: Annotated[str, typer.Option("--only", help="Only these predicates: 'hot,alarm'.")] = "",
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
    svg: Annotated[Path | None, typer.Option(help="Write the drawing as SVG to this file.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write an interactive timeline to this HTML file.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the drawing also to a pipe.")] = False,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    tick_length: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """Draw facts as dots, derived atoms as bars, and the windows of the rules at a time point."""
    if at is not None and program is None:
        raise typer.BadParameter("--at draws the windows of a program: name one")
    for bound in view or ():
        if not is_time(bound):
            raise typer.BadParameter(f"--view: '{bound}' is neither a time point nor a timestamp")
    names = [name.strip() for name in only.split(",") if name.strip()]
    loaded = None
    if program is not None:
        options = given_options(
            reading=reading, tick=tick_length, range=span, t0=first_report, report=report
        )
        loaded = load_program(program, dialect, allow_path, options, hindsight=hindsight)
    tick = None if loaded is None else loaded.syntax.tick
    source = open_stream(
        stream,
        mapping,
        tick,
        on_error,
        lateness,
        Layout(stream_format, delimiter, columns),
        () if loaded is None else loaded.syntax.named,
        timezone=timezone,
    )
    texts = api.TimeTexts(source.options.tick, times, timezone)
    drawn = None if view is None else (texts.known(view[0]), texts.known(view[1]))
    if drawn is not None and drawn[0] > drawn[1]:
        raise typer.BadParameter("--view takes the first and the last time point, in this order")
    scene = Scene(texts.point(to), drawn, texts.point(at), names)
    written = texts.written(source)
    if loaded is None:
        picture = picture_stream(source.batches(), scene, written)
    else:
        hindsight = hindsight or bool(loaded.syntax.hindsight)
        settings = Settings(texts.point(start), hindsight, texts.point(until))
        checked, atoms = api.prepare(
            loaded, background_facts(background, loaded.syntax.named), settings
        )
        session = Session(checked, atoms, engine, settings)
        picture = picture_run(session, checked, source.batches(), settings, scene, written)
        print_notes(session.notes)
    if svg is not None:
        write_file(svg, picture.to_svg())
    if html is not None:
        write_file(html, picture.to_html("timeline" if program is None else program.name))
    with writer(None, json) as out:
        if out.people or text:
            for line in picture.lines(out.people, out.width):
                out.line(line)
        else:
            for row in picture.to_json():
                out.json(row)
    print_skipped(source)

"""`larspark show`."""

from pathlib import Path
from typing import Annotated

import typer

from larspark import api
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, load_program, open_stream
from larspark.cli.options import (
    TIMELINE,
    AllowPathOption,
    BackgroundFiles,
    ColumnsOption,
    DelimiterOption,
    DialectOption,
    EngineOption,
    FormatOption,
    FromOption,
    HindsightOption,
    JsonOption,
    LatenessOption,
    Layout,
    MapOption,
    OnErrorOption,
    ReadingOption,
    StreamFile,
    UntilOption,
    existing,
)
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
    to: Annotated[
        int | None, typer.Option("--to", help="The last evaluation time.", rich_help_panel=TIMELINE)
    ] = None,
    at: Annotated[
        int | None, typer.Option("--at", help="Draw the windows at this time point.")
    ] = None,
    view: Annotated[
        tuple[int, int] | None, typer.Option("--view", help="The time points to draw.")
    ] = None,
    only: Annotated[str, typer.Option("--only", help="Only these predicates: 'hot,alarm'.")] = "",
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    lateness: LatenessOption = 0,
    on_error: OnErrorOption = None,
    mapping: MapOption = None,
    stream_format: FormatOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    svg: Annotated[Path | None, typer.Option(help="Write the drawing as SVG to this file.")] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the drawing also to a pipe.")] = False,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    json: JsonOption = False,
) -> None:
    """Draw facts as dots, derived atoms as bars, and the windows of the rules at a time point."""
    if at is not None and program is None:
        raise typer.BadParameter("--at draws the windows of a program: name one")
    if view is not None and view[0] > view[1]:
        raise typer.BadParameter("--view takes the first and the last time point, in this order")
    names = [name.strip() for name in only.split(",") if name.strip()]
    scene = Scene(to, view, at, names)
    if program is None:
        source = open_stream(
            stream,
            mapping,
            None,
            on_error,
            lateness,
            Layout(stream_format, delimiter, columns),
        )
        picture = picture_stream(source.batches(), scene)
    else:
        loaded = load_program(
            program, dialect, allow_path, {"reading": reading}, hindsight=hindsight
        )
        hindsight = hindsight or bool(loaded.syntax.hindsight)
        source = open_stream(
            stream,
            mapping,
            loaded.syntax.tick,
            on_error,
            lateness,
            Layout(stream_format, delimiter, columns),
        )
        settings = Settings(start, hindsight, until)
        checked, atoms = api.prepare(loaded, background_facts(background), settings)
        session = Session(checked, atoms, engine, settings)
        picture = picture_run(session, checked, source.batches(), settings, scene)
        print_notes(session.notes)
    if svg is not None:
        write_file(svg, picture.to_svg())
    with writer(None, json) as out:
        if out.people or text:
            for line in picture.lines(out.people, out.width):
                out.line(line)
        else:
            for row in picture.to_json():
                out.json(row)
    print_skipped(source)

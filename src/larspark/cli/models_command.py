"""`larspark models`."""

from typing import Annotated

import typer
from rich.markup import escape

from larspark import api
from larspark.base.atoms import atom_text
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, given_options, load_program, open_stream
from larspark.cli.options import (
    AllowPathOption,
    AtTime,
    BackgroundFiles,
    ColumnsOption,
    DelimiterOption,
    DialectOption,
    EngineOption,
    FirstReportOption,
    FormatOption,
    FromOption,
    HindsightOption,
    IncrementalOption,
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
    TimeLimitOption,
    TimesOption,
    UntilOption,
    ZoneOption,
)
from larspark.feeds.time_format import TimeFormat
from larspark.run.protocol import Model, Settings
from larspark.run.registry import AUTO
from larspark.show.terminal import Writer, errors, print_notes, print_skipped, writer


@app.command(
    epilog="Example: [bold]larspark models plan.lars --stream events.jsonl --at 42[/bold]",
    short_help="List all answer streams at a time point.",
)
def models(
    program: ProgramFile,
    stream: StreamFile,
    at: AtTime,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The maximum number of answer streams.")
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Only their number.")] = False,
    cautious: Annotated[
        bool, typer.Option("--cautious", help="The atoms that hold in all of them.")
    ] = False,
    brave: Annotated[
        bool, typer.Option("--brave", help="The atoms that hold in at least one.")
    ] = False,
    closest: Annotated[bool, typer.Option("--closest", help="The one that a run follows.")] = False,
    background: BackgroundFiles = None,
    engine: EngineOption = AUTO,
    start: FromOption = None,
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    lateness: LatenessOption = "0",
    on_error: OnErrorOption = None,
    time_limit: TimeLimitOption = None,
    incremental: IncrementalOption = False,
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
    """Write every answer stream of a program at a time point: derived atoms by time point."""
    if sum((limit is not None, count, cautious, brave, closest)) > 1:
        raise typer.BadParameter(
            "--limit, --count, --cautious, --brave and --closest exclude each other"
        )
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
    texts = api.TimeTexts(source.options.tick, times, timezone)
    moment, written = texts.known(at), texts.written(source)
    settings = Settings(
        texts.point(start),
        hindsight,
        texts.point(until),
        time_limit=time_limit,
        incremental=incremental,
    )
    session = api.open_session(
        loaded, background_facts(background, loaded.syntax.named), engine, settings
    )
    api.feed(session, source, moment, hindsight=hindsight)
    found = True
    with writer(None, json) as out:
        if count:
            number = session.count(moment)
            if out.people:
                out.line(f"{number:,}")
            else:
                out.json({"count": number})
        elif cautious:
            found = _write(out, written, "cautious", session.cautious(moment))
        elif brave:
            found = _write(out, written, "brave", session.brave(moment))
        elif closest:
            found = _write(out, written, "model", session.closest(moment), 1)
        else:
            number = 0
            for number, model in enumerate(session.models(moment, limit), 1):
                _write(out, written, "model", model, number)
            found = number > 0
    if not found:
        errors.print(f"no answer stream at {written.text(moment)}")
    print_notes(session.notes)
    print_skipped(source)


def _write(
    out: Writer, times: TimeFormat, name: str, model: Model | None, number: int | None = None
) -> bool:
    """Write an answer stream under a name, with a number if there can be several."""
    if model is None:
        return False
    stream = {
        times.text(t): sorted(map(atom_text, atoms)) for t, atoms in sorted(model.stream.items())
    }
    if not out.people:
        out.json({name: stream} if number is None else {name: number, "stream": stream})
        return True
    out.line(f"[bold]{name}[/]" if number is None else f"[bold]{name} {number}[/]")
    for t, texts in stream.items():
        out.line(f"[cyan]{t:>6}[/]  {'  '.join(map(escape, texts))}")
    return True

"""The terminal's front door. People get tables and colours, pipes get JSON Lines."""

import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from larspark import __version__, api
from larspark.base.atoms import Atom, atom_text
from larspark.base.problems import LarsparkError, Severity
from larspark.feeds import Stream, read_background
from larspark.language.tree import Tick
from larspark.run.hypothetical import answer_line
from larspark.run.protocol import Answers, Settings
from larspark.run.replay import changes, intervals, replay
from larspark.run.session import Session
from larspark.scale.cuts import explain_cuts
from larspark.show.lines import change_lines, hypothetical_line, interval_lines, point_lines
from larspark.show.report import problem_json
from larspark.show.terminal import complain, errors, say_what_was_skipped, writer

app = typer.Typer(
    name="larspark",
    help="Rules over event streams, with exact meaning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Form(StrEnum):
    POINTS = "points"
    INTERVALS = "intervals"
    CHANGES = "changes"


class Mode(StrEnum):
    PULL = "pull"
    PUSH = "push"


class OnError(StrEnum):
    FAIL = "fail"
    SKIP = "skip"


class Dialect(StrEnum):
    LARS = "lars"
    TICKER = "ticker"
    LASER = "laser"


class EngineName(StrEnum):
    AUTO = "auto"
    INTERVAL = "interval"
    ASP = "asp"
    TMS = "tms"
    ORACLE = "oracle"


ProgramFile = Annotated[Path, typer.Argument(metavar="PROGRAM", help="A .lars file.")]
StreamFile = Annotated[str, typer.Option("--stream", "-s", help="Events: a file, or - for stdin.")]
BackgroundFiles = Annotated[
    list[Path] | None,
    typer.Option("--background", "-b", help="Background data: .lars, .csv, .jsonl or .parquet."),
]
EngineOption = Annotated[EngineName, typer.Option("--engine", "-e", help="Who computes.")]
DialectOption = Annotated[Dialect, typer.Option(help="How to read the program.")]
FromOption = Annotated[int | None, typer.Option("--from", help="The timeline's first time point.")]
UntilOption = Annotated[int | None, typer.Option("--until", help="The timeline's last time point.")]
HindsightOption = Annotated[bool, typer.Option("--hindsight", help="Know the whole stream.")]
MapOption = Annotated[
    str | None, typer.Option("--map", help="Columns to atoms: 'time -> temp(sensor, value)'.")
]
OnErrorOption = Annotated[OnError, typer.Option("--on-error", help="What a bad line does.")]
LatenessOption = Annotated[int, typer.Option(min=0, help="Time points of disorder to put right.")]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON Lines, also at a terminal.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"larspark {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Rules over event streams, with exact meaning."""


@app.command(
    epilog="Example: [bold]larspark check traffic.lars[/bold]",
    short_help="What is known about a program before it runs.",
)
def check(
    program: ProgramFile,
    background: BackgroundFiles = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show how the rules are worked off.")
    ] = False,
    spark: Annotated[
        bool, typer.Option("--spark", help="Show how Spark can cut the work.")
    ] = False,
    dialect: DialectOption = Dialect.LARS,
    json: JsonOption = False,
) -> None:
    """Say everything that is wrong with a program, and what is known about it before it runs."""
    with writer(None, json) as out:
        try:
            loaded = api.Program.load(program, dialect=dialect.value)
        except LarsparkError as error:
            if not out.people:
                out.json({"errors": list(map(problem_json, error.problems))})
            raise
        report = loaded.check(_background(background))
        complain([*loaded.warnings, *report.problems])
        if plan:
            for line in report.plan().splitlines():
                out.line(escape(line) if out.people else line)
        elif spark:
            for line in explain_cuts(report.checked):
                out.line(escape(line) if out.people else line)
        elif not out.people:
            found = report.to_json()
            found["warnings"] = [*map(problem_json, loaded.warnings), *found["warnings"]]
            out.json(found)
        else:
            out.line(escape(str(report)))
    if any(problem.severity is Severity.ERROR for problem in report.problems):
        raise typer.Exit(1)


@app.command(
    epilog="Example: [bold]larspark run traffic.lars --stream events.jsonl --as intervals[/bold]",
    short_help="The answers at every time point of a stream.",
)
def run(
    program: ProgramFile,
    stream: StreamFile,
    background: BackgroundFiles = None,
    engine: EngineOption = EngineName.AUTO,
    start: FromOption = None,
    to: Annotated[int | None, typer.Option("--to", help="The last evaluation time.")] = None,
    at: Annotated[int | None, typer.Option("--at", help="Only this time point.")] = None,
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    lateness: LatenessOption = 0,
    on_error: OnErrorOption = OnError.FAIL,
    form: Annotated[Form, typer.Option("--as", help="The form of the answers.")] = Form.POINTS,
    mode: Annotated[Mode, typer.Option(help="Answer after time points or elements.")] = Mode.PULL,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write here.")] = None,
    mapping: MapOption = None,
    dialect: DialectOption = Dialect.LARS,
    json: JsonOption = False,
) -> None:
    """Run a program over a stream and write what holds at every time point."""
    if at is not None and to is not None:
        raise typer.BadParameter("--at and --to exclude each other")
    if mode is Mode.PUSH and form is not Form.POINTS:
        raise typer.BadParameter("--mode push gives points")
    loaded = _load(program, dialect)
    source = _open(stream, mapping, loaded.syntax.tick, on_error, lateness)
    settings = Settings(start, hindsight, until, push=mode is Mode.PUSH)
    session = api.open_session(loaded, _background(background), engine.value, settings)
    pieces = replay(session, source.batches(), to=at if at is not None else to, hindsight=hindsight)
    with writer(output, json) as out:
        for line in _answer_lines(pieces, form, at, people=out.people):
            out.line(line)
    _say_notes(session)
    say_what_was_skipped(source)


@app.command(
    epilog="Example: [bold]larspark models plan.lars --stream events.jsonl --at 42[/bold]",
    short_help="All answer streams at a time point.",
)
def models(
    program: ProgramFile,
    stream: StreamFile,
    at: Annotated[int, typer.Option("--at", help="The time point.")],
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    background: BackgroundFiles = None,
    engine: EngineOption = EngineName.AUTO,
    start: FromOption = None,
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    lateness: LatenessOption = 0,
    on_error: OnErrorOption = OnError.FAIL,
    mapping: MapOption = None,
    dialect: DialectOption = Dialect.LARS,
    json: JsonOption = False,
) -> None:
    """Write every answer stream of a program at a time point, derived atoms by time point."""
    loaded = _load(program, dialect)
    source = _open(stream, mapping, loaded.syntax.tick, on_error, lateness)
    settings = Settings(start, hindsight, until)
    session = api.open_session(loaded, _background(background), engine.value, settings)
    found = 0
    with writer(None, json) as out:
        for found, model in enumerate(
            api.models(session, source, at, limit=limit, hindsight=hindsight), 1
        ):
            stream_by_time = {
                str(t): sorted(map(atom_text, atoms)) for t, atoms in sorted(model.stream.items())
            }
            if out.people:
                out.line(f"[bold]model {found}[/]")
                for t, texts in stream_by_time.items():
                    out.line(f"[cyan]{t:>6}[/]  {'  '.join(map(escape, texts))}")
            else:
                out.json({"model": found, "stream": stream_by_time})
    if not found:
        errors.print(f"no answer stream at {at}")
    _say_notes(session)
    say_what_was_skipped(source)


@app.command(
    epilog="Example: [bold]larspark query '[[5] some tram(A, St)' -s events.jsonl --at 45[/bold]",
    short_help="Where a formula holds, and for which values.",
)
def query(
    formula: Annotated[str, typer.Argument(metavar="FORMULA", help="A LARS formula.")],
    stream: StreamFile,
    at: Annotated[int | None, typer.Option("--at", help="The time point.")] = None,
    at_each: Annotated[bool, typer.Option("--at-each", help="At every time point.")] = False,
    background: BackgroundFiles = None,
    start: FromOption = None,
    until: UntilOption = None,
    lateness: LatenessOption = 0,
    on_error: OnErrorOption = OnError.FAIL,
    mapping: MapOption = None,
    tick: Annotated[str | None, typer.Option(help="How long a time point lasts: '1 min'.")] = None,
    json: JsonOption = False,
) -> None:
    """Ask a formula of a stream: the substitutions under which it holds, {} for a plain yes."""
    if (at is None) is not at_each:
        raise typer.BadParameter("say either --at T or --at-each")
    duration = api.parse_tick(tick) if tick is not None else None
    source = _open(stream, mapping, duration, on_error, lateness)
    answers = api.query(
        formula,
        source,
        at=at,
        background=_background(background),
        start=start,
        until=until,
        tick=duration,
    )
    with writer(None, json) as out:
        for answer in answers:
            if out.people:
                out.line(
                    "  ".join(f"{n} = [cyan]{escape(str(v))}[/]" for n, v in answer.items())
                    or "yes"
                )
            else:
                out.json(answer)
        if not answers and out.people:
            out.line("no")
    say_what_was_skipped(source)


@app.command(
    epilog="Example: [bold]larspark explain m.lars 'alarm(m1)' --at 8 -s events.jsonl[/bold]",
    short_help="Why an atom holds, or why not.",
)
def explain(
    program: ProgramFile,
    atom: Annotated[str, typer.Argument(metavar="ATOM", help="A ground atom, or `@T atom`.")],
    stream: StreamFile,
    at: Annotated[int, typer.Option("--at", help="The time point of the evaluation.")],
    why_not: Annotated[bool, typer.Option("--why-not", help="Expect it not to hold.")] = False,
    background: BackgroundFiles = None,
    start: FromOption = None,
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    lateness: LatenessOption = 0,
    on_error: OnErrorOption = OnError.FAIL,
    mapping: MapOption = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the tree into this file.")] = None,
    text: Annotated[bool, typer.Option("--text", help="The tree, also into a pipe.")] = False,
    dialect: DialectOption = Dialect.LARS,
    json: JsonOption = False,
) -> None:
    """Show the proof of an atom as a tree, or for each rule the first thing that is missing."""
    loaded = _load(program, dialect)
    source = _open(stream, mapping, loaded.syntax.tick, on_error, lateness)
    found = api.explain(
        loaded,
        atom,
        source,
        at=at,
        background=_background(background),
        start=start,
        hindsight=hindsight,
        until=until,
    )
    if why_not and found.holds:
        errors.print(f"{atom} does hold at {at}", markup=False)
    if svg is not None:
        svg.write_text(found.to_svg(), encoding="utf-8")
    with writer(None, json) as out:
        if out.people or text:
            for line in found.lines(out.people):
                out.line(line)
        else:
            out.json(found.to_json())


@app.command(
    epilog="Example: [bold]larspark hypothesize m.lars '@T alarm(M)' -s events.jsonl --at 8[/bold]",
    short_help="What may become true, and what is still missing.",
)
def hypothesize(
    program: ProgramFile,
    question: Annotated[str, typer.Argument(metavar="QUERY", help="Such as '@T alarm(M)'.")],
    stream: StreamFile,
    at: Annotated[int | None, typer.Option("--at", help="Only at this time point.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many each time.")] = None,
    background: BackgroundFiles = None,
    start: FromOption = None,
    lateness: LatenessOption = 0,
    on_error: OnErrorOption = OnError.FAIL,
    mapping: MapOption = None,
    dialect: DialectOption = Dialect.LARS,
    json: JsonOption = False,
) -> None:
    """Write answers that may become true: their evidence, what is missing, and their deadline."""
    loaded = _load(program, dialect)
    source = _open(stream, mapping, loaded.syntax.tick, on_error, lateness)
    answers = api.hypothesize(
        loaded,
        question,
        source,
        at=at,
        background=_background(background),
        start=start,
        limit=limit,
    )
    with writer(None, json) as out:
        for answer in answers:
            out.line(hypothetical_line(answer) if out.people else answer_line(answer))


@app.command(
    epilog="Example: [bold]larspark bench laser/join --quick[/bold]",
    short_help="Measure the engines side by side.",
)
def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller workloads.")] = False,
    json: JsonOption = False,
) -> None:
    """Run workloads of the field on the engines and on queries written by hand."""
    # Imported here, because nobody else needs what it needs.
    from larspark.bench import bench_command

    bench_command(names or [], quick, json)


def _load(path: Path, dialect: Dialect) -> api.Program:
    loaded = api.Program.load(path, dialect=dialect.value)
    complain(loaded.warnings)
    return loaded


def _say_notes(session: Session) -> None:
    for note in session.notes:
        errors.print(f"note: {note}", markup=False)


def _background(files: list[Path] | None) -> list[Atom]:
    return [atom for path in files or () for atom in read_background(path)]


def _open(
    stream: str, mapping: str | None, tick: Tick | None, on_error: OnError, lateness: int
) -> Stream:
    microseconds = tick.microseconds if tick is not None else None
    return Stream.read(
        stream, map=mapping, tick=microseconds, on_error=on_error.value, lateness=lateness
    )


def _answer_lines(
    pieces: Iterable[Answers], form: Form, at: int | None, people: bool
) -> Iterator[str]:
    match form:
        case Form.POINTS:
            points = (point for piece in pieces for point in piece.points())
            return point_lines((p for p in points if at is None or p.t == at), people)
        case Form.INTERVALS:
            found = intervals(pieces)
            return interval_lines(
                (row for row in found if at is None or row[1] <= at <= row[2]), people
            )
        case Form.CHANGES:
            return change_lines((c for c in changes(pieces) if at is None or c.t == at), people)


def main() -> None:
    """Run the command line; problems are told, tracebacks are for `--debug`."""
    debug = "--debug" in sys.argv
    try:
        app()
    except LarsparkError as error:
        if debug:
            raise
        complain(error.problems)
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read the output has had enough, as `head` does.
        sys.stderr.close()
        sys.exit(0)

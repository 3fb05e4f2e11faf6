"""`larspark translate`, and the table of the languages it writes."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from larspark import api
from larspark.base.problems import LarsparkError, Problem
from larspark.cli.app import app
from larspark.cli.inputs import load_program, open_stream
from larspark.cli.options import (
    AllowPathOption,
    FirstReportOption,
    RangeOption,
    ReadingOption,
    ReportOption,
    TickOption,
    existing,
)
from larspark.language import DIALECTS, parse_formula
from larspark.language.printer import lars_translation
from larspark.run.protocol import Settings


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be translated, with the options of the command."""

    source: str
    dialect: str | None
    allow: list[Path] | None
    options: dict[str, str | None]
    timeline: str | None
    at: int | None
    streams: list[str]
    incremental: bool


def _to_lars(request: Request) -> str:
    path = Path(request.source)
    existing(path)
    return lars_translation(
        load_program(path, request.dialect, request.allow, request.options).syntax
    )


def _to_asp(request: Request) -> str:
    if find_spec("clingo") is None:
        hint = "install it with `pip install 'larspark[asp]'`"
        raise LarsparkError(Problem("L406", "the encodings need the package clingo", hint=hint))
    # Loaded when it is asked for, as every command starts with this module.
    from larspark.run.answer_sets.ticker_encoding import TickerEncoding, ticks_of

    path = Path(request.source)
    existing(path)
    program = load_program(path, request.dialect, request.allow, request.options)
    hindsight = bool(program.syntax.hindsight)
    encoding = TickerEncoding(api.prepare(program, (), Settings(hindsight=hindsight)))
    at = request.at
    if request.streams:
        syntax = program.syntax
        stream = open_stream(request.streams, None, syntax.tick, None, "0", named=syntax.named)
        rows = list(stream.elements())
        start, last = stream.first_t, stream.last_t
        if start is None or last is None:
            raise LarsparkError(Problem("L251", "the stream is empty, so it has no tick"))
        at = last if at is None else at
        if at < start:
            message = f"the stream begins at {start}, so it has no tick at {at}"
            raise LarsparkError(Problem("L251", message))
        ticks = ticks_of(rows, start, at)
        return encoding.incremental(ticks) if request.incremental else encoding.static(ticks)
    if request.incremental and at is not None:
        if encoding.counts:
            message = "a program with tuple windows is pinned to counts too: give --stream FILE"
            raise typer.BadParameter(message)
        return encoding.pinned(at)
    if request.incremental:
        return encoding.parts()
    return encoding.static(at=at)


def _to_pltl(request: Request) -> str:
    # Loaded when it is asked for, as every command starts with this module.
    from larspark.language.dialects.ltl.lars_to_pltl import Timeline, pltl
    from larspark.language.dialects.ltl.temporal_tree import temporal_text

    if request.timeline is None or request.at is None:
        raise typer.BadParameter("--to pltl needs --timeline A,B and --at T")
    parsed = parse_formula(request.source)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    timeline = Timeline(*parse_timeline(request.timeline))
    return f"{temporal_text(pltl(parsed.formula, timeline, request.at))}\n"


def parse_timeline(text: str) -> tuple[int, int]:
    """The first and the last time point of `A,B`."""
    first, _, last = text.partition(",")
    if not (_is_time(first) and _is_time(last)) or int(first) > int(last):
        raise typer.BadParameter(f"--timeline {text}: write the first and the last point, `0,9`")
    return int(first), int(last)


def _is_time(text: str) -> bool:
    return text.strip().isdecimal() and len(text.strip()) <= 18


class Target(StrEnum):
    LARS = "lars"
    ASP = "asp"
    PLTL = "pltl"


# A new target is a function and a line here.
TARGETS: dict[Target, Callable[[Request], str]] = {
    Target.LARS: _to_lars,
    Target.ASP: _to_asp,
    Target.PLTL: _to_pltl,
}


@app.command(
    epilog="Example: [bold]larspark translate cooling.laser > cooling.lars[/bold]",
    short_help="Write a program in another language.",
)
def translate(
    source: Annotated[
        str,
        typer.Argument(metavar="PROGRAM", help="A program of any dialect; a formula for pltl."),
    ],
    to: Annotated[Target, typer.Option(help="The language to write.")] = Target.LARS,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--from",
            "--dialect",
            metavar=f"[{'|'.join(DIALECTS)}]",
            help="The language of the program; by default the file's suffix decides.",
        ),
    ] = None,
    timeline: Annotated[
        str | None, typer.Option(metavar="A,B", help="The timeline, for pltl.")
    ] = None,
    at: Annotated[
        int | None, typer.Option("--at", help="The time point, for pltl and asp.")
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A stream to write with the program, for asp."),
    ] = None,
    incremental: Annotated[
        bool,
        typer.Option("--incremental", help="The parts that each tick adds, for asp."),
    ] = False,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    tick: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
) -> None:
    """Write a program in another language; a run of the translation gives the same answers."""
    options = {
        "reading": reading,
        "tick": tick,
        "range": span,
        "t0": first_report,
        "report": report,
    }
    request = Request(source, dialect, allow_path, options, timeline, at, stream or [], incremental)
    typer.echo(TARGETS[to](request), nl=False)

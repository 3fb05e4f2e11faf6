"""`larspark equivalent`."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from larspark import api
from larspark.base.atoms import Atom, atom_text
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, given_options, load_program
from larspark.cli.options import (
    AllowPathOption,
    BackgroundFiles,
    DialectOption,
    FirstReportOption,
    JsonOption,
    ProgramFile,
    RangeOption,
    ReadingOption,
    ReportOption,
    TickOption,
    existing,
)
from larspark.cli.translate_command import parse_timeline
from larspark.language.dialects import DIALECTS, dialect_of
from larspark.show.answer_lines import stream_lines
from larspark.show.terminal import errors, writer


class Kind(StrEnum):
    DATA = "data"
    UNIFORM = "uniform"
    STRONG = "strong"


@app.command(
    epilog="Example: [bold]larspark equivalent old.lars new.lars --timeline 0,3[/bold]",
    short_help="Find a stream for which two programs have different answers.",
)
def equivalent(
    first: ProgramFile,
    second: Annotated[
        Path, typer.Argument(metavar="PROGRAM2", help="Another one.", callback=existing)
    ],
    timeline: Annotated[str, typer.Option(metavar="A,B", help="The timeline of the streams.")],
    kind: Annotated[
        Kind,
        typer.Option(help="Whether they have to agree on data, with further facts, or rules."),
    ] = Kind.DATA,
    over: Annotated[
        list[str] | None,
        typer.Option(help="An atom of the stream, or `p(1..3)`; by default those of the programs."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="The maximum number of streams to look at.")
    ] = 5_000,
    background: BackgroundFiles = None,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    tick: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """Write a stream for which two programs have different answer streams, small ones first."""
    options = given_options(reading=reading, tick=tick, range=span, t0=first_report, report=report)
    one, other = _load_both((first, second), dialect, allow_path, options)
    begin, end = parse_timeline(timeline)
    found = api.equivalent(
        one,
        other,
        (begin, end),
        kind=kind.value,
        over=over or (),
        background=background_facts(background, (*one.syntax.named, *other.syntax.named)),
        limit=limit,
    )
    if found.stream is None:
        errors.print(_how_far(found, begin, end), markup=False)
        return
    with writer(None, json) as out:
        for line in stream_lines(found.stream, end, out.people):
            out.line(line)
    if found.context:
        errors.print(f"with these added to both:\n{found.context.rstrip()}", markup=False)
    for path, streams in ((first, found.first), (second, found.second)):
        for stream in streams:
            text = _stream_text(stream)
            errors.print(f"at {found.at} only {path} has the answer stream {text}", markup=False)


def _load_both(
    paths: tuple[Path, Path],
    dialect: str | None,
    allow: list[Path] | None,
    options: Mapping[str, str],
) -> Iterator[api.Program]:
    """The programs, each with the options that its language has; what neither has is refused."""
    names = [dialect or dialect_of(path).name for path in paths]
    known = [set(DIALECTS[name].options) if name in DIALECTS else set() for name in names]
    for path, own, others in zip(paths, known, reversed(known), strict=True):
        given = {name: options[name] for name in options if name in own or name not in others}
        yield load_program(path, dialect, allow, given)


def _how_far(found: api.Equivalence, begin: int, end: int) -> str:
    atoms = ", ".join(map(atom_text, found.atoms)) or "no atoms"
    if found.complete:
        return f"none up to {end}: all {found.streams:,} streams of {atoms} on [{begin}, {end}]"
    size = found.largest
    return (
        f"none among {found.streams:,} streams of {atoms} on [{begin}, {end}], which are those "
        f"with fewer than {size} elements and some with {size}; --limit looks further"
    )


def _stream_text(stream: dict[int, frozenset[Atom]]) -> str:
    parts = [f"{t}: {', '.join(sorted(map(atom_text, atoms)))}" for t, atoms in stream.items()]
    return "; ".join(parts) or "without further atoms"

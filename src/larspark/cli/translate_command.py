"""`larspark translate`, and the table of the languages it writes."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from larspark.cli.app import app
from larspark.cli.inputs import load_program
from larspark.cli.options import (
    AllowPathOption,
    FirstReportOption,
    RangeOption,
    ReadingOption,
    ReportOption,
    TickOption,
    existing,
)
from larspark.language import DIALECTS
from larspark.show.translation import lars_translation


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be translated, with the options of the command."""

    source: str
    dialect: str | None
    allow: list[Path] | None
    options: dict[str, str | None]


def _to_lars(request: Request) -> str:
    path = Path(request.source)
    existing(path)
    return lars_translation(
        load_program(path, request.dialect, request.allow, request.options).syntax
    )


class Target(StrEnum):
    LARS = "lars"


# A new target is a function and a line here.
TARGETS: dict[Target, Callable[[Request], str]] = {Target.LARS: _to_lars}


@app.command(
    epilog="Example: [bold]larspark translate cooling.laser > cooling.lars[/bold]",
    short_help="Write a program in another language.",
)
def translate(
    source: Annotated[str, typer.Argument(metavar="PROGRAM", help="A program of any dialect.")],
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
    typer.echo(TARGETS[to](Request(source, dialect, allow_path, options)), nl=False)

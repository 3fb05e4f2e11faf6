"""`larspark format`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from larspark.base.problems import LarsparkError, Problem
from larspark.cli.app import app
from larspark.cli.options import existing
from larspark.language.collector import MAX_CHARACTERS
from larspark.language.formatting import laid_out


@app.command(
    name="format",
    epilog="Example: [bold]larspark format traffic.lars[/bold]",
    short_help="Lay out programs: spaces, indentation, aligned rules.",
)
def format_(
    programs: Annotated[
        list[Path], typer.Argument(metavar="PROGRAM...", help=".lars files, or - for stdin.")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if a file would change.")
    ] = False,
) -> None:
    """Rewrite programs with normalized spaces. Line breaks, comments and meaning stay."""
    changed = []
    for path in programs:
        name, text = _read(path)
        formatted = laid_out(text, name)
        if path == Path("-") and not check:
            sys.stdout.write(formatted)
        elif formatted != text:
            changed.append(name)
            if not check:
                path.write_text(formatted, "utf-8")
    for name in changed:
        typer.echo(f"{'would change' if check else 'formatted'} {name}", err=True)
    if check and changed:
        raise typer.Exit(1)


def _read(path: Path) -> tuple[str, str]:
    if path == Path("-"):
        return "<stdin>", sys.stdin.read(MAX_CHARACTERS + 1)
    existing(path)
    if path.suffix != ".lars":
        raise LarsparkError(Problem("L503", f"{path} is no .lars file: only those are formatted"))
    try:
        return str(path), path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LarsparkError(Problem("L503", f"{path} cannot be read: {error}")) from error

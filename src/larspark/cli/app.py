"""The Typer application and its global options."""

from typing import Annotated

import typer

from larspark import __version__

app = typer.Typer(
    name="larspark",
    help="Rules over event streams, with exact meaning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="First: [bold]larspark run program.lars --stream events.jsonl[/bold]. "
    "Each command has its own [bold]--help[/bold], with an example.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
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

"""The Typer application and its global options."""

import signal
import threading
from collections.abc import Callable
from functools import partial
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


# Commands that Ctrl-C ends at once, in the middle of a computation of the solver or a kernel, too.
_QUESTIONS = ("check", "models", "query", "explain", "hypothesize", "show")


def end_at_once() -> Callable[[], object]:
    """Let Ctrl-C end the process at once; returns what undoes it."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    return partial(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.SIG_DFL))


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Rules over event streams, with exact meaning."""
    if context.invoked_subcommand in _QUESTIONS:
        context.call_on_close(end_at_once())

"""`larspark sat`."""

from typing import Annotated

import typer

from larspark import api
from larspark.cli.app import app
from larspark.cli.options import JsonOption
from larspark.cli.translate_command import parse_timeline
from larspark.show.answer_lines import stream_lines
from larspark.show.terminal import errors, writer


@app.command(
    epilog="Example: [bold]larspark sat '[3] always p and not @2 q' --timeline 0,5[/bold]",
    short_help="Find a stream under which a formula holds.",
)
def sat(
    formula: Annotated[str, typer.Argument(metavar="FORMULA", help="A LARS formula.")],
    timeline: Annotated[str, typer.Option(metavar="A,B", help="The timeline of the stream.")],
    at: Annotated[
        int | None, typer.Option("--at", help="When the formula holds; by default at the end.")
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(help="An atom of the stream, or `p(1..3)`; by default those of the formula."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a stream under which a formula holds, as a stream that can be read."""
    first, last = parse_timeline(timeline)
    found = api.satisfy(formula, (first, last), over=over or (), at=at)
    if found is None:
        errors.print(f"no stream over these atoms on [{first}, {last}] satisfies the formula")
        return
    with writer(None, json) as out:
        for line in stream_lines(found, last, out.people):
            out.line(line)

"""`larspark bench`."""

from typing import Annotated

import typer

from larspark.cli.app import app
from larspark.cli.options import JsonOption


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

"""`larspark bench`."""

from typing import Annotated

import typer

from larspark.cli.app import app
from larspark.cli.options import JsonOption


@app.command(
    epilog="Example: [bold]larspark bench laser/join --quick[/bold]",
    short_help="Run benchmarks of the engines.",
)
def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller workloads.")] = False,
    json: JsonOption = False,
) -> None:
    """Run published workloads on the engines and on hand-written queries."""
    # Imported here, because no other command needs its dependencies.
    from larspark.bench import bench_command

    bench_command(names or [], quick, json)

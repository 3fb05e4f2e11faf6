"""`larspark warm`."""

import time

import typer

from larspark.base.problems import LarsparkError, Problem
from larspark.cli.app import app
from larspark.run.interval.kernels.compile import numba_is_there
from larspark.run.interval.kernels.compiled_cache import cache_folder
from larspark.run.interval.kernels.warm_up import compile_all
from larspark.show.terminal import status_line


@app.command(
    epilog="Example: [bold]larspark warm[/bold], as a step of the build of an image",
    short_help="Compile all kernels into the cache, for images and cold hosts.",
)
def warm() -> None:
    """Compile the kernels of the interval engine, which other runs then find in the cache."""
    hint = "install it with `pip install 'larspark[fast]'`"
    if not numba_is_there():
        raise LarsparkError(Problem("L506", "kernels are compiled with numba", hint=hint))
    try:
        folder = cache_folder()
    except OSError as error:
        raise LarsparkError(Problem("L507", f"there is no folder for kernels: {error}")) from None
    begun, compiled = time.monotonic(), 0
    for kernel in compile_all():
        compiled = kernel.number
        status_line.show(f"compiled {kernel.number} of {kernel.total} kernels: {kernel.name}")
    status_line.clear()
    typer.echo(f"{compiled} kernels are compiled in {folder} ({time.monotonic() - begun:.0f} s)")

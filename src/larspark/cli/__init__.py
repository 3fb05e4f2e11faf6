"""The command line: tables and colours at a terminal, JSON Lines for pipes."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from larspark.base.problems import LarsparkError, LarsparkWarning

# Importing a command registers it.
from larspark.cli import (  # noqa: F401
    bench_command,
    check_command,
    equivalent_command,
    explain_command,
    format_command,
    hypothesize_command,
    lsp_command,
    models_command,
    query_command,
    run_command,
    sat_command,
    show_command,
    studio_command,
    translate_command,
    verify_command,
)
from larspark.cli.allocator import keep_freed_memory
from larspark.cli.app import app
from larspark.run.interval.kernels.compile import listen
from larspark.show.terminal import (
    CompileMessages,
    print_problems,
    print_unexpected,
    status_line,
)

__all__ = ["app", "main"]

# Neither bad input (1) nor wrong usage (2).
UNEXPECTED = 3


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """In this context, warnings about the input are printed as problems, others as before."""
    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if isinstance(message, LarsparkWarning):
            status_line.clear()
            print_problems([message.problem])
        else:
            others(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = others


def main() -> None:
    """Run the command line; problems go to stderr, tracebacks only with `--debug`."""
    debug = "--debug" in sys.argv
    # It is accepted anywhere, also after a command.
    sys.argv = [word for word in sys.argv if word != "--debug"]
    keep_freed_memory()
    listen(CompileMessages())
    try:
        with _shown_warnings():
            app()
    except LarsparkError as error:
        if debug:
            raise
        print_problems(error.problems)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of the pipe has closed it, as `head` does.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if debug:
            raise
        print_unexpected(error)
        sys.exit(UNEXPECTED)
    finally:
        status_line.clear()

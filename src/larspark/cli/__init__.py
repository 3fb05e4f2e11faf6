"""The command line: tables and colours at a terminal, JSON Lines for pipes."""

import gc
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
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
    submit_command,
    translate_command,
    verify_command,
    warm_command,
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

__all__ = ["app", "main", "start"]

# New objects after which Python looks for unreachable cycles.
_GARBAGE = 50_000

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


class _WithoutPandas(MetaPathFinder):
    """Lets imports of pandas fail as they do where it is not installed."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"{name} is not used by the command line", name=name)


def start() -> None:
    """The process `larspark`.

    pyarrow imports pandas, if there is one, with the first list that it converts, which takes as
    long as a small run. Only commands on Spark need it.
    """
    if not any("spark" in word for word in sys.argv[1:]):
        sys.meta_path.insert(0, _WithoutPandas())
    # What was imported stays, and looking through it for garbage takes longer than reading does.
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    main()


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

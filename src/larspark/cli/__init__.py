"""The terminal's front door. People get tables and colours, pipes get JSON Lines."""

import sys

from larspark.base.problems import LarsparkError

# A command registers itself where it is defined.
from larspark.cli import (  # noqa: F401
    bench_command,
    check_command,
    explain_command,
    hypothesize_command,
    models_command,
    query_command,
    run_command,
    show_command,
)
from larspark.cli.allocator import keep_freed_memory
from larspark.cli.app import app
from larspark.show.terminal import complain, complain_of_ourselves

__all__ = ["app", "main"]

# Neither bad input (1) nor wrong usage (2).
UNEXPECTED = 3


def main() -> None:
    """Run the command line; problems are told, tracebacks are for `--debug`."""
    debug = "--debug" in sys.argv
    # It may stand anywhere, also where a command reads its own options.
    sys.argv = [word for word in sys.argv if word != "--debug"]
    keep_freed_memory()
    try:
        app()
    except LarsparkError as error:
        if debug:
            raise
        complain(error.problems)
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read the output has had enough, as `head` does.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if debug:
            raise
        complain_of_ourselves(error)
        sys.exit(UNEXPECTED)

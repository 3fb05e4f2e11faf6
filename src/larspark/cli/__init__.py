"""The terminal's front door. People get tables and colours, pipes get JSON Lines."""

import sys

from larspark.base.problems import LarsparkError

# A command registers itself where it is defined.
from larspark.cli import bench, check, explain, hypothesize, models, query, run, show  # noqa: F401
from larspark.cli.app import app
from larspark.show.terminal import complain

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; problems are told, tracebacks are for `--debug`."""
    debug = "--debug" in sys.argv
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

"""Where output goes: people at a terminal get colours, pipes and files get JSON Lines."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rich.console import Console

from larspark.base.problems import Problem, Severity
from larspark.feeds import Stream

# A line of a pipe has no end of its own.
PLAIN_WIDTH = 100

errors = Console(stderr=True, highlight=False, soft_wrap=True)


class Writer:
    """Lines of output, either for people or for programs."""

    def __init__(self, out: IO[str], people: bool) -> None:
        self.people = people
        self._out = out
        self._console = Console(file=out, highlight=False, soft_wrap=True) if people else None

    @property
    def width(self) -> int:
        """How many characters fit into a line."""
        return PLAIN_WIDTH if self._console is None else self._console.width

    def line(self, text: str) -> None:
        """Write a line; for people it may carry Rich's markup."""
        if self._console is not None:
            self._console.print(text)
        else:
            self._out.write(text + "\n")

    def flush(self) -> None:
        """Let out what was written."""
        self._out.flush()

    def json(self, value: Any) -> None:
        self._out.write(json.dumps(value, ensure_ascii=False) + "\n")


@contextmanager
def writer(path: Path | None, as_json: bool) -> Iterator[Writer]:
    """A writer to standard output or to a file that replaces an older one."""
    if path is None:
        yield Writer(sys.stdout, people=not as_json and sys.stdout.isatty())
        sys.stdout.flush()
        return
    with path.open("w", encoding="utf-8") as out:
        yield Writer(out, people=False)


def complain(problems: Iterable[Problem]) -> None:
    """Tell problems on standard error, each with its place and a way out."""
    for problem in problems:
        head, *rest = problem.render().split("\n")
        colour = "red" if problem.severity is Severity.ERROR else "yellow"
        errors.print(head, style=colour, markup=False)
        for text in rest:
            errors.print(text, markup=False)


def say_what_was_skipped(stream: Stream) -> None:
    """Count on standard error what `--on-error skip` left out."""
    complain(stream.problems)
    if stream.skipped:
        errors.print(f"skipped {stream.skipped} of {stream.skipped + stream.facts} facts")

"""The interface of a dialect: text in, program and problems out.

A dialect is one module of `larspark.language.dialects`, with a function `parse`, and one line in
its table. How the module reads the text is its own business; the spans of the tree and of the
problems are places in the original text. Dialects made of LARS tokens and statements share
`collector.Collector`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from larspark.base.problems import Problem
from larspark.language.tree import Program

if TYPE_CHECKING:
    from larspark.language.kept_statements import KeptStatements

# Gives the text of a file that is named relative to the main program's directory; raises
# LookupError, OSError or ValueError when there is none.
Read = Callable[[str], str]
# Says why a file may not be read, by its path; empty if it may be read.
Forbid = Callable[[str], str]


def _nothing(_path: str) -> str:
    """Forbid nothing."""
    return ""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """The text of a program, and what its `#include` and `#background` directives need.

    `name` stands in spans. `path` is the path of the text below the directory `root`; both are
    empty for a text that is not a file. Without `read` there are no includes. `forbid` confines the
    files that the text may name. `options` are those of the dialect, such as the reading of a
    temporal formula. `kept` are statements of earlier versions of the text; LARS reads them anew
    only where they changed.
    """

    text: str
    name: str = "<program>"
    path: str = ""
    root: str = ""
    read: Read | None = None
    forbid: Forbid = _nothing
    options: Mapping[str, str] = field(default_factory=dict)
    kept: "KeptStatements | None" = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A program, unless its text has errors, and all errors and warnings."""

    program: Program | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """A language that programs are written in.

    `name` is the value of `--dialect`; a file with one of the `suffixes` is read in the dialect
    when none is named. `options` are the names of the options that its `parse` knows.
    """

    name: str
    suffixes: tuple[str, ...]
    parse: Callable[[ProgramText], Parsed]
    options: tuple[str, ...] = ()

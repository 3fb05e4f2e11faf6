"""The cell magic `%%lars` of notebooks: a program, and its answers over a stream."""

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from larspark.api.program import Program, Report
from larspark.api.questions import run, show
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.base.spelling import Vocabulary
from larspark.feeds import StreamOrTable
from larspark.show.timeline.picture import Picture

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise LarsparkError(Problem("L501", f"%%lars: {message}", hint="`%%lars?` lists options"))


def _parser() -> ArgumentParser:
    about = "Run a program over a stream and draw both; without a stream, check the program."
    parser = _Parser("%%lars", description=about, add_help=False)
    add = parser.add_argument
    add("name", nargs="?", help="the variable that gets the program")
    add("-s", "--stream", help="a variable with a stream or a table, or the path of a file")
    add("-m", "--map", help="columns to facts: 'time -> temp(sensor, value)'")
    add("-b", "--background", help="a variable with background facts")
    add("-a", "--answers", help="the variable that gets the intervals of the answers as a table")
    add("-e", "--engine", default="auto", help="the engine, such as interval or asp")
    add("-d", "--dialect", default="lars", help="the language of the program, such as cql")
    add("--from", dest="start", help="the first time point of the timeline, or a timestamp")
    add("--to", help="the last time point that is evaluated, or a timestamp")
    add("--at", help="draw the windows at this time point or timestamp")
    add("--only", default="", help="draw only these predicates: 'hot,alarm'")
    return parser


def register_cells(shell: "InteractiveShell") -> None:
    """Let cells of IPython and Jupyter begin with `%%lars`."""
    # Whoever loads an extension of IPython has IPython.
    from IPython.core.error import UsageError

    parser = _parser()

    def lars(line: str, cell: str) -> Report | Picture:
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"%%lars: {error}") from None
        try:
            return _evaluated(shell.user_ns, parser.parse_args(words), cell)
        except LarsparkError as error:
            # A mistake is shown with its place, without a traceback.
            raise UsageError(str(error)) from None

    lars.__doc__ = parser.format_help()
    shell.magics_manager.register_function(lars, "cell", "lars")


def _evaluated(names: dict[str, Any], options: Namespace, text: str) -> Report | Picture:
    program = Program.parse(text, dialect=options.dialect, source="<cell>")
    if options.name:
        names[options.name] = program
    background: Iterable[Atom | str] = ()
    if options.background is not None:
        if options.background not in names:
            raise _unknown(options.background, names)
        background = names[options.background]
    if options.stream is None:
        return program.check()
    stream: StreamOrTable = names.get(options.stream, options.stream)
    given = {name: getattr(options, name) for name in ("map", "engine", "start", "to")}
    if options.answers:
        names[options.answers] = run(program, stream, background=background, **given)
    only = [name.strip() for name in options.only.split(",") if name.strip()]
    return show(program, stream, background=background, at=options.at, only=only, **given)


def _unknown(name: str, names: dict[str, Any]) -> LarsparkError:
    meant = Vocabulary(names).closest(name)
    hint = f"did you mean `{meant}`?" if meant else ""
    return LarsparkError(Problem("L501", f"there is no variable `{name}`", hint=hint))

"""Opening of programs, streams and background data by the options of a command."""

from collections.abc import Mapping
from pathlib import Path

from larspark import api
from larspark.base.atoms import Atom
from larspark.cli.options import Layout, OnError, existing
from larspark.feeds import Stream, read_background
from larspark.language import DIALECTS
from larspark.language.dialects import dialect_of
from larspark.language.tree import Tick
from larspark.show.terminal import print_problems


def load_program(
    path: Path,
    dialect: str | None,
    allow: list[Path] | None = None,
    options: Mapping[str, str | None] | None = None,
    *,
    hindsight: bool = False,
) -> api.Program:
    """The program of a command; `options` are those of the dialect that the user has given.

    With hindsight, a language that has readings is read for that.
    """
    given = {name: value for name, value in (options or {}).items() if value is not None}
    known = dialect_of(path) if dialect is None else DIALECTS.get(dialect)
    if hindsight and known is not None and "reading" in known.options:
        given.setdefault("reading", "each")
    loaded = api.Program.load(path, dialect=dialect, allow=allow or (), **given)
    print_problems(loaded.warnings)
    return loaded


def background_facts(files: list[Path] | None) -> list[Atom]:
    return [atom for path in files or () for atom in read_background(path)]


def open_stream(
    stream: str,
    mapping: str | None,
    tick: Tick | None,
    on_error: OnError | None,
    lateness: str,
    layout: Layout = Layout(),  # noqa: B008 - a named tuple cannot change
) -> Stream:
    if stream != "-":
        existing(Path(stream))
    microseconds = tick.microseconds if tick is not None else None
    return Stream.read(
        stream,
        format=layout.format,
        map=mapping,
        delimiter=layout.delimiter,
        columns=layout.columns,
        tick=microseconds,
        on_error=(on_error or OnError.FAIL).value,
        lateness=lateness,
    )

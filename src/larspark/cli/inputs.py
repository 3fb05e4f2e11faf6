"""Opening of programs, streams and background data by the options of a command."""

from pathlib import Path

from larspark import api
from larspark.base.atoms import Atom
from larspark.cli.options import OnError, existing
from larspark.feeds import Stream, read_background
from larspark.language.tree import Tick
from larspark.show.terminal import print_problems


def load_program(path: Path, dialect: str | None, allow: list[Path] | None = None) -> api.Program:
    loaded = api.Program.load(path, dialect=dialect, allow=allow or ())
    print_problems(loaded.warnings)
    return loaded


def background_facts(files: list[Path] | None) -> list[Atom]:
    return [atom for path in files or () for atom in read_background(path)]


def open_stream(
    stream: str, mapping: str | None, tick: Tick | None, on_error: OnError, lateness: int
) -> Stream:
    if stream != "-":
        existing(Path(stream))
    microseconds = tick.microseconds if tick is not None else None
    return Stream.read(
        stream, map=mapping, tick=microseconds, on_error=on_error.value, lateness=lateness
    )

"""Programs in files."""

from pathlib import Path

from larspark.base.problems import Problem
from larspark.language.collect import MAX_CHARACTERS, Collector
from larspark.language.dialects import Dialect
from larspark.language.parser import Parsed, parsed, unknown_dialect


def load_program(path: str | Path, dialect: str = "lars") -> Parsed:
    """Read a program file and the files it includes.

    Included files lie in the directory of the program or below it. Paths of `#include` and
    `#background` are meant from the file that names them.
    """
    if dialect not in tuple(Dialect):
        return unknown_dialect(dialect)
    path = Path(path)
    try:
        text = _read_text(path)
    except OSError as error:
        return _unreadable(path, error.strerror or "it cannot be read")
    except ValueError as error:
        return _unreadable(path, str(error))
    root = path.parent

    def read(relative: str) -> str:
        target = root / relative
        if not target.resolve().is_relative_to(root.resolve()):
            raise ValueError("it is a link out of the directory of the main program")
        return _read_text(target)

    collector = Collector(Dialect(dialect), read, "" if str(root) == "." else root.as_posix())
    program = collector.program(str(path), text, path.name)
    return parsed(program, collector)


def _read_text(path: Path) -> str:
    # A character takes at most four bytes, so a larger file is too large in any case.
    if path.stat().st_size > 4 * MAX_CHARACTERS:
        raise ValueError(f"it has more than {MAX_CHARACTERS} characters")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _unreadable(path: Path, why: str) -> Parsed:
    return Parsed(None, (Problem("L121", f"{path} cannot be read: {why}"),))

"""Files that are named on the command line: when one is missing, which one was meant?"""

from pathlib import Path

from larspark.base.problems import LarsparkError, Problem
from larspark.meaning.spelling import Vocabulary


def existing(path: Path | None) -> Path | None:
    """The path, if there is something; else the name that it was probably meant to be."""
    if path is not None and not path.exists():
        raise LarsparkError(Problem("L503", f"there is no file {path}", hint=_hint(path)))
    return path


def all_existing(paths: list[Path] | None) -> list[Path] | None:
    for path in paths or ():
        existing(path)
    return paths


def _hint(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder} either"
    meant = Vocabulary(other.name for other in folder.iterdir()).closest(path.name)
    return f"did you mean {folder / meant}?" if meant is not None else ""

"""Files whose last line may not be whole yet."""

import os
from pathlib import Path

_LOOK = 1 << 16


def end_of_lines(path: Path) -> int:
    """Where the last line ends that is whole; 0 when there is none, or no file."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        place = file.seek(0, os.SEEK_END)
        while place > 0:
            before = max(0, place - _LOOK)
            file.seek(before)
            found = file.read(place - before).rfind(b"\n")
            if found >= 0:
                return before + found + 1
            place = before
    return 0

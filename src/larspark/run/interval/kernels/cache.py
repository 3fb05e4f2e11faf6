"""Compiled kernels that may be out of date are thrown away.

Numba notices when the file of a kernel changes, but not when a file does that a kernel takes
helpers or constants from, and a kernel of another layout gives wrong answers without a word. So
the folder's sources leave their fingerprint beside the compiled code.
"""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

_STAMP = "kernels.sha256"


def forget_outdated(folder: Path) -> None:
    """Remove Numba's files for a folder if any of its sources changed since they were made.

    Where nothing can be written Numba keeps them elsewhere, for installed packages, whose files
    all change at once.
    """
    cache = folder / "__pycache__"
    stamp = cache / _STAMP
    fingerprint = sha256()
    for source in sorted(folder.glob("*.py")):
        fingerprint.update(source.name.encode() + source.read_bytes())
    with suppress(OSError):
        if stamp.exists() and stamp.read_text() == fingerprint.hexdigest():
            return
    with suppress(OSError):
        for compiled in [*cache.glob("*.nbi"), *cache.glob("*.nbc")]:
            compiled.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(fingerprint.hexdigest())

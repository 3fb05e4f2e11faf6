"""Compiled kernels on disk, which Numba writes and reads.

Numba notices when the file of a kernel changes, but not when a file changes from which the kernel
takes helpers or constants, and a kernel with an outdated layout gives wrong answers. So a hash of
the folder's sources is kept beside the compiled code, which is removed when the hash changes.
"""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

_STAMP = "kernels.sha256"


def remove_outdated(folder: Path) -> None:
    """Remove Numba's files for a folder if any of its sources changed since they were made.

    If the folder is read-only Numba caches elsewhere; the files of an installed package change all
    at once.
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


def is_kept(dispatcher: Any) -> bool:
    """Is compiled code written to disk?"""
    return _folder(dispatcher) is not None


def is_cached(dispatcher: Any, types: tuple[Any, ...]) -> bool:
    """Is the code for these types of arguments on disk, whole and readable?

    Numba has no function for this question; the versions that are allowed answer it so.
    """
    if types in dispatcher.overloads:
        return True
    folder = _folder(dispatcher)
    if folder is None:
        return False
    cache = dispatcher._cache
    key = cache._index_key(types, dispatcher.targetctx.codegen())
    return cache._cache_file.load(key) is not None


def discard_cached(dispatcher: Any) -> None:
    """Remove the files of a kernel."""
    folder = _folder(dispatcher)
    if folder is not None:
        function = dispatcher.py_func
        stem = function.__module__.rsplit(".", 1)[-1]
        for compiled in folder.glob(f"{stem}.{function.__name__}-*.nb[ic]"):
            with suppress(OSError):
                compiled.unlink()


def _folder(dispatcher: Any) -> Path | None:
    path = getattr(dispatcher._cache, "cache_path", None)
    return None if path is None else Path(path)

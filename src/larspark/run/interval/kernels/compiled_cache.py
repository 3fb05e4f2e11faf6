"""Compiled kernels on disk, which Numba writes and reads.

Numba notices when the file of a kernel changes, but not when a file changes from which the kernel
takes helpers or constants, and a kernel with an outdated layout gives wrong answers. So a hash of
the folder's sources is kept beside the compiled code, which is removed when the hash changes, or is
part of the folder's name.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from larspark.base.private_folder import private_folder

_STAMP = "kernels.sha256"
_SOURCES = Path(__file__).parent
_COMPILED = ("*.nbc", "*.nbi")


@cache
def cache_folder() -> Path:
    """The folder for compiled kernels; an OSError says why there is none.

    Processes of the same user on a host share it. It lies beside the sources where these can be
    written to, else it is a private folder, which begins with what was compiled beside the sources
    when larspark was installed. NUMBA_CACHE_DIR comes before both.
    """
    if given := _numba_config().CACHE_DIR:
        return Path(given)
    beside = _SOURCES / "__pycache__"
    if _is_writable(beside):
        remove_outdated(_SOURCES)
        return beside
    folder = private_folder() / f"kernels-{fingerprint(_SOURCES)[:16]}"
    if not folder.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        _copy_compiled(beside, folder)
    return folder


@contextmanager
def kept_on_disk() -> Iterator[None]:
    """Let Numba keep the functions that it is given meanwhile in the folder."""
    config = _numba_config()
    folder, before = cache_folder(), config.CACHE_DIR
    if folder != _SOURCES / "__pycache__":
        config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _numba_config() -> Any:
    from numba.core import config

    return config


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _copy_compiled(beside: Path, folder: Path) -> None:
    """Copy what was compiled of these sources by a user who could write beside them."""
    from numba.core.caching import _CacheLocator

    locator: Any = _CacheLocator
    with suppress(OSError):
        if (beside / _STAMP).read_text() != fingerprint(_SOURCES):
            return
        # Numba makes a folder for the sources of each path.
        target = folder / locator.get_suitable_cache_subpath(__file__)
        target.mkdir(exist_ok=True)
        # An index is copied after what it lists.
        for pattern in _COMPILED:
            for compiled in beside.glob(pattern):
                copy = target / f"{compiled.name}.copying"
                shutil.copyfile(compiled, copy)
                copy.replace(target / compiled.name)


def compiled_files() -> Iterator[tuple[Path, bytes]]:
    """What was compiled of these sources, as files beside them."""
    made_from, beside = fingerprint(_SOURCES), _SOURCES / "__pycache__"
    with suppress(OSError):
        is_beside = (beside / _STAMP).exists() and (beside / _STAMP).read_text() == made_from
        private = private_folder() / f"kernels-{made_from[:16]}"
        yield beside / _STAMP, made_from.encode()
        for folder in [beside] if is_beside else private.glob("*/"):
            for path in [path for pattern in _COMPILED for path in sorted(folder.glob(pattern))]:
                yield beside / path.name, path.read_bytes()


def fingerprint(folder: Path) -> str:
    """A hash of the sources in a folder."""
    digest = sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()


def remove_outdated(folder: Path) -> None:
    """Remove Numba's files for a folder if any of its sources changed since they were made."""
    cache = folder / "__pycache__"
    stamp = cache / _STAMP
    made_from = fingerprint(folder)
    with suppress(OSError):
        if stamp.exists() and stamp.read_text() == made_from:
            return
    with suppress(OSError):
        for compiled in [path for pattern in _COMPILED for path in cache.glob(pattern)]:
            compiled.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(made_from)


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

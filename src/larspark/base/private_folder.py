"""A folder of this user for code that is made or received at run time, and the package in it.

Compiled kernels and the package that travels to executors are code: whoever can write to their
folder can run anything as this user. This file stands on the standard library alone, because it is
also the start of the zip that travels (see `scale/travel.py`).
"""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZipFile

# What the zip holds beside the files of the packages, which lie in `packages/`.
DIGEST_FILE, PACKAGES = "larspark.digest", "packages"


def private_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder, which is made if it is missing; an OSError says why there is none.

    It is LARSPARK_CACHE, or else the first of the user's cache folder and one in the folder for
    temporary files that this user can write to and no one else.
    """
    if given := environment.get("LARSPARK_CACHE"):
        reason = _objection(Path(given))
        if reason:
            raise OSError(f"LARSPARK_CACHE={given} {reason}")
        return Path(given)
    reasons = []
    for place in _places(environment):
        reason = _objection(place)
        if not reason:
            return place
        reasons.append(f"{place} {reason}")
    raise OSError(f"{'; '.join(reasons)}; set LARSPARK_CACHE to a folder of this user")


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    caches = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(caches):
        yield Path(caches) / "larspark"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(tempfile.gettempdir()) / f"larspark-{user}"


def _objection(place: Path) -> str:
    """Why a folder is not private; empty if it is. It is made if it is missing."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place.lstat()
        above = [each.stat() for each in place.resolve().parents]
    except OSError as error:
        return f"cannot be made ({error.strerror})"
    if not stat.S_ISDIR(found.st_mode):
        return "is a link, not a folder"
    if not os.access(place, os.W_OK | os.X_OK):
        return "cannot be written to"
    if not hasattr(os, "getuid"):
        return ""
    if found.st_uid != os.getuid():
        return "belongs to another user"
    if found.st_mode & 0o022:
        return "can be written to by others"
    for each in above:
        # In a sticky folder only the owner of an entry can rename or remove it.
        can_be_moved = each.st_mode & 0o022 and not each.st_mode & stat.S_ISVTX
        if can_be_moved or each.st_uid not in (0, os.getuid()):
            return "lies in a folder that others can write to"
    return ""


def package_files(package: Path) -> Iterator[Path]:
    """The files of a package, in order, without what was compiled from them."""
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path


def package_digest(package: Path) -> str:
    """A hash of the files of a package: it is the same where the package is the same."""
    digest = sha256()
    for path in package_files(package):
        name = path.relative_to(package).as_posix()
        digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def unpacked(archive: Path, name: str) -> Path:
    """The folder with the packages of a zip; the first process on this host unpacks it."""
    home = private_folder() / name
    if home.is_dir():
        return home
    making = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=home.parent))
    try:
        with ZipFile(archive) as packed:
            packed.extractall(making)
        try:
            (making / PACKAGES).rename(home)
        except OSError:
            # Another process was faster.
            if not home.is_dir():
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return home


def start_unpacked(namespace: dict[str, Any]) -> None:
    """Let the module `larspark` of a zip be the package that is installed or unpacked.

    An installed package is used if it is the same: it may have compiled kernels. The package's own
    start is run when one of its names is needed, which executors do not.
    """
    archive = Path(namespace["__loader__"].archive)
    with ZipFile(archive) as packed:
        version, digest = packed.read(DIGEST_FILE).decode().split()
    package = _installed(archive, digest)
    if package is None:
        home = unpacked(archive, f"larspark-{version}-{digest[:16]}")
        package = home / "larspark"
        # Behind everything else: installed packages come first.
        sys.path.append(str(home))
    start = package / "__init__.py"
    namespace.update(__path__=[str(package)], __file__=str(start), __version__=version)
    namespace["__spec__"].submodule_search_locations = namespace["__path__"]

    def load(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module `larspark` has no attribute `{name}`")
        del namespace["__getattr__"]
        exec(compile(start.read_bytes(), str(start), "exec"), namespace)  # noqa: S102 - ourselves
        return getattr(sys.modules["larspark"], name)

    namespace["__getattr__"] = load


def _installed(archive: Path, digest: str) -> Path | None:
    """The same package, installed on this host."""
    if find_spec("lark") is None:
        return None
    for entry in sys.path:
        package = Path(entry or ".") / "larspark"
        if Path(entry) != archive and (package / "__init__.py").is_file():
            return package if package_digest(package) == digest else None
    return None

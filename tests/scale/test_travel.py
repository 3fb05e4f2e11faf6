"""The package travels as a zip, is unpacked safely, and executors are compared with the driver."""

import logging
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from larspark.base.private_folder import PACKAGES, package_digest, private_folder, unpacked
from larspark.base.problems import LarsparkError

pytest.importorskip("pyspark")
from tests.scale.cluster import python_without

from larspark.scale.problem_transport import reported_problems
from larspark.scale.spark_session import PySparkException
from larspark.scale.travel import Executor, package_zip, report

IMPORTED = """
import sys
sys.path.insert(1, sys.argv[1])
from larspark.scale import piece_step
import larspark, lark
print(larspark.__version__, piece_step.__file__, lark.__file__, "rich" in sys.modules)
"""


def imported(python: Path, archive: Path, cache: Path) -> "subprocess.CompletedProcess[str]":
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(python), "-c", IMPORTED, str(archive)],
        env={**variables, "LARSPARK_CACHE": str(cache)},
        cwd=cache.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_python_without_larspark_runs_it_from_the_zip(tmp_path: Path) -> None:
    python = python_without(tmp_path / "python", "larspark", "lark", "rich")
    cache = tmp_path / "cache"
    done = imported(python, package_zip(), cache)
    assert done.returncode == 0, done.stderr
    version, module, parser, has_rich = done.stdout.split()
    [home] = cache.iterdir()
    assert home.name.startswith(f"larspark-{version}-")
    assert Path(module) == home / "larspark" / "scale" / "piece_step.py"
    assert Path(parser).is_relative_to(home)
    # What only users call is not loaded.
    assert has_rich == "False"
    # The next process finds it unpacked.
    before = (home / "larspark" / "__init__.py").stat().st_ino
    assert imported(python, package_zip(), cache).returncode == 0
    assert (home / "larspark" / "__init__.py").stat().st_ino == before


def test_an_installed_package_is_used_if_it_is_the_same(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    with zipfile.ZipFile(package_zip()) as packed:
        packed.extractall(tmp_path / "all")
    (tmp_path / "all" / PACKAGES).rename(installed)
    python = python_without(tmp_path / "python", "larspark", "lark", "rich")
    [target] = (tmp_path / "python").glob("lib/python3*/site-packages")
    for package in ("larspark", "lark"):
        (installed / package).rename(target / package)
    module = imported(python, package_zip(), tmp_path / "cache").stdout.split()[1]
    assert Path(module).is_relative_to(target)
    # Another one is not.
    (target / "larspark" / "base" / "more.py").write_text("")
    module = imported(python, package_zip(), tmp_path / "cache").stdout.split()[1]
    assert Path(module).is_relative_to(tmp_path / "cache")


def test_folders_that_others_can_write_to_are_not_used(tmp_path: Path) -> None:
    safe = tmp_path / "safe"
    assert private_folder({"LARSPARK_CACHE": str(safe)}) == safe
    assert safe.stat().st_mode & 0o777 == 0o700
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(OSError, match="can be written to by others"):
        private_folder({"LARSPARK_CACHE": str(shared)})
    with pytest.raises(OSError, match="lies in a folder that others can write to"):
        private_folder({"LARSPARK_CACHE": str(shared / "larspark")})
    (tmp_path / "link").symlink_to(safe)
    with pytest.raises(OSError, match="is a link"):
        private_folder({"LARSPARK_CACHE": str(tmp_path / "link")})
    # The next place is used where the first one is not safe.
    found = private_folder({"XDG_CACHE_HOME": str(shared)})
    assert not found.is_relative_to(shared)
    assert found.stat().st_mode & 0o077 == 0
    if os.getuid() == 0:
        os.chown(safe, 12345, -1)
        with pytest.raises(OSError, match="belongs to another user"):
            private_folder({"LARSPARK_CACHE": str(safe)})


def test_a_zip_that_is_unpacked_by_another_process_is_not_unpacked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "LARSPARK_CACHE", str(tmp_path))
    home = unpacked(package_zip(), "larspark-x")
    assert package_digest(home / "larspark") == package_digest(
        Path(sys.modules["larspark"].__path__[0])
    )
    assert [path.name for path in tmp_path.iterdir()] == ["larspark-x"]
    (home / "mark").touch()
    assert (unpacked(package_zip(), "larspark-x") / "mark").exists()


def test_executors_are_compared_with_the_driver(caplog: pytest.LogCaptureFixture) -> None:
    mine = package_digest(Path(sys.modules["larspark"].__path__[0]))
    version = sys.modules["larspark"].__version__
    with caplog.at_level(logging.WARNING):
        report([Executor("one", version, mine, "0.61.0")])
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        report([Executor("one", version, mine, "0.61.0"), Executor("two", version, mine, None)])
    [record] = caplog.records
    assert "numba is not installed on executors (two)" in record.getMessage()
    with pytest.raises(LarsparkError) as caught:
        report([Executor("one", "0.0.9", "other", None)])
    [problem] = caught.value.problems
    assert (problem.code, problem.message) == (
        "L498",
        f"the driver has larspark {version}, one has 0.0.9",
    )


def test_a_missing_package_of_an_executor_is_named() -> None:
    error = PySparkException("Job aborted: ModuleNotFoundError: No module named 'larspark.scale'")
    [problem] = reported_problems(error)
    assert (problem.code, problem.message) == ("L497", "executors lack the package larspark")

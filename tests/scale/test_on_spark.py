"""`larspark run --on spark` writes what `--on local` writes."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from larspark.base.problems import LarsparkError
from larspark.cli import app

pytest.importorskip("pyspark")
pytestmark = pytest.mark.xdist_group("spark")

MACHINES = """
hot(M) :- [3] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5] some serviced(M), watched(M).
last(M, V) :- [#2] @T temp(M, V).
"""
CLASHES = "p(X) :- [1] some a(X). :- p(X), b(X)."
EVENTS = """{"t": 1, "atom": "temp(m1,95)"}
{"t": 2, "atoms": ["temp(m2,50)", "serviced(m1)", "temp(\\"the third\\",91.5)"]}
{"t": 3}
{"t": 9, "atoms": ["temp(m1,97)", "unread(x)"]}
{"t": 12}
"""
CLASH_EVENTS = "@2 a(x). @3 b(x). @4 b(x). @6 a(y). @9 b(x)."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "m.lars").write_text(MACHINES)
    (tmp_path / "watched.lars").write_text("watched(m1).")
    (tmp_path / "e.jsonl").write_text(EVENTS)
    (tmp_path / "clash.lars").write_text(CLASHES)
    (tmp_path / "clashes.lars").write_text(CLASH_EVENTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(*words: str) -> str:
    return done(*words).stdout


def done(*words: str) -> Result:
    result = CliRunner().invoke(app, ["run", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


POINTS = ("--as", "points")
MACHINE_RUN = ("m.lars", "--stream", "e.jsonl", "--background", "watched.lars", *POINTS)
CLASH_RUN = ("clash.lars", "--stream", "clashes.lars", *POINTS)


@pytest.mark.parametrize(
    "words",
    [
        MACHINE_RUN,
        (*MACHINE_RUN, "--as", "changes", "--from", "2"),
        (*MACHINE_RUN, "--as", "intervals", "--to", "10"),
        (*MACHINE_RUN, "--at", "4"),
        (*MACHINE_RUN, "--hindsight", "--as", "intervals"),
        CLASH_RUN,
        (*CLASH_RUN, "--as", "intervals"),
        (*CLASH_RUN, "--as", "changes"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_spark_writes_what_a_local_run_writes(spark: Any, words: tuple[str, ...]) -> None:
    here = written(*words)
    assert here
    assert written(*words, "--on", "spark") == here


@pytest.mark.parametrize("program", ["a :- not b, p(X). b :- not a, p(X).", "q(X) :- pp(X)."])
def test_notes_are_those_of_a_local_run(spark: Any, folder: Path, program: str) -> None:
    (folder / "noted.lars").write_text(program)
    (folder / "p.lars").write_text("@1 p(x). @3 p(y).")
    words = ("noted.lars", "--stream", "p.lars")
    here = done(*words)
    assert "note: " in here.stderr
    there = done(*words, "--on", "spark")
    assert (there.stdout, there.stderr) == (here.stdout, here.stderr)


def test_bad_lines_are_told_as_locally(spark: Any, folder: Path) -> None:
    (folder / "bad.jsonl").write_text('{"t": 1, "atom": "temp(m1,95)"}\n{"t": 0, "atom": "temp(')
    words = ("m.lars", "--stream", "bad.jsonl")

    def told(where: str) -> list[str]:
        with pytest.raises(LarsparkError) as caught:
            written(*words, "--on", where)
        return [problem.render() for problem in caught.value.problems]

    assert told("spark") == told("local")
    assert written(*words, "--on-error", "skip", "--on", "spark") == written(
        *words, "--on-error", "skip"
    )


@pytest.mark.usefixtures("folder")
def test_a_stream_without_facts_has_no_lines(spark: Any, folder: Path) -> None:
    (folder / "empty.jsonl").write_text("")
    assert written("m.lars", "--stream", "empty.jsonl", "--on", "spark") == ""


@pytest.mark.usefixtures("folder")
def test_push_mode_runs_locally() -> None:
    words = ["run", "m.lars", "--stream", "e.jsonl", "--mode", "push", "--on", "spark"]
    assert CliRunner().invoke(app, words).exit_code == 2


@pytest.mark.usefixtures("folder")
def test_without_java_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("larspark.scale.spark_session._bundled", lambda: None)
    with pytest.raises(LarsparkError, match="L481: Spark needs Java 17 or later"):
        written(*MACHINE_RUN, "--on", "spark")

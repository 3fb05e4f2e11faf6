"""`larspark submit` over history; streams on a cluster are in `test_cluster.py`."""

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from click.testing import Result
from typer.testing import CliRunner

from larspark.base.problems import LarsparkError
from larspark.cli import app

pytest.importorskip("pyspark")
pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = "#tick 1 min. hot(M, V) :- [3 min] some temp(M, V), V > 90."
READINGS = """time,machine,value
2026-03-01T10:01:10Z,m1,95
2026-03-01T10:02:00Z,m2,88.5
2026-03-01T23:59:40Z,m2,99.5
"""


def submitted(folder: Path, *words: str) -> Result:
    (folder / "hot.lars").write_text(PROGRAM)
    (folder / "readings").mkdir(exist_ok=True)
    (folder / "readings" / "day.csv").write_text(READINGS)
    command = ["submit", str(folder / "hot.lars"), "--stream", str(folder / "readings")]
    command += ["--output", str(folder / "out"), "--shards", "2", "--history", *words]
    return CliRunner().invoke(app, command, catch_exceptions=False)


CSV = ("--format", "csv", "--map", "time -> temp(machine, value)")


def test_history_becomes_tables_by_day(spark: Any, tmp_path: Path) -> None:
    result = submitted(tmp_path, *CSV, "--table", "hot/2: machine string, value double")
    assert result.exit_code == 0, result.output
    rows = ds.dataset(tmp_path / "out" / "hot", partitioning="hive").to_table().to_pylist()
    found = sorted((r["machine"], r["value"], r["begins"].isoformat(), str(r["day"])) for r in rows)
    assert found == [
        ("m1", 95.0, "2026-03-01T10:01:00+00:00", "2026-03-01"),
        ("m2", 99.5, "2026-03-01T23:59:00+00:00", "2026-03-01"),
    ]


def test_what_cannot_be_submitted_is_refused_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(LarsparkError, match="tables of history are written as Parquet"):
        submitted(tmp_path, *CSV, "--tables", "delta")
    with pytest.raises(LarsparkError, match="history is read from Parquet, CSV or JSON"):
        submitted(tmp_path, "--map", "time -> temp(machine, value)")
    topic = "kafka://localhost:9092/alarms"
    with pytest.raises(LarsparkError, match="a topic of Kafka is a stream, not history"):
        submitted(tmp_path, *CSV, "--output", topic)
    result = submitted(tmp_path, *CSV, "--conf", "spark.ui.enabled")
    assert result.exit_code == 2
    assert "is not NAME=VALUE" in result.output


def test_topics_need_a_checkpoint_and_a_schema_with_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "hot.lars").write_text(PROGRAM)
    topic = "kafka://localhost:9092/facts"
    words = ["submit", str(tmp_path / "hot.lars"), "--stream", topic, "--output", topic]
    with pytest.raises(LarsparkError) as caught:
        CliRunner().invoke(
            app, [*words, *CSV[2:], "--table", "hot/2: m string, v double"], catch_exceptions=False
        )
    assert [problem.message for problem in caught.value.problems] == [
        "JSON messages need a schema and a mapping, our JSON Lines neither",
        "a stream into a topic needs a folder for its state",
        "tables hold intervals, in a folder",
    ]

"""Tables of answers: typed, with timestamps, by day, and each micro-batch once."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from larspark.base.problems import LarsparkError
from larspark.scale.piece_step import SCHEMA

pytest.importorskip("pyspark")
from larspark.scale.streaming import table_sink
from larspark.scale.streaming.table_sink import TableSink, append_delta, write_parquet
from larspark.spark import outputs

PROGRAM = "#tick 1 min. hot(S, V) :- temp(S, V). calm(S) :- ok(S)."
COLUMNS = {"hot/2": "sensor string, value double", "calm/1": "sensor string"}
DAY = 24 * 60


def sink(folder: Path) -> TableSink:
    made = table_sink.table_sink(folder, PROGRAM, COLUMNS, format="parquet")
    found: TableSink = made.keywords["sink"]  # type: ignore[attr-defined]
    return found


def answers(*rows: tuple[str | None, int, int]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table([list(column) for column in columns], schema=SCHEMA)


FIRST = answers(("hot(a,3)", 5, 7), ("calm(a)", 8, DAY), (None, 1, 1))
SECOND = answers(("hot(b,2.5)", DAY + 1, DAY + 1), ("hot(a,1)", 9, 9))
HOT = [
    ("a", 1.0, 9, 9, "1970-01-01"),
    ("a", 3.0, 5, 7, "1970-01-01"),
    ("b", 2.5, DAY + 1, DAY + 1, "1970-01-02"),
]
CALM = [("a", 8, DAY, "1970-01-01")]


def rows_of(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    names = [*columns, "from", "to", "day"]
    return sorted(
        tuple(str(row[name]) if name == "day" else row[name] for name in names)
        for row in table.to_pylist()
    )


def delta_table(place: Path) -> pa.Table:
    deltalake = pytest.importorskip("deltalake")
    return deltalake.DeltaTable(place).to_pyarrow_table()


def parquet_table(place: Path) -> pa.Table:
    return ds.dataset(place, partitioning="hive").to_table()


def test_delta_lake_takes_a_repeated_micro_batch_once(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    for batch, rows in ((0, FIRST), (0, FIRST), (1, SECOND), (1, SECOND), (2, answers())):
        append_delta(rows, batch, sink(tmp_path), "stream")
    assert rows_of(delta_table(tmp_path / "hot"), "sensor", "value") == HOT
    assert rows_of(delta_table(tmp_path / "calm"), "sensor") == CALM
    # A crash between two tables: the next attempt writes the one that is missing.
    append_delta(FIRST, 0, sink(tmp_path / "other")._replace(tables={}), "stream")
    hot_only = {k: v for k, v in sink(tmp_path).tables.items() if k.predicate == "hot"}
    append_delta(FIRST, 0, sink(tmp_path / "other")._replace(tables=hot_only), "stream")
    append_delta(FIRST, 0, sink(tmp_path / "other"), "stream")
    assert rows_of(delta_table(tmp_path / "other" / "hot"), "sensor", "value") == HOT[1:2]
    assert rows_of(delta_table(tmp_path / "other" / "calm"), "sensor") == CALM
    # Another stream has numbers of its own.
    append_delta(FIRST, 0, sink(tmp_path), "another stream")
    assert len(rows_of(delta_table(tmp_path / "calm"), "sensor")) == 2


def test_parquet_files_of_a_repeated_micro_batch_are_replaced(tmp_path: Path) -> None:
    # The first attempt, by another program, had an answer on another day.
    other = answers(("hot(z,9)", 9 * DAY, 9 * DAY))
    for batch, rows in ((0, FIRST), (0, FIRST), (1, other), (1, SECOND), (2, answers())):
        write_parquet(rows, batch, sink(tmp_path))
    assert rows_of(parquet_table(tmp_path / "hot"), "sensor", "value") == HOT
    assert rows_of(parquet_table(tmp_path / "calm"), "sensor") == CALM
    row = parquet_table(tmp_path / "calm").to_pylist()[0]
    assert row["begins"] == datetime(1970, 1, 1, 0, 8, tzinfo=UTC)
    # Exclusive: the last time point is the first minute of the second day.
    assert row["ends"] == datetime(1970, 1, 2, 0, 1, tzinfo=UTC)


def test_what_a_table_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LarsparkError, match="has no `#tick`"):
        table_sink.table_sink(tmp_path, "p(X) :- q(X).", {"p/1": "x long"}, format="parquet")
    with pytest.raises(LarsparkError, match="cannot be 'csv'"):
        table_sink.table_sink(tmp_path, PROGRAM, COLUMNS, format="csv")  # type: ignore[arg-type]


@pytest.mark.xdist_group("spark")
def test_tables_of_history_have_the_same_columns(spark: Any) -> None:
    rows = [("hot(a,3)", 5, 7), ("calm(a)", DAY - 1, DAY)]
    frame = spark.createDataFrame(rows, "atom string, `from` long, `to` long")
    tables = outputs(frame, COLUMNS, PROGRAM)
    [hot] = tables["hot/2"].collect()
    assert hot.asDict()["day"] == date(1970, 1, 1)
    # Spark gives timestamps in the time zone of the process.
    assert hot["begins"].timestamp() == 5 * 60
    assert hot["ends"].timestamp() == 8 * 60
    [calm] = tables["calm/1"].collect()
    assert calm.asDict()["day"] == date(1970, 1, 1)
    assert calm["ends"].timestamp() == (DAY + 1) * 60

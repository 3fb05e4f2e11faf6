"""The first look: what footers and SQL say is what a look at every row says."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from larspark.base.atoms import Signature
from larspark.feeds.mapping import parse_mappings
from larspark.scale.survey import combine_surveys, survey_partition
from larspark.scale.table_facts import Shape

pytest.importorskip("pyspark")
from larspark.scale.dataframe_facts import find_sources
from larspark.scale.first_look import sql_survey
from larspark.scale.parquet_files import file_sources
from larspark.scale.survey import survey_from_footers

pytestmark = pytest.mark.xdist_group("spark")

KEY = {Signature("temp", 2): 0}
MAP = "t -> temp(s, v)"
SHAPE = Shape(0, parse_mappings(MAP)[0])
MINUTE = 60_000_000
NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)

INTEGERS = {"t": [3, 9, 4, 70], "s": ["a", "b", "a", "c"], "v": [1, -2, 3, 4]}
MOMENTS = {**INTEGERS, "t": [NOON + dt.timedelta(seconds=90 * n) for n in range(4)]}
FLOATS = {**INTEGERS, "v": [1.5, 2.0, -0.5, 1e300]}


def looked_at(table: pa.Table, tick: int | None) -> dict[str, Any]:
    [batch] = survey_partition(table.to_batches(), SHAPE, tick, KEY)
    return batch.to_pylist()[0]


def alike(row: dict[str, Any], other: dict[str, Any]) -> bool:
    names = ("facts", "skipped", "first", "last", "problems", "signatures")
    return all(row[name] == other[name] for name in names)


def from_footers(table: pa.Table, folder: Path, tick: int | None) -> dict[str, Any] | None:
    parquet.write_table(table, folder / "x.parquet", row_group_size=3)
    [source] = file_sources(folder, [SHAPE])
    groups = [group for split in source.footers for group in split]
    return survey_from_footers(groups, source.schema, SHAPE, tick)


@pytest.mark.parametrize(("columns", "tick"), [(INTEGERS, None), (MOMENTS, MINUTE)])
def test_footers_say_what_a_look_says(
    tmp_path: Path, columns: dict[str, list[Any]], tick: int | None
) -> None:
    found = from_footers(pa.table(columns), tmp_path, tick)
    assert found is not None
    assert alike(found, looked_at(pa.table(columns), tick))
    seen = combine_surveys([found])
    assert seen.times[0] == seen.first
    assert seen.times[-1] == seen.last


@pytest.mark.parametrize(
    "columns",
    [
        FLOATS,
        {**INTEGERS, "v": [1, None, 2, 3]},
        {**INTEGERS, "t": [1, None, 2, 3]},
        {**INTEGERS, "t": [3, 4, -1, 9]},
        {**INTEGERS, "t": [1.0, 2.0, 3.0, 4.5]},
    ],
)
def test_where_footers_do_not_say_enough_files_are_looked_into(
    tmp_path: Path, columns: dict[str, list[Any]]
) -> None:
    assert from_footers(pa.table(columns), tmp_path, None) is None


@pytest.mark.parametrize(("columns", "tick"), [(INTEGERS, None), (MOMENTS, MINUTE), (FLOATS, None)])
def test_sql_says_what_a_look_says(
    spark: Any, columns: dict[str, list[Any]], tick: int | None
) -> None:
    [source] = find_sources(spark.createDataFrame(pa.table(columns)), None, MAP, None)
    found = sql_survey(source, tick, KEY)
    assert found is not None
    expected = looked_at(pa.table(columns), tick)
    assert alike(found, expected)
    assert sorted(filter(None, found["buckets"])) == sorted(filter(None, expected["buckets"]))
    assert set(found["times"]) <= set(expected["times"])


@pytest.mark.parametrize(
    "columns",
    [
        {**INTEGERS, "s": ["a", None, "b", "c"]},
        {**INTEGERS, "t": [1, None, 2, 3]},
        {**INTEGERS, "t": [3, 4, -1, 9]},
        {**FLOATS, "v": [1.0, float("nan"), 2.0, 3.0]},
        {**FLOATS, "v": [1.0, float("-inf"), 2.0, 3.0]},
    ],
)
def test_where_sql_finds_a_row_that_is_no_fact_rows_are_looked_at(
    spark: Any, columns: dict[str, list[Any]]
) -> None:
    [source] = find_sources(spark.createDataFrame(pa.table(columns)), None, MAP, None)
    assert sql_survey(source, None, KEY) is None
    assert looked_at(pa.table(columns), None)["skipped"] == 1


def test_moments_before_time_begins_are_no_facts(spark: Any) -> None:
    early = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)
    table = pa.table({**INTEGERS, "t": [NOON, early, NOON, NOON]})
    [source] = find_sources(spark.createDataFrame(table), None, MAP, None)
    assert sql_survey(source, MINUTE, KEY) is None
    assert looked_at(table, MINUTE)["skipped"] == 1

"""DataFrames that are nothing but Parquet files are read as files, with the same answers."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
from larspark.scale.dataframe_facts import find_sources
from larspark.scale.parquet_files import FileSource
from larspark.scale.plain_scans import as_files
from larspark.spark import collect, run

pytestmark = pytest.mark.xdist_group("spark")

MAPPING = "t -> temp(sensor, v)"


def test_a_frame_of_files_is_read_as_files_and_no_other(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    table = pa.table({"t": range(20), "sensor": ["a", "b"] * 10, "v": range(20), "more": [0] * 20})
    pq.write_table(table.slice(0, 10), folder / "1.parquet")
    pq.write_table(table.slice(10), folder / "2.parquet")
    plain = spark.read.parquet(str(folder))

    def is_read_as_files(frame: Any) -> bool:
        return all(
            isinstance(as_files(each), FileSource)
            for each in find_sources(frame, None, MAPPING, None)
        )

    chosen = plain.select("v", "t", "sensor")
    others = [
        plain.where("t >= 0"),
        plain.withColumn("v", plain.v + 1),
        plain.selectExpr("t", "sensor", "more as v"),
        plain.union(plain),
        plain.limit(5),
        spark.read.schema("t int, sensor string, v long").parquet(str(folder)),
    ]
    assert is_read_as_files(plain)
    assert is_read_as_files(chosen)
    assert [is_read_as_files(frame) for frame in others] == [False] * len(others)
    answers = [
        sorted(
            collect(run("hot(S) :- [2] some temp(S, V), V > 12.", f, map=MAPPING)).to_pylist(),
            key=str,
        )
        for f in (chosen, others[0])
    ]
    assert len(answers[0]) == 2
    assert answers[0] == answers[1]
    assert not is_read_as_files(chosen.persist())
    chosen.unpersist()

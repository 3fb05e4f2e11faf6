"""Facts in Parquet files, read by executors."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from larspark.base.problems import LarsparkError

pytest.importorskip("pyspark")
from larspark.scale import parquet_files as files
from larspark.scale.answer_tables import outputs, points
from larspark.scale.batch import run
from larspark.scale.problem_transport import collect

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """
hot(S) :- [5] some temp(S, V), V > 30.
cool(S) :- [2] always temp(S, _), not hot(S).
"""
MAP = "ts -> temp(sensor, value)"


@pytest.fixture
def readings(tmp_path: Path) -> Path:
    for part in range(3):
        times = range(100 * part, 100 * part + 110)
        rows = {
            "ts": list(times),
            "sensor": [f"s{t % 5}" for t in times],
            "value": [float((t * 13) % 45) for t in times],
        }
        parquet.write_table(pa.table(rows), tmp_path / f"{part}.parquet", row_group_size=40)
    return tmp_path


def rows_of(answers: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in collect(answers).to_pylist())


def test_files_answer_as_frames_do_in_any_pieces(
    spark: Any, readings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows_of(run(PROGRAM, spark.read.parquet(str(readings)), map=MAP))
    assert len(expected) > 20
    monkeypatch.setattr(files, "SPLIT", 60)
    assert rows_of(run(PROGRAM, readings, map=MAP)) == expected
    assert rows_of(run(PROGRAM, readings, map=MAP, shards=2, slices=3)) == expected
    # So many shards that facts are shuffled.
    assert rows_of(run(PROGRAM, readings, map=MAP, shards=6, slices=2)) == expected
    some = sorted(readings.glob("*.parquet"))
    assert rows_of(run(PROGRAM, some, map=MAP, slices=4)) == expected


def test_what_is_wrong_with_files_is_said(spark: Any, readings: Path, tmp_path: Path) -> None:
    with pytest.raises(LarsparkError, match="L487: there are no Parquet files at"):
        run(PROGRAM, tmp_path / "nothing*", map=MAP)
    with pytest.raises(LarsparkError, match="L483: the rows of the files have no mapping to facts"):
        run(PROGRAM, readings)
    with pytest.raises(LarsparkError, match="L304: the DataFrame has no column `n`"):
        run(PROGRAM, readings, map="ts -> temp(n)")
    parquet.write_table(pa.table({"ts": [1]}), readings / "other.parquet")
    with pytest.raises(LarsparkError, match=r"L487: the columns or types of .* differ"):
        run(PROGRAM, readings, map=MAP)
    (readings / "other.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(LarsparkError, match=r"L487: .* is not a Parquet file"):
        run(PROGRAM, readings, map=MAP)


def test_an_error_on_an_executor_is_ours(spark: Any, readings: Path) -> None:
    answers = run(PROGRAM, readings, map=MAP)
    typed = outputs(answers, {"hot/1": "sensor long"})["hot/1"]
    with pytest.raises(LarsparkError, match=r"L485: `s\d` in `hot.s\d.` is not a long"):
        collect(typed)
    (readings / "1.parquet").unlink()
    with pytest.raises(LarsparkError, match=r"L487: .*1.parquet cannot be read") as caught:
        collect(answers)
    assert "Traceback" not in str(caught.value)


def test_points_and_intervals_say_the_same(spark: Any) -> None:
    frame = spark.createDataFrame([(1, "a"), (3, "a"), (9, "b")], "t long, x string")
    answers = run("p(X) :- [1] some a(X).", frame, map="t -> a(x)")
    typed = points(outputs(answers, {"p/1": "x string"})["p/1"])
    assert rows_of(points(answers)) == [("p(a)", t) for t in (1, 2, 3, 4)] + [("p(b)", 9)]
    assert rows_of(typed) == [("a", t) for t in (1, 2, 3, 4)] + [("b", 9)]

"""The benchmark of streams, in small."""

from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
from larspark.base.problems import LarsparkError
from larspark.bench import spark_stream as spark_streaming

pytestmark = pytest.mark.xdist_group("spark")


def silent(text: str) -> None:
    pass


def test_a_stream_is_measured_beside_a_local_engine_and_without_reasoning(spark: Any) -> None:
    measured = list(spark_streaming.streaming("spark/streaming", True, silent))
    assert [one.engine for one in measured] == [
        "interval, one local engine",
        "spark",
        "spark, no reasoning",
    ]
    assert all(one.more["facts"] == 30_000 and one.more["intervals"] > 1000 for one in measured)


def test_other_answers_are_refused_before_any_time_is_taken(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_less = spark_streaming._coalesced
    monkeypatch.setattr(spark_streaming, "_coalesced", lambda table: one_less(table).slice(1))
    with pytest.raises(LarsparkError) as error:
        list(spark_streaming.streaming("spark/streaming", True, silent))
    assert error.value.problems[0].code == "L552"


def test_intervals_cut_between_micro_batches_are_one() -> None:
    cut = pa.table(
        {"atom": ["p", "q", "p", "p", "q"], "from": [1, 1, 4, 9, 5], "to": [3, 3, 5, 9, 5]}
    )
    assert spark_streaming._coalesced(cut).to_pylist() == [
        {"from": 1, "to": 5},
        {"from": 9, "to": 9},
        {"from": 1, "to": 3},
        {"from": 5, "to": 5},
    ]

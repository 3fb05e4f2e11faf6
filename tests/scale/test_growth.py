"""The cost model of batch on Spark."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
from larspark.bench import spark_growth
from larspark.bench.spark_batch import COOLING, cooling_facts, local, write_task

pytestmark = pytest.mark.xdist_group("spark")


def test_pieces_get_as_many_facts_as_the_model_says(spark: Any, tmp_path: Path) -> None:
    task = write_task(tmp_path / "facts", cooling_facts(300_000), COOLING, "temp")
    by_key, by_time, _ = spark_growth._WAYS
    for way in (by_key, by_time):
        found = spark_growth._with_executors("growth", spark, task, way, 2, 1.0, local(task)).more
        assert found["facts_transferred"] == found["facts_transferred_model"]
        assert found["shuffled_bytes"] > 0

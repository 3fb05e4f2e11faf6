"""Streams from files that grow and from MQTT."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
from larspark.base.problems import LarsparkError
from larspark.scale.streaming import growing_file as growing
from larspark.spark import follow, json_lines, spool, stream, wait

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = "p(X) :- [1] some a(X)."


def run_to_end(spark: Any, folder: Path, file: Path) -> Any:
    answers = stream(PROGRAM, follow(spark, file), on_error="skip")
    writing = answers.writeStream.foreachBatch(json_lines(folder / "answers"))
    writing = writing.option("checkpointLocation", str(folder / "checkpoint"))
    query = writing.trigger(availableNow=True).start()
    wait(query)
    return query


def written(folder: Path) -> list[tuple[str, int, int]]:
    files = sorted((folder / "answers").glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [(row["atom"], row["from"], row["to"]) for row in rows]


def add(file: Path, text: str | bytes) -> None:
    with file.open("ab") as out:
        out.write(text if isinstance(text, bytes) else text.encode())


def test_a_file_that_grows_is_read_on_and_no_line_twice(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    run_to_end(spark, tmp_path, file)
    add(file, '{"t": 1, "atom": "a(x)"}\n{"t": 5, "at')
    run_to_end(spark, tmp_path, file)
    add(file, 'om": "a(y)"}\n')
    add(file, b'{"t": 6, "atom": "a(\xff)"}\n')
    query = run_to_end(spark, tmp_path, file)
    assert query.lastProgress["observedMetrics"]["larspark"]["skipped"] == 1
    add(file, '{"t": 9}\n')
    run_to_end(spark, tmp_path, file)
    assert written(tmp_path) == [("p(x)", 1, 2), ("p(y)", 5, 6)]
    file.write_text('{"t": 20}\n')
    with pytest.raises(LarsparkError) as caught:
        run_to_end(spark, tmp_path, file)
    [problem] = caught.value.problems
    assert (problem.code, problem.message.startswith(str(file))) == ("L496", True)


def test_a_large_file_is_read_in_parts_of_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "_PART", 10)
    file = tmp_path / "lines"
    expected = ["x" * length for length in (3, 9, 1, 40, 7, 7)]
    file.write_text("\n".join([*expected, "unfinished"]))
    reader = growing.GrowingReader(file)
    end = reader.latestOffset()
    parts = reader.partitions(reader.initialOffset(), end)
    assert len(parts) == 3
    batches = [batch for part in parts for batch in reader.read(part)]
    assert [line for batch in batches for line in batch.column(0).to_pylist()] == expected
    assert reader.partitions(end, end) == []


def test_mqtt_goes_through_a_file(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("amqtt")
    from tests.feeds.live.broker import RunningBroker
    from tests.feeds.live.test_spool import publish

    broker = RunningBroker()
    broker.start()
    file = tmp_path / "spool.jsonl"
    try:
        with spool(f"mqtt://127.0.0.1:{broker.port}/events", file):
            publish(broker, "events", '{"t": 1, "atom": "a(x)"}', '{"t": 9}')
            patience = time.monotonic() + 300
            while file.read_text().count("\n") < 2:
                assert time.monotonic() < patience
                time.sleep(0.05)
    finally:
        broker.kill()
    run_to_end(spark, tmp_path, file)
    assert written(tmp_path) == [("p(x)", 1, 2)]

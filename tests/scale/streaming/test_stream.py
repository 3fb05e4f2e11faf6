"""Streams on Spark give the answers of one local engine."""

import json
import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.scale import keyed_programs
from tests.scale.piecewise import arrivals
from tests.scale.streaming.on_spark import observed, put_files, read_files, run_to_end, written
from tests.scale.streaming.simulated import (
    final_changes,
    final_intervals,
    out_of_order,
    random_cuts,
)

from larspark.base.atoms import atom_text
from larspark.base.problems import LarsparkError
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare
from larspark.scale.streaming.intake import shard_keys, spark_hash

pytest.importorskip("pyspark")
from larspark.spark import json_lines, stream, wait, watch

pytestmark = pytest.mark.xdist_group("spark")

EXAMPLES = max(3, int(os.environ.get("LARSPARK_EXAMPLES", "0")) // 100)


def test_random_programs_in_random_micro_batches_agree_with_the_local_engine(
    spark: Any, tmp_path: Path
) -> None:
    given = 0
    for seed in range(2000, 2000 + EXAMPLES):
        random = Random(seed)
        program = keyed_programs.random_program(random)
        background = keyed_programs.random_background(random)
        elements = [e for _ in range(3) for e in keyed_programs.random_elements(random)]
        delay = random.choice([0, 2, 5])
        prepared = prepare(program, background, "auto", Settings(), RequestedCuts())
        coming = out_of_order(elements, delay, random)
        batches = [
            [{"t": e.t, "atom": atom_text(e.atom), "n": n} for n, e in batch]
            for batch in random_cuts(coming, random)
            if batch
        ][:6]
        taken = coming[: sum(map(len, batches))]
        folder = tmp_path / str(seed)
        form = random.choice(["intervals", "changes"])
        shards = random.choice([None, 3]) if prepared.cuts.key is not None else None
        options = {"background": background, "watermark": delay, "form": form, "shards": shards}
        # The first half in one run, the rest in another that goes on from the checkpoint.
        half = len(batches) // 2
        queries = []
        for first, part in ((0, batches[:half]), (half, batches[half:])):
            put_files(folder / "facts", part, first)
            facts = read_files(spark, folder / "facts")
            answers = stream(program, facts, time="t", order="n", **options)
            queries.append(run_to_end(answers, folder))
        assert sum(observed(query, "late") for query in queries) == 0
        assert sum(observed(query, "facts") for query in queries) > 0
        closed = max((e.t for _, e in taken), default=0) - delay - 1
        first_t = min((e.t for _, e in taken), default=0)
        ordered = arrivals([element for _, element in sorted(taken)], ordered=True)
        final = final_intervals if form == "intervals" else final_changes
        own = [element.t for element in prepared.checked.elements]
        expected = final(prepared, ordered, closed if closed >= min([first_t, *own]) else None)
        assert written(spark, folder) == expected, seed
        given += len(expected)
    assert given > 0


def test_timestamps_of_two_dataframes_and_facts_that_are_late(spark: Any, tmp_path: Path) -> None:
    program = "#tick 1 min. hot(S) :- [2 min] some temp(S, V), V > 30, not [1 min] some ack(S)."

    def at(minute: int) -> str:
        return datetime(2024, 1, 1, 0, minute, 30, tzinfo=UTC).isoformat()

    temps = [[(0, 40), (5, 10)], [(3, 50), (12, 10)], [(4, 60), (20, 10)]]
    put_files(
        tmp_path / "temp",
        [[{"ts": at(m), "s": "s1", "v": v} for m, v in batch] for batch in temps],
    )
    put_files(tmp_path / "ack", [[{"ts": at(m), "s": "s1"}] for m in (1, 12, 20)])
    frames = {
        "temp": read_files(spark, tmp_path / "temp", "ts timestamp, s string, v long"),
        "ack": read_files(spark, tmp_path / "ack", "ts timestamp, s string"),
    }
    answers = stream(program, frames, time="ts", watermark="3 min", late="output", shards=2)
    query = run_to_end(answers, tmp_path)
    first = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) // 60
    # When time is at minute 12 in both DataFrames, minute 8 is closed, and what happens at 4 late.
    assert written(spark, tmp_path) == [
        ("hot(s1)", first, first, False),
        ("hot(s1)", first + 3, first + 5, False),
        ("temp(s1,60)", first + 4, first + 4, True),
    ]
    assert observed(query, "late") == 1
    assert observed(query, "facts") == 9


def test_lines_of_text_are_json_lines_and_what_is_none_is_counted(
    spark: Any, tmp_path: Path
) -> None:
    put_files(
        tmp_path / "facts",
        [
            [{"t": 1, "atom": "a(x)"}, {"t": 2, "atoms": ["a(y)", "b(x)"]}],
            [{"t": 3, "predicate": "a", "args": ["x", 1]}, {"neither": "nor"}],
            [{"t": 9}],
        ],
    )
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path / "facts"))
    answers = stream("p(X) :- [1] some a(X).", lines, on_error="skip")
    query = run_to_end(answers, tmp_path)
    assert written(spark, tmp_path) == [("p(x)", 1, 2), ("p(y)", 2, 3)]
    assert observed(query, "skipped") == 1


def test_a_program_with_several_models_runs_in_one_shard(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("clingo")
    program = (
        "red(X) :- [1] some a(X), not blue(X). blue(X) :- [1] some a(X), not red(X). :- red(x)."
    )
    put_files(
        tmp_path / "facts", [[{"t": 1, "atom": "a(x)", "n": 0}], [{"t": 7, "atom": "b", "n": 1}]]
    )
    answers = stream(program, read_files(spark, tmp_path / "facts"), time="t")
    run_to_end(answers, tmp_path)
    assert written(spark, tmp_path) == [("blue(x)", 1, 2)]


def test_a_socket_gives_json_lines_and_the_log_tells_what_happened(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [{"t": 1, "atom": "a(x)"}, {"t": 2, "atoms": []}, {"t": 9}]
    with socket.create_server(("127.0.0.1", 0)) as server:
        facts = (
            spark.readStream.format("socket")
            .option("host", "127.0.0.1")
            .option("port", server.getsockname()[1])
            .load()
        )
        answers = stream("p(X) :- [1] some a(X).", facts)
        watch(spark)
        caplog.set_level("INFO", "larspark.stream")
        query = (
            answers.writeStream.foreachBatch(json_lines(tmp_path / "answers"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        connection, _ = server.accept()
        with connection:
            connection.sendall("".join(json.dumps(line) + "\n" for line in lines).encode())
            patience = time.monotonic() + 300
            while not (found := list((tmp_path / "answers").glob("*.jsonl"))):
                assert time.monotonic() < patience
                assert not wait(query, 0.2)
            query.processAllAvailable()
            query.stop()
    [file] = found
    assert file.read_text() == '{"atom": "p(x)", "from": 1, "to": 2}\n'
    while "1 answers up to time point 8 (1 behind the facts)" not in caplog.text:
        assert time.monotonic() < patience
        time.sleep(0.1)


def test_the_rate_source_has_timestamps_and_values(spark: Any, tmp_path: Path) -> None:
    facts = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 10)
        .option("startTimestamp", 0)
        .option("advanceMillisPerBatch", 1000)
        .load()
    )
    program = "#tick 1 s. odd(V) :- tick(V), V mod 2 = 1."
    answers = stream(program, facts, map="timestamp -> tick(value)", form="changes")
    query = answers.writeStream.foreachBatch(json_lines(tmp_path / "answers")).start()
    patience = time.monotonic() + 300
    while not (found := sorted((tmp_path / "answers").glob("*.jsonl"))):
        assert time.monotonic() < patience
        assert not wait(query, 0.2)
    query.stop()
    atoms = [f"odd({value})" for value in (1, 3, 5, 7, 9)]
    assert json.loads(found[0].read_text().splitlines()[0]) == {"t": 0, "add": atoms, "del": []}


def problem(caught: pytest.ExceptionInfo[LarsparkError]) -> str:
    text = str(caught.value)
    assert "Traceback" not in text
    assert "Exception" not in text
    return text


def test_what_executors_refuse_is_told_as_a_problem(spark: Any, tmp_path: Path) -> None:
    rows = [{"t": 1, "atom": "p(x)", "n": 0}]
    put_files(tmp_path / "facts", [rows])
    with pytest.raises(LarsparkError) as caught:
        run_to_end(
            stream("p(X) :- a(X).", read_files(spark, tmp_path / "facts"), time="t"), tmp_path
        )
    assert problem(caught) == (
        "error L401: the stream holds atoms of `p/1`, which the program derives"
    )


def test_a_dataframe_that_does_not_stream_and_columns_that_are_missing_are_refused(
    spark: Any, tmp_path: Path
) -> None:
    table = spark.createDataFrame([], "t long, atom string")
    with pytest.raises(LarsparkError, match="error L493: the DataFrame is not a streaming one"):
        stream("p(X) :- a(X).", table, time="t")
    (tmp_path / "facts").mkdir()
    facts = read_files(spark, tmp_path / "facts")
    with pytest.raises(LarsparkError, match="has no column `v`"):
        stream("p(X) :- a(X).", facts, map="t -> a(v)")
    with pytest.raises(LarsparkError, match="error L482: the program cannot be cut into shards"):
        stream("p(X) :- [#2] some a(X).", facts, time="t", shards=3)


def test_another_program_is_refused_or_takes_over(spark: Any, tmp_path: Path) -> None:
    old, new = "p(X) :- [1] some a(X). s :- t.", "p(X) :- [3] some a(X). s :- t."
    atoms = ["a(x)", "a(y)", "a(x)", "t", "b", "b", "b", "b"]
    rows = [[{"t": t, "atom": atom, "n": t}] for t, atom in enumerate(atoms)]

    def run(program: str, **options: Any) -> None:
        facts = read_files(spark, tmp_path / "facts")
        run_to_end(stream(program, facts, time="t", **options), tmp_path)

    put_files(tmp_path / "facts", rows[:3])
    run(old)
    put_files(tmp_path / "facts", rows[3:], first=3)
    with pytest.raises(LarsparkError) as caught:
        run(new)
    assert problem(caught) == (
        "error L491: the checkpoint belongs to another program: gone: `p(X) :- [1] some a(X).`; "
        "new: `p(X) :- [3] some a(X).`\n"
        '  hint: use a new checkpoint, or set `on_program_change` to "migrate" or "restart"'
    )
    run(new, on_program_change="restart")
    # Answered up to 1 by the old program; the new one has seen nothing before 2.
    assert written(spark, tmp_path) == [("p(x)", 0, 5), ("p(y)", 1, 1), ("s", 3, 3)]


def test_another_program_takes_over_the_facts_that_are_kept(spark: Any, tmp_path: Path) -> None:
    rows = [[{"t": t, "atom": f"a({name})", "n": t}] for t, name in enumerate("xyxzwwww")]

    def run(program: str) -> None:
        facts = read_files(spark, tmp_path / "facts")
        answers = stream(program, facts, time="t", on_program_change="migrate")
        run_to_end(answers, tmp_path)

    put_files(tmp_path / "facts", rows[:5])
    run("p(X) :- [3] some a(X).")
    put_files(tmp_path / "facts", rows[5:], first=5)
    with pytest.raises(LarsparkError, match="it looks back 5 time points, but the facts of only 3"):
        run("p(X) :- [5] some a(X).")
    run("p(X) :- [2] some a(X). q(X) :- [1,+0] some a(X).")
    # Answered up to 3 by the old program; after that as if the new one had always been there.
    assert written(spark, tmp_path) == [
        ("p(x)", 0, 4),
        ("p(y)", 1, 3),
        ("p(z)", 3, 5),
        ("q(z)", 4, 4),
    ]


def test_shards_are_spread_evenly_over_the_partitions_of_the_state(spark: Any) -> None:
    rows = spark.range(-50, 50).selectExpr("cast(id as int)", "hash(cast(id as int))").collect()
    assert [spark_hash(number) for number, _ in rows] == [value for _, value in rows]
    for partitions in (1, 2, 3, 8, 25):
        keys = shard_keys(2 * partitions)
        assert [key % len(keys) for key in keys] == list(range(len(keys)))
        places = [spark_hash(key) % partitions for key in keys]
        assert sorted(places) == sorted([*range(partitions)] * 2)

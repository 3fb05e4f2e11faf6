"""Batch on Spark gives the answers of one local engine, whatever the shards and slices."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from tests.scale import keyed_programs
from tests.scale.piecewise import Interval, arrivals, local_answers

from larspark.base.atoms import Element, atom_text
from larspark.base.problems import LarsparkError
from larspark.language import parse_atom
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare

pytest.importorskip("pyspark")
from larspark.scale.answer_tables import outputs
from larspark.scale.batch import models, run

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """
hot(S) :- [5] some temp(S, V), V > 30.
cool(S) :- [2] always temp(S, _), not hot(S).
alarm(S, V) :- hot(S), temp(S, V), not [8] some ack(S), limit(S).
"""
BACKGROUND = ["limit(s1)", "limit(s2)", "limit(s3)"]


def collected(frame: Any) -> list[Interval]:
    return sorted((row["atom"], row["from"], row["to"]) for row in frame.collect())


def test_random_programs_agree_with_the_local_engine(spark: Any) -> None:
    tried = set()
    for seed in range(1000, 1012):
        random = Random(seed)
        program = keyed_programs.random_program(random)
        background = keyed_programs.random_background(random)
        elements = keyed_programs.random_elements(random)
        whole = prepare(program, background, "auto", Settings(), RequestedCuts(1, 1))
        expected = local_answers(whole, arrivals(elements, ordered=True), None)
        rows = [(e.t, atom_text(e.atom), n) for n, e in enumerate(elements)]
        random.shuffle(rows)
        frame = spark.createDataFrame(rows, "t long, atom string, n long")
        shards = (1, 2, 5)[seed % 3] if whole.cuts.key is not None else 1
        slices = 1 + seed % 4 if whole.cuts.lookback is not None else 1
        answers = run(
            program,
            frame,
            time="t",
            order="n",
            background=background,
            shards=shards,
            slices=slices,
        )
        assert collected(answers) == expected, (seed, shards, slices)
        tried.add((shards, slices))
    assert {1, 2, 5} == {shards for shards, _ in tried}
    assert {1, 2, 3, 4} == {slices for _, slices in tried}


def test_numbers_agree_with_the_local_engine(spark: Any) -> None:
    program = "n(S, N) :- N = sum of V in [9] temp(S, V) by S. n(N) :- N = count of [3] temp(_, _)."
    readings = [(t, f"temp(s{t % 7},{t * t % 13 - 6.5})", t) for t in range(300)]
    frame = spark.createDataFrame(readings, "t long, atom string, n long")
    by_time = collected(run(program, frame, time="t", order="n", slices=3))
    by_key = collected(run(program.split(". ")[0] + ".", frame, time="t", order="n", shards=3))
    whole = prepare(program, [], "auto", Settings(), RequestedCuts(1, 1))
    elements = [Element(t, parse_atom(text)) for t, text, _ in readings]
    assert by_time == local_answers(whole, elements, None)
    assert by_key == [row for row in by_time if "," in row[0]]


def test_shards_and_slices_never_change_the_answers(spark: Any) -> None:
    temp = [(t, f"s{t % 5}", float((t * 13) % 45)) for t in range(300)]
    frames = {
        "temp": spark.createDataFrame(temp, "ts long, sensor string, value double"),
        "ack": spark.createDataFrame([(50, "s1"), (120, "s2")], "ts long, sensor string"),
    }

    def answers(**cuts: int) -> list[Interval]:
        return collected(run(PROGRAM, frames, time="ts", background=BACKGROUND, **cuts))

    whole = answers(shards=1, slices=1)
    assert len({atom.split("(")[0] for atom, _, _ in whole}) == 3
    assert answers() == whole
    assert answers(shards=5, slices=1) == whole
    assert answers(shards=2, slices=4) == whole


def test_timestamps_and_typed_outputs(spark: Any) -> None:
    moments = [datetime(2024, 1, 1, 0, minute, 20, tzinfo=UTC) for minute in (0, 1, 5)]
    rows = [(moments[0], "a b", 31.0), (moments[1], "c", 12.5), (moments[2], "c", 40.0)]
    frame = spark.createDataFrame(rows, "ts timestamp, sensor string, value double")
    program = "#tick 1 min. high(S, V) :- [2 min] some temp(S, V), V > 30. n(3)."
    answers = run(program, frame, map="ts -> temp(sensor, value)")
    typed = outputs(answers, {"high/2": "sensor string, value double"})["high/2"]
    start = int(moments[0].timestamp()) // 60
    assert sorted(map(tuple, typed.collect())) == [
        ("a b", 31.0, start, start + 2),
        ("c", 40.0, start + 5, start + 5),
    ]
    with pytest.raises(LarsparkError, match="column `ts` holds timestamps"):
        run("high(S) :- temp(S, _).", frame, map="ts -> temp(sensor, value)")


def test_rows_that_are_no_facts_are_told_before_anything_runs(
    spark: Any, caplog: pytest.LogCaptureFixture
) -> None:
    frame = spark.createDataFrame([(1, "a"), (2, None)], "t long, x string")
    with pytest.raises(LarsparkError, match="L313: column `x`: there is no value"):
        run("p(X) :- a(X).", frame, map="t -> a(x)")
    assert collected(run("p(X) :- a(X).", frame, map="t -> a(x)", on_error="skip")) == [
        ("p(a)", 1, 1)
    ]
    assert (
        "rows left out because they are not facts: 1 (column `x`: there is no value)" in caplog.text
    )
    with pytest.raises(LarsparkError, match="L401: the stream holds atoms of `p/1`"):
        run("p(X) :- a(X).", frame.dropna(), map="t -> p(x)")


def test_an_empty_frame_has_no_answers(spark: Any) -> None:
    frame = spark.createDataFrame([], "t long, x string")
    answers = run("p :- not [3] some a(_).", frame, map="t -> a(x)")
    assert answers.columns == ["atom", "from", "to"]
    assert collected(answers) == []
    given = run("p :- not [3] some a(_).", frame, map="t -> a(x)", start=2, to=9, slices=3)
    assert collected(given) == [("p", 2, 9)]


def test_frames_that_say_too_little_are_refused(spark: Any) -> None:
    frame = spark.createDataFrame([(1, "a")], "t long, x string")
    with pytest.raises(LarsparkError, match="L483: the rows have no mapping to facts"):
        run("p(X) :- a(X).", frame, time="t")
    with pytest.raises(LarsparkError, match="L483: the time column is not named"):
        run("p(X) :- a(X).", {"a": frame})
    other = spark.createDataFrame([(1, "a", 2)], "t long, x string, n long")
    with pytest.raises(LarsparkError, match="L304: the DataFrame has no column `n`"):
        run("p(X) :- a(X), b(X).", {"a": frame, "b": other}, time="t", order="n")
    text = other.selectExpr("t", "x", "string(n) n")
    with pytest.raises(LarsparkError, match="L484: the orders string and int64 cannot be"):
        run("p(X) :- a(X), b(X).", {"a": text, "b": other}, time="t", order="n")


def test_all_answer_streams_have_a_column_for_the_model(spark: Any) -> None:
    pytest.importorskip("clingo")
    frame = spark.createDataFrame([(1, "x"), (2, "y"), (5, "x")], "t long, x string")
    program = "on(X) or off(X) :- a(X). :- on(y)."
    found = models(program, frame, map="t -> a(x)", slices=2)
    assert sorted(tuple(row) for row in found.collect() if row["atom"] is not None) == [
        (1, 1, "off(x)"),
        (1, 2, "on(x)"),
        (2, 1, "off(y)"),
        (5, 1, "off(x)"),
        (5, 2, "on(x)"),
    ]
    assert {row["t"] for row in found.collect() if row["atom"] is None} == {3, 4}

"""Stages on Spark give the answers of one local engine."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.scale import staged_programs
from tests.scale.piecewise import arrivals, local_answers
from tests.scale.test_batch import collected

from larspark.base.atoms import atom_text
from larspark.base.problems import LarsparkError
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare

pytest.importorskip("pyspark")
from larspark.scale.batch import run

pytestmark = pytest.mark.xdist_group("spark")

PLANT = """
hot(M)   :- [5] some temp(M, V), V > 90.
alarm(H) :- [9] some hot(M), stands(M, H).
calm(H)  :- open(H), not alarm(H).
quiet    :- not [3] some alarm(_).
"""
BACKGROUND = [f"stands(m{n},h{n % 3})" for n in range(7)]


def test_random_programs_agree_with_the_local_engine(spark: Any) -> None:
    tried = []
    for seed in range(2000, 2100):
        random = Random(seed)
        program = staged_programs.random_program(random)
        background = staged_programs.random_background(random)
        elements = staged_programs.random_elements(random)
        whole = prepare(
            program, background, "auto", Settings(), RequestedCuts(1, 1), in_stages=True
        )
        if len(whole.cuts.stages) < 2 or len(elements) < 9:
            continue
        expected = local_answers(whole, arrivals(elements, ordered=True), None)
        rows = [(e.t, atom_text(e.atom), n) for n, e in enumerate(elements)]
        random.shuffle(rows)
        frame = spark.createDataFrame(rows, "t long, atom string, n long")
        requested = {"shards": 2 + len(tried) % 2}
        if whole.cuts.lookback is not None:
            requested["slices"] = 1 + len(tried) % 3
        answers = run(program, frame, time="t", order="n", background=background, **requested)
        assert collected(answers) == expected, (seed, requested)
        tried.append(requested)
        if len(tried) == 4:
            break
    assert len(tried) == 4


def test_frames_and_files_in_stages_give_the_answers_of_one_piece(
    spark: Any, tmp_path: Path
) -> None:
    temp = [(t, f"m{t % 7}", float(80 + t * 5 % 23)) for t in range(120)]
    frames = {
        "temp": spark.createDataFrame(temp, "ts long, machine string, value double"),
        "open": spark.createDataFrame([(t, f"h{t % 3}") for t in range(120)], "ts long, h string"),
    }
    whole = collected(run(PLANT, frames, time="ts", background=BACKGROUND, shards=1, slices=1))
    assert {atom.split("(")[0] for atom, _, _ in whole} == {"hot", "alarm", "calm", "quiet"}
    both = run(PLANT, frames, time="ts", background=BACKGROUND, shards=2, slices=3)
    assert collected(both) == whole

    path = str(tmp_path / "temp")
    frames["temp"].coalesce(1).write.parquet(path)
    mapping = "ts -> temp(machine, value)"
    open_halls = PLANT.replace("open(H)", "temp(M, _), stands(M, H)")
    options: dict[str, Any] = {"map": mapping, "background": BACKGROUND}
    whole = collected(run(open_halls, path, **options, shards=1, slices=1))
    assert collected(run(open_halls, path, **options, shards=2, slices=1)) == whole


def test_stages_are_for_the_interval_engine(spark: Any) -> None:
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "t long, x string")
    program = "q :- [2] some p(_). r(X) :- p(X), not q."
    assert collected(run(program, frame, map="t -> p(x)", shards=2)) == [("q", 1, 2)]
    with pytest.raises(LarsparkError, match="L482: the program cannot be cut into shards"):
        run(program, frame, map="t -> p(x)", shards=2, engine="oracle")

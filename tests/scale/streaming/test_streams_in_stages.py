"""Streams in stages: the answers are those of one engine over sorted facts."""

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.run.interval.random_programs import Generator
from tests.scale import staged_programs
from tests.scale.piecewise import arrivals
from tests.scale.streaming.simulated import (
    Simulated,
    final_changes,
    final_intervals,
    live_in_stages,
    out_of_order,
    random_cuts,
)

from larspark.base.atoms import Atom, Element, atom_text, fact
from larspark.base.problems import LarsparkError
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "60"))


def compare(
    random: Random,
    program: str | tree.Program,
    background: frozenset[Atom],
    elements: list[Element],
    settings: Settings,
) -> int:
    """Run a stream in random micro-batches and restarts; gives the number of its stages."""
    requested = RequestedCuts()
    prepared = prepare(program, background, "auto", settings, requested, in_stages=True)
    if not prepared.cuts.stages:
        return 0
    ordered = random.random() < 0.5
    delay = random.choice([0, 1, 3, 8])
    form = random.choice(["intervals", "changes"])
    coming = out_of_order(elements, delay, random)
    stages = live_in_stages(prepared, random.choice([2, 3, 5]), delay=delay, form=form)
    run = Simulated(stages[0], ordered, stages)
    for batch in random_cuts(coming, random):
        run.micro_batch(batch, random)
        if random.random() < 0.3:
            run.restart()
    assert run.late == 0
    sorted_elements = arrivals([element for _, element in sorted(coming)], ordered)
    if form == "intervals":
        expected = final_intervals(prepared, sorted_elements, run.closed)
        assert run.intervals == expected, (program, background, coming)
    else:
        changes = final_changes(prepared, sorted_elements, run.closed)
        assert run.changes == changes, (program, background, coming)
    return len(stages) if run.rows else 0


def test_programs_with_several_keys_give_the_same_answers_in_stages() -> None:
    tried = set()
    for seed in range(EXAMPLES):
        random = Random(seed)
        elements = staged_programs.random_elements(random)
        start = random.choice([None, None, 2])
        program = staged_programs.random_program(random)
        background = staged_programs.random_background(random)
        tried.add(compare(random, program, background, elements, Settings(start)))
    assert {2, 3, 4} <= tried


def test_programs_of_any_kind_give_the_same_answers_in_stages() -> None:
    tried = set()
    for seed in range(EXAMPLES):
        random = Random(seed)
        case = Generator(random).case()
        if case.hindsight:
            continue
        settings = Settings(case.start, until=case.until)
        try:
            number = compare(random, case.program, case.background, list(case.elements), settings)
        except LarsparkError:
            continue
        tried.add(number)
    assert max(tried) > 1


PLANT = """
hot(M)   :- [5] some temp(M, V), V > 90.
alarm(H) :- [9] some hot(M), stands(M, H).
calm(H)  :- [3] some open(H), not alarm(H).
"""


@pytest.mark.xdist_group("spark")
def test_a_stream_in_stages_on_spark_goes_on_from_its_checkpoint(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    from tests.scale.streaming.on_spark import (
        observed,
        put_files,
        read_files,
        run_to_end,
        written,
    )

    from larspark.spark import stream

    spark: Any = request.getfixturevalue("spark")
    random = Random(1)
    background = [f"stands(m{n},h{n % 3})" for n in range(7)]
    elements = [Element(t, fact("temp", f"m{t % 7}", random.randrange(70, 95))) for t in range(60)]
    elements += [Element(t, fact("open", f"h{t % 3}")) for t in range(0, 60, 2)]
    coming = [element for _, element in out_of_order(elements, 4, random)]
    rows = [{"t": e.t, "atom": atom_text(e.atom)} for e in coming]
    batches = [rows[n : n + 25] for n in range(0, len(rows), 25)]
    queries = []
    for first, part in ((0, batches[:2]), (2, batches[2:])):
        put_files(tmp_path / "facts", part, first)
        facts = read_files(spark, tmp_path / "facts", "t long, atom string")
        answers = stream(PLANT, facts, time="t", background=background, watermark=4, shards=2)
        queries.append(run_to_end(answers, tmp_path))
    prepared = prepare(PLANT, background, "auto", Settings(), RequestedCuts(), in_stages=True)
    expected = final_intervals(prepared, arrivals(elements, ordered=False), 59 - 4 - 1)
    assert len({atom for atom, _, _ in expected}) > 8
    assert written(spark, tmp_path) == expected
    assert sum(observed(query, "facts") for query in queries) == len(elements)
    with pytest.raises(LarsparkError, match="its program cannot change"):
        stream(PLANT, facts, time="t", shards=2, on_program_change="migrate")

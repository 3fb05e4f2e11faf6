"""The work of shards, without Spark: the answers are those of one engine over sorted facts."""

import os
from collections.abc import Iterable
from random import Random

import pytest
from tests.run.interval.random_programs import Generator
from tests.scale import keyed_programs
from tests.scale.piecewise import arrivals
from tests.scale.streaming.simulated import (
    Simulated,
    final_changes,
    final_intervals,
    live_for,
    out_of_order,
    random_cuts,
)

from larspark.base.atoms import Atom, Element
from larspark.base.problems import LarsparkError
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "40"))


def compare(
    random: Random,
    program: str | tree.Program,
    background: Iterable[Atom],
    elements: list[Element],
    settings: Settings,
) -> set[str]:
    """Run a stream in random micro-batches, in each number of shards; what was tried."""
    prepared = prepare(program, background, "auto", settings, RequestedCuts())
    ordered = random.random() < 0.5
    delay = random.choice([0, 1, 3, 8])
    coming = out_of_order(elements, delay, random)
    tried: set[str] = set()
    for shards in [1] if prepared.cuts.key is None else [1, 2, 5]:
        form = random.choice(["intervals", "changes"])
        stream_job = live_for(prepared, shards, delay=delay, form=form)
        run = Simulated(stream_job, ordered)
        for batch in random_cuts(coming, random):
            run.micro_batch(batch, random)
            if random.random() < 0.3:
                run.restart()
        assert run.late == 0
        sorted_elements = arrivals([element for _, element in sorted(coming)], ordered)
        if form == "intervals":
            expected = final_intervals(prepared, sorted_elements, run.closed)
            assert run.intervals == expected, (program, coming)
        else:
            changes = final_changes(prepared, sorted_elements, run.closed)
            assert run.changes == changes, (program, coming)
        if run.rows:
            tried |= {form, f"{shards} shards"}
    return tried


def test_keyed_programs_give_the_local_answers_in_any_shards_and_micro_batches() -> None:
    tried = set()
    for seed in range(EXAMPLES):
        random = Random(seed)
        elements = keyed_programs.random_elements(random)
        first = min((element.t for element in elements), default=0)
        settings = Settings(random.choice([None, None, first + 1]))
        program = keyed_programs.random_program(random)
        background = keyed_programs.random_background(random)
        tried |= compare(random, program, background, elements, settings)
    assert tried == {"intervals", "changes", "1 shards", "2 shards", "5 shards"}


def test_programs_of_any_kind_give_the_local_answers_in_any_micro_batches() -> None:
    tried = set()
    for seed in range(3 * EXAMPLES):
        random = Random(seed)
        case = Generator(random).case()
        settings = Settings(case.start, until=case.until)
        try:
            prepared = prepare(case.program, case.background, "auto", settings, RequestedCuts())
        except LarsparkError:
            continue
        try:
            tried |= compare(random, case.program, case.background, list(case.elements), settings)
        except LarsparkError as error:
            # A timeline without an end is refused where it is met, in a local run, too.
            assert {problem.code for problem in error.problems} == {"L403"}
            elements = arrivals(sorted(case.elements, key=lambda each: each.t), ordered=True)
            with pytest.raises(LarsparkError, match="L403"):
                final_intervals(prepared, elements, max(each.t for each in case.elements))
    assert {"intervals", "changes", "1 shards"} <= tried

"""Every engine gives what the definition of aggregates gives, on random programs and streams."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from tests.run.aggregate_programs import AggregateGenerator, has_aggregate
from tests.run.test_agreement import CHUNKS, PAIRS, REFUSALS, SEED, SIGNATURES, agrees, span

from larspark.analysis.check import check
from larspark.analysis.dependencies import layers
from larspark.base.problems import LarsparkError, Severity
from larspark.language import program_text
from larspark.meaning import answer_streams as definition
from larspark.meaning.answer_streams import answer_streams

SHARE = {"interval": 0.05, "asp": 0.02, "tms": 0.02}


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("engine", SHARE)
def test_an_engine_agrees_with_the_definition(engine: str, chunk: int) -> None:
    compare(engine, int(PAIRS * SHARE[engine]) // CHUNKS, chunk, recursive=False)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_recursion_through_aggregates_agrees_with_the_definition(chunk: int) -> None:
    compare("asp", int(PAIRS * 0.02) // CHUNKS, chunk, recursive=True)


def compare(engine: str, wanted: int, chunk: int, *, recursive: bool) -> None:
    counts: Counter[str] = Counter()
    seed = SEED + chunk * 10_000_000
    while counts["compared"] < wanted:
        seed += 1
        random = Random(seed)
        case = AggregateGenerator(random, recursive=recursive).case()
        if has_aggregate(case.program.rules):
            output = agrees(case, engine, random, seed)
            counts["compared"] += output is not None
            counts["not empty"] += bool(output)
    # A comparison of empty answers alone would show nothing.
    assert wanted < 50 or counts["not empty"] * 5 > wanted


def test_layers_have_the_answer_streams_of_the_whole_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = PAIRS // 200
    counts: Counter[str] = Counter()
    seed = SEED
    while counts["compared"] < wanted:
        seed += 1
        case = AggregateGenerator(Random(seed)).case()
        case = replace(case, elements=case.elements[:5])
        checked = check(case.program, SIGNATURES, ends=True)
        first, last = span(case, checked)
        errors = any(problem.severity is Severity.ERROR for problem in checked.problems)
        if errors or first is None or first > last or len(layers(checked)) < 2:
            continue
        found = []
        try:
            for split in (layers, lambda checked: [checked.rules]):
                monkeypatch.setattr(definition, "layers", split)
                data = (checked, case.elements, case.background, (first, last), last)
                answers = answer_streams(*data)
                found.append([answer.derived for answer in answers])
        except LarsparkError as error:
            assert error.problems[0].code in REFUSALS
            continue
        assert found[0] == found[1], (seed, program_text(case.program))
        counts["compared"] += 1

"""Stages without Spark: whatever is spread by which key, the answers are those of one engine."""

from random import Random

import pytest
from tests.run.interval.random_programs import Generator
from tests.scale import staged_programs
from tests.scale.piecewise import (
    answers_in_stages,
    arrivals,
    job_for,
    local_answers,
    text_partitions,
)

from larspark.base.atoms import Atom, Element, fact
from larspark.base.problems import LarsparkError
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import Prepared, prepare

ANY = 100
STAGED = 100


def staged(program: str | tree.Program, *background: str, **requested: int) -> Prepared:
    return prepare(
        program, background, "auto", Settings(), RequestedCuts(**requested), in_stages=True
    )


def compare(
    random: Random,
    program: str | tree.Program,
    background: frozenset[Atom],
    elements: list[Element],
    settings: Settings,
    to: int | None,
) -> int:
    """Compare stages with one engine; gives the number of stages."""
    whole = prepare(program, background, "auto", settings, RequestedCuts(1, 1), in_stages=True)
    if not whole.cuts.stages:
        return 0
    ordered = random.random() < 0.5
    expected = local_answers(whole, arrivals(elements, ordered), to)
    sources = [text_partitions(elements, random, ordered)]
    slices = 1 if whole.cuts.lookback is None else random.choice([1, 2, 3])
    requested = RequestedCuts(random.choice([2, 3, 5]), slices)
    prepared = prepare(program, background, "auto", settings, requested, in_stages=True)
    job = job_for(prepared, sources, to)
    if job is None:
        return 0
    jobs = prepared.stages(job)
    assert answers_in_stages(jobs, sources) == expected, (requested, program, elements)
    return len(jobs)


def test_programs_with_several_keys_give_the_same_answers_in_stages() -> None:
    tried = set()
    for seed in range(STAGED):
        random = Random(seed)
        elements = staged_programs.random_elements(random)
        first = min((element.t for element in elements), default=0)
        start = random.choice([None, None, first + 1])
        to = random.choice([None, None, max(first, start or 0) + random.randint(0, 9)])
        settings = Settings(start, hindsight=random.random() < 0.1)
        program = staged_programs.random_program(random)
        background = staged_programs.random_background(random)
        tried.add(compare(random, program, background, elements, settings, to))
    assert {1, 2, 3, 4} <= tried


def test_programs_of_any_kind_give_the_same_answers_in_stages() -> None:
    tried = set()
    for seed in range(ANY):
        random = Random(seed)
        case = Generator(random).case()
        settings = Settings(case.start, case.hindsight, case.until)
        elements = list(case.elements)
        try:
            number = compare(random, case.program, case.background, elements, settings, case.to)
        except LarsparkError:
            continue
        tried.add(number)
    assert {1, 2, 3} <= tried


PLANT = """
hot(M)   :- [5] some temp(M, V), V > 90.
alarm(H) :- [9] some hot(M), stands(M, H).
calm(H)  :- open(H), not alarm(H).
"""


def test_a_stage_can_be_asked_for_and_slices_with_it() -> None:
    elements = [Element(t, fact("temp", f"m{t % 7}", 80 + t * 5 % 23)) for t in range(60)]
    elements += [Element(t, fact("open", f"h{t % 3}")) for t in range(0, 60, 2)]
    background = [f"stands(m{n},h{n % 3})" for n in range(7)]
    sources = [text_partitions(sorted(elements), Random(1), ordered=False)]
    whole = staged(PLANT, *background)
    assert len(whole.cuts.stages) == 2
    expected = local_answers(whole, arrivals(elements, False), None)
    for shards, slices in ((2, 1), (3, 4)):
        prepared = staged(PLANT, *background, shards=shards, slices=slices)
        job = job_for(prepared, sources, None)
        assert job is not None
        assert answers_in_stages(prepared.stages(job), sources) == expected


def test_stages_are_chosen_where_slices_are_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("larspark.scale.grid.SMALL_PIECE", 10)
    elements = [Element(t, fact("temp", f"m{t % 7}", 95)) for t in range(60)]
    sources = [text_partitions(elements, Random(1), ordered=False)]

    def stages(program: str) -> int:
        prepared = staged(program)
        job = job_for(prepared, sources, None)
        assert job is not None
        return len(prepared.stages(job))

    assert stages(PLANT) == 0
    assert stages(PLANT.replace("[9]", "[40]").replace("[5]", "[40]")) == 2
    assert stages(PLANT.replace("[5]", "[*]")) == 2
    # One shard would have to read the whole stream all the same.
    assert stages(PLANT.replace("[5]", "[*]") + "busy :- [#3] some temp(_, _).") == 0


def test_without_stages_shards_are_refused_with_the_rule_in_the_way() -> None:
    with pytest.raises(LarsparkError, match="L482: the program cannot be cut into shards"):
        prepare(PLANT, (), "auto", Settings(), RequestedCuts(2))
    with pytest.raises(LarsparkError, match="L482: the program cannot be cut into shards"):
        prepare(PLANT, (), "oracle", Settings(), RequestedCuts(2), in_stages=True)


def test_time_may_end_before_the_last_slice_begins() -> None:
    elements = [Element(t, fact("temp", f"m{t % 3}", 95)) for t in range(40)]
    sources = [text_partitions(elements, Random(1), ordered=False)]
    settings = Settings(until=15)
    background = ["stands(m1,h1)", "stands(m2,h1)"]
    prepared = prepare(PLANT, background, "auto", settings, RequestedCuts(2, 3), in_stages=True)
    job = job_for(prepared, sources, None)
    assert job is not None
    expected = local_answers(prepared, elements, None)
    assert ("alarm(h1)", 1, 15) in expected
    assert answers_in_stages(prepared.stages(job), sources) == expected

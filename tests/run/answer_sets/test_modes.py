"""One-shot and incremental evaluation give the same, whatever happens on the way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.answer_sets.random_programs import (
    batch,
    checked,
    examples,
    plain_program,
    seeded,
    stream,
    unless_refused,
)

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, fact
from larspark.run.answer_sets import grounder
from larspark.run.answer_sets import live_solver as live
from larspark.run.answer_sets.engines import AspEngine, TmsEngine
from larspark.run.answer_sets.stepping import SteppingEngine
from larspark.run.protocol import Settings

seeds = st.integers(0, 2**32)
Outputs = list[tuple[int, int | None, frozenset[Atom] | None]]


def outputs(engine: SteppingEngine, elements: list[Element], pieces: list[int]) -> Outputs:
    """The outputs up to the last of some time points, the state saved and restored at each."""
    found: Outputs = []
    rest = list(elements)
    for t in pieces:
        now = [e for e in rest if e.t <= t]
        rest = rest[len(now) :]
        engine.append(batch(now, t))
        found += [(point.t, point.c, point.atoms) for point in engine.advance(t).points()]
        state = engine.save()
        engine.restore(state)
    return found


def engines(found: Checked, way: Settings) -> list[SteppingEngine]:
    made: list[SteppingEngine] = [
        AspEngine(found, (), way),
        AspEngine(found, (), way._replace(incremental=True)),
    ]
    return made if found.several_models else [*made, TmsEngine(found, (), way)]


@given(seeds)
@settings(max_examples=examples(40), deadline=None)
def test_long_streams_are_answered_alike_also_when_everything_is_started_again_and_again(
    seed: int,
) -> None:
    random = seeded(seed)
    found = checked(plain_program(random))
    if found is None:
        return
    last = random.choice((10, 30))
    elements = stream(random, most=3 * last, last=last)
    way = Settings(start=random.choice((None, 0)), push=random.random() < 0.2)
    cut = random.randint(elements[0].t, last)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grounder, "_PATIENCE", 5)
        patch.setattr(live, "_PATIENCE", 20)
        pieces = [cut, last + 5]
        answered = unless_refused(
            lambda: [outputs(engine, elements, pieces) for engine in engines(found, way)]
        )
    if answered is not None:
        first, *others = answered
        assert all(other == first for other in others)


@given(seeds)
@settings(max_examples=examples(30), deadline=None)
def test_pieces_of_any_size_and_saved_states_in_between_change_nothing(seed: int) -> None:
    random = seeded(seed)
    found = checked(plain_program(random))
    if found is None:
        return
    elements = stream(random, most=20, last=12)
    way = Settings(start=0)
    pieces = sorted({*(random.randint(0, 15) for _ in range(4)), 15})
    for whole, cut in zip(engines(found, way), engines(found, way), strict=True):
        expected = unless_refused(lambda whole=whole: outputs(whole, elements, [15]))
        assert expected is None or outputs(cut, elements, pieces) == expected


def test_push_mode_answers_at_the_start_of_a_time_point_and_after_each_element() -> None:
    found = checked("#input p/1.\nlast(X) :- [#1] some p(X).\nnone :- not [#1] some p(_).")
    assert found is not None
    for engine in engines(found, Settings(push=True)):
        elements = [Element(1, fact("p", 1)), Element(2, fact("p", 2)), Element(2, fact("p", 3))]
        engine.append(batch([*elements, elements[-1]], 3))
        points = [(p.t, p.c, sorted(map(str, p.atoms or ()))) for p in engine.advance(3).points()]
        assert points == [
            (1, 0, ["none"]),
            (1, 1, ["last(1)"]),
            (2, 1, ["last(1)"]),
            (2, 2, ["last(2)"]),
            (2, 3, ["last(3)"]),
            (3, 3, ["last(3)"]),
        ]

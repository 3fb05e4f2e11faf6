"""The evaluator of the definitions behind the protocol of engines."""

import pytest
from tests.definitions import models, output_stream

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, fact
from larspark.base.facts import Row, RowBatch
from larspark.language import parse_program
from larspark.run.oracle import OracleEngine
from larspark.run.protocol import Engine, Settings

TEXT = """
#remember seen/1.
seen(X) :- p(X), not gone(X).
again(X) :- p(X), [3] @T seen(X), [3] @U p(X), T < U.
left(X) or right(X) :- p(X).
:- left(2).
"""
DATA = [
    Element(1, fact("p", 1)),
    Element(1, fact("p", 2)),
    Element(3, fact("p", 1)),
    Element(3, fact("gone", 1)),
    Element(4, fact("p", 1.5)),
    Element(6, fact("p", "Wien Mitte")),
]


def checked(text: str = TEXT) -> Checked:
    parsed = parse_program(text).program
    assert parsed is not None, parse_program(text).problems
    return check(parsed)


def engine(text: str = TEXT, settings: Settings | None = None) -> OracleEngine:
    return OracleEngine(checked(text), (), settings or Settings())


def append(target: Engine, elements: list[Element], last_t: int | None = None) -> None:
    target.append(RowBatch([Row(t, atom, i) for i, (t, atom) in enumerate(elements)], last_t))


def outputs(target: Engine, t: int) -> list[tuple[int, frozenset[Atom] | None]]:
    return [(point.t, point.atoms) for point in target.advance(t).points()]


def test_the_engine_gives_the_output_stream_whatever_the_batches() -> None:
    expected = list(output_stream(checked(), DATA, to=8))
    whole = engine()
    append(whole, DATA, 8)
    assert outputs(whole, 8) == expected
    pieces = engine()
    found = []
    for t in range(1, 9):
        append(pieces, [element for element in DATA if element.t == t], t)
        found += outputs(pieces, t)
    assert found == expected


def test_time_can_move_on_without_elements() -> None:
    target = engine("q :- not p.", Settings(start=2))
    append(target, [], 4)
    assert [t for t, _ in outputs(target, 4)] == [2, 3, 4]


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_restored_engine_goes_on_where_the_saved_one_stopped(cut: int) -> None:
    first = engine()
    append(first, [element for element in DATA if element.t <= cut], cut)
    before = outputs(first, cut)
    second = engine()
    second.restore(first.save())
    append(second, [element for element in DATA if element.t > cut], 8)
    assert before + outputs(second, 8) == list(output_stream(checked(), DATA, to=8))


def test_models_are_those_of_the_definitions_and_change_nothing() -> None:
    target = engine()
    append(target, DATA, 8)
    outputs(target, 2)
    found = [model.stream for model in target.models(6)]
    assert found == models(checked(), DATA, at=6)
    assert len(found) == 2
    assert outputs(target, 8) == list(output_stream(checked(), DATA, to=8))[2:]


def test_push_mode_answers_after_each_element() -> None:
    target = engine("last(X) :- [#1] some p(X). n :- [#2] some p(1).", Settings(push=True))
    append(target, DATA[:3], 4)
    points = [(p.t, p.c, len(p.atoms or ())) for p in target.advance(4).points()]
    assert points == [(1, 0, 0), (1, 1, 2), (1, 2, 2), (2, 2, 2), (3, 2, 2), (3, 3, 2), (4, 3, 2)]


def test_push_mode_remembers_what_the_last_tick_of_a_time_point_says() -> None:
    text = "#remember q/0. q :- p, not r. s :- [5] some q."
    data = [Element(1, Atom("p")), Element(1, Atom("r")), Element(2, Atom("p"))]
    target = engine(text, Settings(push=True))
    append(target, data, 3)
    ticks = [(p.t, p.c, {a.predicate for a in p.atoms or ()}) for p in target.advance(3).points()]
    assert ticks == [
        (1, 0, set()), (1, 1, {"q", "s"}), (1, 2, set()), (2, 2, set()), (2, 3, {"q", "s"}),
        (3, 3, {"s"}),
    ]  # fmt: skip


def test_hindsight_sees_all_that_was_appended() -> None:
    target = engine("soon :- [+2] some p(1).", Settings(start=0, hindsight=True))
    append(target, DATA[:1], 3)
    assert [t for t, atoms in outputs(target, 3) if atoms] == [0, 1]

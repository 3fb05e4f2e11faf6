"""Listing, counting and following answer streams."""

import time
from itertools import islice

import pytest
from tests.run.answer_sets.random_programs import batch, checked

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, fact
from larspark.base.problems import LarsparkError
from larspark.run.answer_sets.engines import AspEngine, TmsEngine
from larspark.run.answer_sets.evaluators import SEVERAL
from larspark.run.protocol import Model, Settings


def program(text: str) -> Checked:
    found = checked(text)
    assert found is not None, text
    return found


def engine(text: str, elements: list[Element], time_limit: float | None = None) -> AspEngine:
    made = AspEngine(program(text), (), Settings(start=0, time_limit=time_limit))
    made.append(batch(elements))
    return made


def texts(model: dict[int, frozenset[Atom]]) -> dict[int, list[str]]:
    return {t: sorted(map(str, atoms)) for t, atoms in model.items()}


TWENTY_CHOICES = (
    "#input p/1.\nin(X) :- [5] some p(X), not out(X).\nout(X) :- [5] some p(X), not in(X)."
)
TWENTY = [Element(0, fact("p", number)) for number in range(20)]


def test_models_come_in_the_order_of_their_texts() -> None:
    made = engine("#input p/1.\na(X) or b(X) :- p(X).", [Element(0, fact("p", x)) for x in (2, 1)])
    assert [texts(model.stream) for model in made.models(0)] == [
        {0: ["a(1)", "a(2)"]},
        {0: ["a(1)", "b(2)"]},
        {0: ["a(2)", "b(1)"]},
        {0: ["b(1)", "b(2)"]},
    ]


def test_the_first_of_a_million_models_are_there_at_once_and_always_the_same() -> None:
    begun = time.monotonic()
    first = [texts(m.stream) for m in engine(TWENTY_CHOICES, TWENTY).models(0, limit=3)]
    again = [texts(m.stream) for m in islice(engine(TWENTY_CHOICES, TWENTY).models(0), 3)]
    assert len(first) == 3
    assert first == again
    assert time.monotonic() - begun < 300


def test_a_run_over_a_million_answer_streams_follows_one_and_does_not_jump_about() -> None:
    made = engine(TWENTY_CHOICES, [*TWENTY, Element(3, fact("p", 99))])
    outputs = [point.atoms or frozenset() for point in made.advance(8).points()]
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[2] < outputs[3]
    assert len(outputs[5]) == 21
    # Only the last element is left in the window.
    assert outputs[6] < outputs[5]
    assert [len(output) for output in outputs[6:]] == [1, 1, 1]
    assert made.notes == [SEVERAL]


def test_what_is_certain_and_what_can_be() -> None:
    made = engine("#input p/0.\na or b :- p.\nc :- p.", [Element(0, Atom("p"))])
    assert made.count(0) == 2
    assert made.cautious(0) == Model({0: frozenset({Atom("c")})})
    assert made.brave(0) == Model({0: frozenset({Atom("a"), Atom("b"), Atom("c")})})


def test_without_an_answer_stream_there_is_no_model_and_the_output_is_none() -> None:
    for text in ("#input p/0.\na :- p, not a.", "#input p/0.\n:- p.", "#input p/0.\nfalse :- p."):
        for made in (
            engine(text, [Element(1, Atom("p"))]),
            TmsEngine(program(text), (), Settings()),
        ):
            if isinstance(made, TmsEngine):
                made.append(batch([Element(1, Atom("p"))], 2))
            assert list(made.models(1)) == []
            assert made.count(1) == 0
            assert made.cautious(1) is made.brave(1) is made.closest(1) is None
            assert [p.atoms for p in made.advance(2).points() if p.t == 1] == [None]


def test_an_empty_answer_stream_is_not_the_same_as_none() -> None:
    made = engine("#input p/0, q/0.\na :- q.\n:- p, q.", [Element(1, Atom("p"))])
    assert [m.stream for m in made.models(1)] == [{}]
    assert [p.atoms for p in made.advance(1).points()] == [frozenset(), frozenset()]


PIGEONS = """
#input pigeon/1, hole/1.
in(P,H) or out(P,H) :- pigeon(P), hole(H), on.
on :- [*] some pigeon(0), not off.
off :- [*] some pigeon(0), not on.
housed(P) :- in(P,_).
:- pigeon(P), on, not housed(P).
:- in(P,H), in(Q,H), P < Q.
:- off, not [1] some hole(0).
"""


def test_a_time_limit_leaves_the_output_before_it_standing_and_says_so() -> None:
    pigeons = [Element(1, fact("pigeon", number)) for number in range(14)]
    holes = [Element(1, fact("hole", number)) for number in range(1, 14)]
    made = engine("#show housed/1, off/0.\n" + PIGEONS, [*pigeons, *holes], time_limit=0.3)
    begun = time.monotonic()
    outputs = [point.atoms for point in made.advance(1).points()]
    assert time.monotonic() - begun < 300
    assert outputs == [frozenset(), frozenset()]
    assert any("longer than 0.3 s" in note for note in made.notes)
    again = engine(PIGEONS, [*pigeons, *holes], time_limit=0.3)
    with pytest.raises(LarsparkError) as refusal:
        again.count(1)
    assert refusal.value.problems[0].code == "L412"


def test_an_output_is_told_from_those_that_no_answer_stream_has() -> None:
    made = engine("#input p/0.\na or b :- p.\nc :- a.", [Element(0, Atom("p"))])
    a, b, c = Atom("a"), Atom("b"), Atom("c")
    subsets = [{*()}, {a}, {b}, {c}, {a, b}, {a, c}, {b, c}, {a, b, c}]
    can = [subset for subset in subsets if made.can_output(0, frozenset(subset))]
    assert can == [{b}, {a, c}]


def test_models_at_a_later_time_point_do_not_move_the_run() -> None:
    made = engine("#input p/0.\na :- [2] some p.", [Element(1, Atom("p")), Element(5, Atom("p"))])
    assert [texts(m.stream) for m in made.models(6)] == [{6: ["a"]}]
    assert [bool(point.atoms) for point in made.advance(6).points()] == [
        False, True, True, True, False, True, True,
    ]  # fmt: skip

"""What truth maintenance cannot do goes to the solver, and the user is told."""

import pytest
from tests.run.answer_sets.random_programs import batch, checked

from larspark.base.atoms import Atom, Element, fact
from larspark.run.answer_sets.engines import AspEngine, TmsEngine
from larspark.run.protocol import Settings


def engine(text: str) -> TmsEngine:
    found = checked(text)
    assert found is not None, text
    return TmsEngine(found, (), Settings(start=0))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#input p/0.\na or b :- p.", "it has a disjunction in a head"),
        ("#input p/0.\na :- p.\n:- a, not p.", "it has a constraint"),
        ("#input p/0.\na :- [3] always [1] (p or p).", "its formulas are not plain"),
    ],
)
def test_programs_beyond_truth_maintenance_are_left_to_the_solver(text: str, reason: str) -> None:
    made = engine(text)
    assert made.notes == [f"the program is left to the solver: {reason}"]
    made.append(batch([Element(0, Atom("p"))], 1))
    assert next(made.advance(1).points()).atoms


def test_an_odd_loop_is_handed_over_when_it_bites_and_the_run_goes_on() -> None:
    made = engine("#input p/1.\na(X) :- [1] some p(X), not a(X).\nb(X) :- [1] some p(X), not c.")
    made.append(batch([Element(3, fact("p", 1))], 6))
    outputs = [point.atoms for point in made.advance(6).points()]
    assert outputs == [frozenset()] * 3 + [None] * 2 + [frozenset()] * 2
    assert any("found no answer stream at 3" in note for note in made.notes)


def test_exclusive_choice_among_three_is_an_odd_loop_that_does_not_bite() -> None:
    text = "#input p/1.\nin(X) :- [2] some p(X), not out(X).\n"
    text += "out(X) :- [2] some p(X), in(Y), X != Y."
    made = engine(text)
    made.append(batch([Element(0, fact("p", number)) for number in range(5)], 3))
    outputs = [point.atoms for point in made.advance(3).points()]
    assert [len(output or ()) for output in outputs] == [5, 5, 5, 0]
    assert outputs[0] == outputs[1] == outputs[2]
    assert not any("solver" in note for note in made.notes)


def test_all_answer_streams_are_the_solvers_business() -> None:
    text = "#input p/1.\nin(X) :- [2] some p(X), not out(X).\nout(X) :- [2] some p(X), not in(X)."
    found = checked(text)
    assert found is not None
    made, solver = engine(text), AspEngine(found, (), Settings(start=0))
    for one in (made, solver):
        one.append(batch([Element(0, fact("p", number)) for number in range(3)], 1))
        one.advance(0)
    assert [m.stream for m in made.models(1)] == [m.stream for m in solver.models(1)]
    assert made.count(1) == 8


def test_choices_survive_a_saved_state() -> None:
    text = "#input p/1.\nin(X) :- [9] some p(X), not out(X).\nout(X) :- [9] some p(X), not in(X)."
    made = engine(text)
    made.append(batch([Element(0, fact("p", number)) for number in range(6)], 1))
    (before,) = [p.atoms for p in made.advance(0).points()]
    other = engine(text)
    other.restore(made.save())
    assert [p.atoms for p in other.advance(1).points()] == [before]

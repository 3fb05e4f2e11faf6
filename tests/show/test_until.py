"""Until when an atom holds, compared with one evaluation after the other."""

import pytest
from tests.show.random_programs import Case, random_case
from tests.show.stories import checked, stream

from larspark.base.atoms import Element
from larspark.language import parse_atom
from larspark.meaning.output_stream import Oracle
from larspark.run.protocol import Settings
from larspark.show.explain.explanation import explain
from larspark.show.explain.proof import Until

# Longer than any window of the random programs can see.
FAR = 14


def until_step_by_step(case: Case, goal: Element) -> int | None:
    oracle = Oracle(case.checked, frozenset(), start=0)
    known = [element for element in case.elements if element.t <= case.at]
    for t in range(case.at + 1, case.at + FAR):
        (answer,) = oracle.answers(known, t)
        if goal.atom not in answer.at(t):
            return t - 1
    return None


@pytest.mark.parametrize("simple", [True, False])
def test_until_is_what_evaluation_at_each_time_point_gives(simple: bool) -> None:
    for seed in range(45):
        case = random_case(seed, simple=simple)
        (answer,) = Oracle(case.checked, frozenset(), start=0).answers(case.elements, case.at)
        for atom in sorted(answer.at(case.at))[-3:]:
            goal = Element(case.at, atom)
            proof = explain(case.checked, atom, case.at, case.elements, settings=Settings(0))
            assert proof is not None
            assert proof.until is not None
            expected = until_step_by_step(case, goal)
            if expected is not None:
                assert proof.until == Until(expected), f"seed {seed}: {goal} {case}"
            else:
                assert proof.until.last is None or proof.until.last >= case.at + FAR - 1


@pytest.mark.parametrize(
    ("program", "facts", "expected"),
    [
        ("q :- p.", "@5 p.", Until(5)),
        ("q :- [3] some p.", "@5 p.", Until(8)),
        ("q :- [3] some p.", "@4 p. @5 p.", Until(8)),
        ("q :- [100000] some p.", "@5 p.", Until(100005)),
        ("q :- [*] some p.", "@5 p.", Until(None)),
        ("q :- [#2] some p.", "@4 p. @5 r.", Until(None)),
        ("q :- not [2] some p.", "@2 p. @5 r.", Until(None)),
        ("q :- not r. r :- not [3] some p.", "@5 p.", Until(8)),
        ("q :- [5 every 5] some p.", "@5 p.", Until(14)),
        ("#remember r/0. r :- p. q :- [3] some r.", "@5 p.", Until(8)),
        ("q :- [1] some r. #remember r/0. r :- [1] some r. r :- p.", "@5 p.", Until(204, False)),
        ("a :- not b. b :- not a. q :- a.", "@5 p.", None),
    ],
)
def test_until_when_an_atom_holds_if_nothing_more_arrives(
    program: str, facts: str, expected: Until | None
) -> None:
    proof = explain(checked(program), parse_atom("q"), 5, stream(facts))
    assert proof is not None
    assert proof.until == expected


def test_a_later_proof_takes_over_when_the_first_one_ends() -> None:
    # At 5 the proof rests on `a`; when that is gone, `b` is still there.
    program = checked("q :- [2] some a. q :- [4] some b.")
    proof = explain(program, parse_atom("q"), 5, stream("@4 a. @5 b."))
    assert proof is not None
    assert proof.until == Until(9)

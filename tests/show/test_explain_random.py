"""Random explanations, verified by the evaluator of the definitions alone."""

from collections.abc import Sequence
from itertools import count

import pytest
from tests.definitions import satisfies
from tests.show.random_programs import Case, random_case

from larspark.analysis.check import check
from larspark.base.atoms import Element
from larspark.base.terms import Variable
from larspark.language.tree import Comparison, Not, Program, Rule
from larspark.meaning.answer_streams import AnswerStream, answer_streams
from larspark.meaning.entailment import Structure
from larspark.meaning.grounding import ground
from larspark.meaning.open_timeline import find_horizon
from larspark.meaning.output_stream import Oracle
from larspark.meaning.streams import Universe
from larspark.run.protocol import Settings
from larspark.show.explain.explanation import explain
from larspark.show.explain.proof import Proof

START = 0


def timeline(case: Case) -> tuple[int, int | None]:
    return START, None if case.checked.future_heads else case.at


def instance_rules(proof: Proof) -> list[Rule]:
    """The rule instances of a proof, without their negated parts."""
    return [
        Rule(
            step.rule.head,
            (
                *(Comparison("=", Variable(name), value) for name, value in step.substitution),
                *(part for part in step.rule.body if not isinstance(part, Not)),
            ),
        )
        for step in proof.steps
    ]


def derives(proof: Proof, facts: Sequence[Element], case: Case) -> bool:
    """Do the rule instances alone give the atom from these facts alone?"""
    program = check(Program(tuple(instance_rules(proof)), inputs=case.checked.inputs))
    (answer,) = answer_streams(program, facts, (), timeline(case), case.at)
    return proof.element.atom in answer.at(proof.element.t)


def negated_parts_hold(proof: Proof, answer: AnswerStream, case: Case) -> bool:
    """Are the negated parts of the rule instances true in the whole answer stream?"""
    universe = Universe(element for element in case.elements if element.t <= case.at)
    for t, atoms in answer.derived.items():
        for atom in atoms:
            universe.add(t, atom)
    stream = universe.whole(*timeline(case))
    for step in proof.steps:
        for part in step.rule.body:
            if isinstance(part, Not):
                formula = ground(part, dict(step.substitution))
                horizon = find_horizon(stream, case.at, formula)
                if not satisfies(Structure(stream, frozenset(), horizon), case.at, formula):
                    return False
    return True


def goals(answer: AnswerStream) -> list[Element]:
    """A derived atom of each predicate above the lowest, if there is one."""
    by_predicate: dict[str, Element] = {}
    for t, atoms in answer.derived.items():
        for atom in sorted(atoms):
            if atom.predicate != "p0":
                by_predicate[atom.predicate] = Element(t, atom)
    return list(by_predicate.values())


def verify(case: Case, goal: Element, answer: AnswerStream) -> Proof:
    proof = explain(
        case.checked, goal.atom, case.at, case.elements, settings=Settings(START), when=goal.t
    )
    assert proof is not None
    assert not proof.circular
    assert proof.minimal
    assert derives(proof, proof.facts, case)
    assert negated_parts_hold(proof, answer, case)
    for fact in proof.facts:
        assert not derives(proof, [other for other in proof.facts if other != fact], case), fact
    return proof


@pytest.mark.parametrize("share", range(4))
def test_the_facts_of_a_proof_give_its_atom_and_none_of_them_can_be_missing(share: int) -> None:
    verified = steps = 0
    for seed in count(1_000 * share):
        case = random_case(seed)
        (answer,) = Oracle(case.checked, frozenset(), START).answers(case.elements, case.at)
        for goal in goals(answer):
            try:
                steps += len(verify(case, goal, answer).steps)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, {goal} {case}") from error
            verified += 1
        if verified >= 125:
            break
    # The test is worth little if all proofs are trivial.
    assert 2 * steps > 3 * verified

"""Proofs in programs with choices, constraints and any formula in heads and bodies."""

from random import Random

from tests.definitions import satisfies

from larspark.analysis.check import check
from larspark.analysis.checked import Checked, Fragment
from larspark.base.atoms import Atom, Element
from larspark.language import parse_program
from larspark.meaning.answer_streams import AnswerStream
from larspark.meaning.entailment import Structure
from larspark.meaning.grounding import ground
from larspark.meaning.open_timeline import find_horizon
from larspark.meaning.output_stream import Oracle
from larspark.meaning.streams import Universe
from larspark.run.protocol import Settings
from larspark.show.explain.explanation import explain, explain_atom
from larspark.show.explain.proof import Proof

START, AT = 1, 4
DERIVED = ("p", "q", "r", "s")


def random_program(random: Random) -> str:
    plain = ("{0}", "{0}", "[2] some {0}", "[1] always {0}")
    parts = random.choice((plain, (*plain, "({0} or {1})", "({0} -> {1})")))
    heads = ("{0}", "{0} or {1}")
    if parts is not plain:
        heads = (*heads, "{0} and {1}", "[1] always {0}")

    def fill(shapes: tuple[str, ...], names: tuple[str, ...]) -> str:
        return random.choice(shapes).format(random.choice(names), random.choice(DERIVED))

    # Half of the programs have a choice for certain.
    rules = ["p :- not q.", "q :- not p."] if random.random() < 0.5 else []
    for _ in range(random.randint(2, 6)):
        seen = (*DERIVED, "a", "b")
        negations = (random.choice(("", "not ")) for _ in range(random.randint(1, 2)))
        body = [f"{negation}{fill(parts, seen)}" for negation in negations]
        head = "" if random.random() < 0.1 else fill(heads, DERIVED)
        rules.append(f"{head} :- {', '.join(body)}.")
    # Without these a predicate that no rule derives would be unknown.
    return "\n".join(["#input a/0, b/0.", *rules, *(f"{name} :- a, b." for name in DERIVED)])


def bodies_hold(
    proof: Proof, checked: Checked, answer: AnswerStream, elements: list[Element]
) -> bool:
    """Are the bodies of all rule instances true in the answer stream?"""
    universe = Universe(elements)
    for t, atoms in answer.derived.items():
        for atom in atoms:
            universe.add(t, atom)
    stream = universe.whole(START, None if checked.future_heads else AT)
    for step in proof.steps:
        for part in step.rule.body:
            formula = ground(part, dict(step.substitution))
            structure = Structure(stream, frozenset(), find_horizon(stream, AT, formula))
            if not satisfies(structure, AT, formula):
                return False
    return True


def is_well_founded(proof: Proof) -> bool:
    proved: set[Element] = set()
    waiting = list(proof.steps)
    while waiting:
        ready = [
            step
            for step in waiting
            if all(element in proved for part in step.parts for element in part.derived)
        ]
        if not ready:
            return False
        proved.update(step.element for step in ready)
        waiting = [step for step in waiting if step not in ready]
    return True


def test_every_atom_of_every_answer_stream_has_a_proof() -> None:
    proofs = several = 0
    for seed in range(120):
        random = Random(seed)
        text = random_program(random)
        program = parse_program(text).program
        assert program is not None, text
        checked = check(program)
        elements = [
            Element(t, Atom(name))
            for t in range(START, AT + 1)
            for name in "ab"
            if random.random() < 0.5
        ]
        answers = Oracle(checked, frozenset(), START).answers(elements, AT)
        several += len(answers) > 1
        for answer in answers:
            for goal in [Element(t, a) for t, atoms in answer.derived.items() for a in atoms]:
                proof = explain(
                    checked,
                    goal.atom,
                    AT,
                    elements,
                    model=answer.derived,
                    settings=Settings(START),
                    when=goal.t,
                )
                assert proof is not None, text
                assert bodies_hold(proof, checked, answer, elements), text
                # Plain programs have no circles in their answer streams.
                assert is_well_founded(proof) != proof.circular, text
                assert not proof.circular or checked.fragment is Fragment.FULL, text
                proofs += 1
        for atom in map(Atom, DERIVED):
            found = explain_atom(checked, atom, AT, elements, settings=Settings(START))
            assert found.holds == any(atom in answer.at(AT) for answer in answers), text
    assert proofs > 150
    assert several > 10

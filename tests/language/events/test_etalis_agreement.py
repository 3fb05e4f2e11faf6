"""Rules of ETALIS on every engine give what an enumeration of all intervals gives.

`LARSPARK_PAIRS` sets how many pairs of rules and a stream are drawn.
"""

import os
from random import Random

import pytest
from tests.language.events.enumeration import INPUTS, RandomRules, happened
from tests.run.test_agreement import SEED

from larspark import LarsparkError, Program
from larspark.api import open_session
from larspark.base.atoms import Atom, atom_text
from larspark.base.facts import Row, RowBatch
from larspark.language import parse_program
from larspark.language.dialects.etalis.etalis_reader import EtalisReader
from larspark.language.dialects.etalis.event_rules import events
from larspark.language.nodes import variables
from larspark.language.printer import lars_translation
from larspark.language.source import Source
from larspark.language.tree import AtomFormula
from larspark.run.protocol import Settings

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "20000")) // 40
SHARE = {"interval": 1.0, "asp": 0.1, "tms": 0.1, "oracle": 0.1}


def random_elements(random: Random) -> list[tuple[int, Atom]]:
    last = random.randint(2, 9)
    found = []
    # Events of the stream may have the name of a complex event.
    inputs = [*INPUTS, ("c0", 1)] if random.random() < 0.2 else INPUTS
    for t in range(1, last + 1):
        for name, arity in inputs:
            for value in (1, 2, 3) if arity else (None,):
                if random.random() < 0.22:
                    found.append((t, Atom(name, () if value is None else (value,))))
    return found


def agrees(text: str, elements: list[tuple[int, Atom]], engine: str) -> int | None:
    """Compare; how many events happened? None if the rules are refused."""
    parsed = parse_program(text, dialect="etalis")
    assert parsed.program is not None, (text, parsed.problems)
    reader = EtalisReader(Source("t", text))
    reader.read()
    facts = [f.head.atom for f in reader.facts if isinstance(f.head, AtomFormula)]
    heads = {rule.head.signature for rule in reader.rules}
    # An event that no pattern uses is a conclusion alone.
    used = {event.atom.signature for rule in reader.rules for event, _ in events(rule.pattern)}
    elements = [(t, a) for t, a in elements if a.signature in used or a.signature not in heads]
    expected = {
        (last, Atom(atom.predicate, (*atom.args, first, last)))
        for atom, intervals in happened(reader.rules, elements, facts).items()
        if atom.signature in heads
        for first, last in intervals
    }
    program = Program(parsed.program)
    try:
        session = open_session(program, (), engine, Settings(start=1))
    except LarsparkError as error:
        assert error.problems[0].code in ("L202", "L203", "L403"), (text, error)
        return None
    end = max((t for t, _ in elements), default=1)
    session.append(RowBatch([Row(t, atom, 0) for t, atom in elements], end))
    points = list(session.advance(end).points())
    found = {(p.t, atom) for p in points for atom in p.atoms or ()}
    assert found == expected, text
    return len(expected)


def test_an_event_of_the_stream_can_be_a_complex_event_too() -> None:
    assert agrees("chain(X) <- chain(X) seq a(X).", [(1, Atom("chain", (1,)))], "auto") == 1
    elements = [(1, Atom("chain", (1,))), (2, Atom("a", (1,))), (4, Atom("a", (1,)))]
    assert agrees("chain(X) <- chain(X) seq a(X).", elements, "auto") == 3


@pytest.mark.parametrize("engine", SHARE)
def test_events_happen_when_an_enumeration_says(engine: str) -> None:
    seed, compared, happening = SEED, 0, 0
    wanted = int(PAIRS * SHARE[engine])
    while compared < wanted:
        seed += 1
        random = Random(seed)
        text = RandomRules(random).text()
        found = agrees(text, random_elements(random), engine)
        compared += found is not None
        happening += bool(found)
    assert happening * 3 > wanted


def test_the_translation_is_the_same_program() -> None:
    for seed in range(200):
        program = parse_program(RandomRules(Random(seed)).text(), dialect="etalis").program
        assert program is not None
        again = parse_program(lars_translation(program))
        assert again.program == program


def test_variables_that_lars_does_not_have_get_another_name() -> None:
    rules = "c(X) <- a(X, _x) seq b(_x, _1) seq a(__, _1) where (__ > 1, V_x = 3, _Y = 2)."
    program = parse_program(rules, dialect="etalis").program
    assert program is not None
    assert {v.name for f in program.rules[0].body for v in variables(f)} >= {"VV_x", "V_1", "V__"}
    assert parse_program(lars_translation(program)).program == program


# The table of the operators, with p = [1,3] and q on other intervals, each made by a sequence.
TABLE = {
    "seq": {(5, 7): (1, 7)},
    "and": {(5, 7): (1, 7), (2, 5): (1, 5), (1, 3): (1, 3), (3, 6): (1, 6), (0, 6): (0, 6)},
    "par": {(2, 5): (1, 5), (1, 3): (1, 3), (1, 5): (1, 5), (0, 3): (0, 3), (0, 6): (0, 6)},
    "equals": {(1, 3): (1, 3)},
    "meets": {(3, 6): (1, 6)},
    "during": {(0, 6): (0, 6)},
    "starts": {(1, 5): (1, 5)},
    "finishes": {(0, 3): (0, 3)},
}
OTHERS = [(5, 7), (2, 5), (1, 3), (3, 6), (0, 6), (1, 5), (0, 3)]


@pytest.mark.parametrize("operator", TABLE)
@pytest.mark.parametrize("other", OTHERS)
def test_an_operator_gives_its_interval(operator: str, other: tuple[int, int]) -> None:
    rules = f"p <- p1 seq p2. q <- q1 seq q2. c <- p {operator} q."
    elements = sorted(
        [(1, Atom("p1")), (3, Atom("p2")), (other[0], Atom("q1")), (other[1], Atom("q2"))],
        key=lambda element: (element[0], atom_text(element[1])),
    )
    session = open_session(Program.parse(rules, dialect="etalis"), (), "auto", Settings(start=0))
    session.append(RowBatch([Row(t, atom, 0) for t, atom in elements], 9))
    found = {
        atom.args
        for point in session.advance(9).points()
        for atom in point.atoms or ()
        if atom.predicate == "c"
    }
    expected = dict(TABLE[operator])
    if operator == "and":
        expected |= {o: (min(1, o[0]), max(3, o[1])) for o in OTHERS}
    assert found == ({expected[other]} if other in expected else set())


def test_example_25_of_the_paper() -> None:
    """A sequence spans both events; overlapping events of one atom stay apart."""
    rules = "x <- a seq b. y <- c seq d. z <- x seq y."
    program = Program.parse(rules, dialect="etalis")
    session = open_session(program, (), "auto", Settings(start=1))
    times = {1: "a", 2: "a", 4: "b", 5: "c", 7: "d"}
    session.append(RowBatch([Row(t, Atom(name), 0) for t, name in times.items()], 7))
    found = {(p.t, atom_text(a)) for p in session.advance(7).points() for a in p.atoms or ()}
    assert found == {(4, "x(1,4)"), (4, "x(2,4)"), (7, "y(5,7)"), (7, "z(1,7)"), (7, "z(2,7)")}

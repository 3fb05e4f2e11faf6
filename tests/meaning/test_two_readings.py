"""Definition 9 as written and the labelling of section 4.3 are two readings of one meaning."""

import random

import pytest
from tests.definitions import satisfies

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Term, Wildcard
from larspark.language import parse_formula
from larspark.language.windows import (
    FilterWindow,
    GroupWindow,
    NamedWindow,
    SessionWindow,
    TimeWindow,
    TupleWindow,
    Window,
)
from larspark.logic.circuit import FALSE, TRUE, Circuit
from larspark.meaning.entailment import Structure, entails
from larspark.meaning.grounding import (
    Ground,
    GroundAlways,
    GroundAnd,
    GroundAt,
    GroundAtom,
    GroundImplies,
    GroundNot,
    GroundOr,
    GroundReset,
    GroundSome,
    GroundTruth,
    GroundWindowed,
    ground,
)
from larspark.meaning.labelling import Labelling
from larspark.meaning.open_timeline import Horizon, find_horizon
from larspark.meaning.queries import query
from larspark.meaning.streams import Stream, Universe, numbers_of
from larspark.meaning.window_functions import register_window

LAST = 7
BACKGROUND = frozenset({Atom("e", (1,))})
ATOMS = [Atom("p", (1,)), Atom("p", (2,)), Atom("q", (1,)), Atom("e", (1,)), Atom("e", (2,))]
KEYS = ((Signature("p", 1), (0,)), (Signature("q", 1), (0,)))


def seeded(seed: int) -> random.Random:
    return random.Random(seed)


def _after_last_q(stream: Stream, t: int, extra: int) -> Stream:
    """A window that no built-in gives: what came after the last q, and some time points before."""
    seen = [element.t for element in stream.elements() if element.atom.predicate == "q"]
    return stream.during(max(seen, default=stream.start) - extra, stream.end)


register_window("after_last_q", _after_last_q)


def random_atom(rng: random.Random) -> Atom:
    atom = rng.choice(ATOMS)
    args: tuple[Term, ...] = (Wildcard(),) if rng.random() < 0.2 else atom.args
    return Atom(atom.predicate, args)


def random_window(rng: random.Random, own: bool) -> Window:
    small = rng.randrange
    match rng.choice(
        ["sliding", "hopping", "past", "tuples", "groups", "sessions", "filter", "own"]
    ):
        case "sliding":
            return TimeWindow(small(4), small(3))
        case "hopping":
            past, future = small(1, 5), small(3)
            return TimeWindow(past, future, small(1, past + future + 1))
        case "past":
            return TimeWindow(None, small(2), small(1, 4))
        case "tuples":
            return TupleWindow(small(4), small(3))
        case "groups":
            return GroupWindow(TupleWindow(small(3), small(2)), KEYS[: small(1, 3)])
        case "sessions":
            session = SessionWindow(small(3), rng.choice([None, small(4)]), rng.random() < 0.5)
            return rng.choice([session, GroupWindow(session, KEYS[: small(1, 3)])])
        case "own" if own:
            return NamedWindow("after_last_q", (small(3),))
        case _:
            return FilterWindow(tuple(random_atom(rng) for _ in range(small(1, 3))))


def random_formula(rng: random.Random, depth: int, own: bool) -> Ground:
    if depth == 0:
        return (
            GroundAtom(random_atom(rng)) if rng.random() < 0.9 else GroundTruth(rng.random() < 0.5)
        )

    def below() -> Ground:
        return random_formula(rng, depth - 1, own)

    kinds = [
        "some",
        "always",
        "at",
        "window",
        "window",
        "window",
        "reset",
        "not",
        "and",
        "or",
        "->",
    ]
    match rng.choice(kinds):
        case "some":
            return GroundSome(below())
        case "always":
            return GroundAlways(below())
        case "at":
            return GroundAt(rng.randrange(-1, LAST + 3), below())
        case "window":
            return GroundWindowed(random_window(rng, own), below())
        case "reset":
            return GroundReset(below())
        case "not":
            return GroundNot(below())
        case "and":
            return GroundAnd((below(), below()))
        case "or":
            return GroundOr((below(), below()))
        case _:
            return GroundImplies(below(), below())


def random_universe(rng: random.Random) -> Universe:
    arrived = [(rng.randrange(LAST + 1), rng.choice(ATOMS)) for _ in range(rng.randrange(9))]
    universe = Universe(arrived)
    for _ in range(rng.randrange(4)):
        universe.add(rng.randrange(LAST + 1), rng.choice(ATOMS))
    return universe


@pytest.mark.parametrize("chunk", range(10))
def test_definition_and_labelling_agree_on_random_formulas(chunk: int) -> None:
    held = 0
    for seed in range(chunk * 2000, (chunk + 1) * 2000):
        rng = seeded(seed)
        stream = random_universe(rng).whole(rng.randrange(3), LAST)
        structure = Structure(stream, BACKGROUND)
        formula = random_formula(rng, rng.randrange(2, 7), own=True)
        t = rng.randrange(stream.start, LAST + 1)
        expected = entails(structure, stream, t, formula)
        held += expected
        assert satisfies(structure, t, formula) == expected, (seed, formula, stream, t)
    # A comparison of formulas that are all false would show nothing.
    assert 400 < held < 1600


def test_labels_are_the_conditions_on_undecided_elements() -> None:
    for seed in range(1500):
        rng = seeded(seed)
        universe = random_universe(rng)
        undecided = sum(1 << universe.add(rng.randrange(LAST + 1), a) for a in ATOMS[:3])
        undecided &= ~universe.arrived
        stream = universe.whole(0, LAST)
        formula = random_formula(rng, rng.randrange(2, 5), own=True)
        t = rng.randrange(LAST + 1)
        circuit = Circuit[int]()
        label = Labelling(Structure(stream, BACKGROUND), undecided, circuit).label(formula, t)
        present = undecided & rng.getrandbits(len(universe.elements))
        actual = stream.with_bits(~undecided | present)
        expected = entails(Structure(actual, BACKGROUND), actual, t, formula)
        assert _value(circuit, label, present) == expected, (seed, formula, stream, t, present)


def _value(circuit: Circuit[int], condition: int, present: int) -> bool:
    if condition < 0:
        return not _value(circuit, -condition, present)
    if condition == TRUE:
        return True
    for name, node in circuit.variables.items():
        if node == condition:
            return bool(present >> name & 1)
    for node, decide in circuit.deferred:
        if node == condition:
            return decide(lambda name: bool(present >> name & 1))
    return all(_value(circuit, part, present) for part in circuit.gates[condition])


def test_beyond_the_horizon_nothing_differs() -> None:
    for seed in range(3000):
        rng = seeded(seed)
        stream = random_universe(rng).whole(rng.randrange(LAST + 1), None)
        body = random_formula(rng, rng.randrange(1, 5), own=False)
        formula = rng.choice((GroundSome, GroundAlways))(body)
        t = stream.start
        near = find_horizon(stream, t, formula)
        far = Horizon(near.latest, near.reach * 2 + rng.randrange(12))
        results = {
            satisfies(Structure(stream, BACKGROUND, horizon), t, formula) for horizon in (near, far)
        }
        assert len(results) == 1, (seed, formula, stream, t)


def test_the_formula_of_figure_8_nested_ten_deep_is_answered_at_200_time_points() -> None:
    nested = "d"
    for _ in range(10):
        nested = f"[10] always ([#3] some a and ([4] some b -> [5] always (not c and {nested})))"
    formula = parse_formula(nested).formula
    assert formula is not None
    rng = seeded(8)
    chance = {"a": 0.9, "b": 0.9, "c": 0.02, "d": 0.9}
    elements = [
        (t, Atom(name))
        for t in range(200)
        for name, share in chance.items()
        if rng.random() < share
    ]
    answers = query(formula, elements)
    assert 0 < len(answers) < 200


def test_labels_without_undecided_elements_are_constants() -> None:
    stream = Universe([(1, Atom("p"))]).whole(0, 3)
    formula = parse_formula("[1] some p").formula
    assert formula is not None
    labelling = Labelling(Structure(stream, frozenset()))
    labels = [labelling.label(ground(formula, {}), t) for t in range(4)]
    assert labels == [FALSE, TRUE, TRUE, FALSE]


def test_numbers_of_bits_are_ascending() -> None:
    assert list(numbers_of(0)) == []
    assert list(numbers_of(1 << 70 | 5)) == [0, 2, 70]

"""Truth maintenance on random ground programs that change, judged by the solver."""

from random import Random

from clingo import Control
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.answer_sets.random_programs import examples, seeded

from larspark.run.answer_sets.justifications import Network
from larspark.run.answer_sets.label_search import GiveUpError

GroundRule = tuple[int, tuple[int, ...], tuple[int, ...]]


def answer_sets(rules: list[GroundRule], atoms: int) -> set[frozenset[int]]:
    control = Control(["0", "--warn=none"])
    with control.backend() as backend:
        literals = [backend.add_atom() for _ in range(atoms)]
        for head, positive, negative in rules:
            body = [literals[n] for n in positive] + [-literals[n] for n in negative]
            backend.add_rule([literals[head]], body)
    found: set[frozenset[int]] = set()
    with control.solve(yield_=True) as handle:
        for model in handle:
            found.add(frozenset(n for n in range(atoms) if model.is_true(literals[n])))
    return found


def rule(random: Random, atoms: int) -> GroundRule:
    def some(most: int) -> tuple[int, ...]:
        return tuple(random.randrange(atoms) for _ in range(random.randint(0, most)))

    return random.randrange(atoms), some(2), some(2)


def labels(network: Network, atoms: int) -> frozenset[int]:
    return frozenset(n for n in range(atoms) if network.holds(n))


@given(st.integers(0, 2**32))
@settings(max_examples=examples(300), deadline=None)
def test_the_labels_form_an_answer_set_after_every_change(seed: int) -> None:
    random = seeded(seed)
    atoms = random.randint(2, 8)
    network = Network(lambda number: True)
    present: dict[int, GroundRule] = {}
    asleep: dict[int, GroundRule] = {}
    for _ in range(12):
        for _ in range(random.randint(1, 4)):
            kind = random.random()
            if kind < 0.55 or not present:
                new = rule(random, atoms)
                present[network.add((new[0],), new[1], new[2])] = new
            elif kind < 0.75:
                gone = random.choice(list(present))
                network.drop(gone)
                del present[gone]
            elif kind < 0.9 or not asleep:
                number = random.choice(list(present))
                network.suspend(number)
                asleep[number] = present.pop(number)
            else:
                number = random.choice(list(asleep))
                network.resume(number)
                present[number] = asleep.pop(number)
        expected = answer_sets(list(present.values()), atoms)
        try:
            network.relabel()
        except GiveUpError:
            # So small a program is searched to the end: there is no answer set.
            assert not expected
            return
        assert labels(network, atoms) in expected


def test_a_choice_is_kept_as_long_as_it_can_be() -> None:
    network = Network(lambda number: False)
    network.add((0,), (), (1,))
    network.add((1,), (), (0,))
    network.relabel()
    first = labels(network, 2)
    network.add((2,), tuple(first), ())
    network.relabel()
    assert labels(network, 3) == first | {2}
    (chosen,) = first
    # The other one becomes certain, so the choice has to go, and what stood on it.
    network.add((1 - chosen,), (), ())
    network.relabel()
    assert labels(network, 3) == {1 - chosen}


def test_what_supports_itself_in_a_circle_is_out() -> None:
    network = Network(lambda number: True)
    network.add((0,), (1,), ())
    network.add((1,), (0,), ())
    outside = network.add((0,), (), ())
    network.relabel()
    assert labels(network, 2) == {0, 1}
    network.drop(outside)
    network.relabel()
    assert labels(network, 2) == frozenset()


def test_a_long_chain_is_labelled_without_recursion() -> None:
    network = Network(lambda number: True)
    start = network.add((0,), (), ())
    for number in range(50_000):
        network.add((number + 1,), (number,), ())
    network.relabel()
    assert network.holds(50_000)
    network.suspend(start)
    network.relabel()
    assert not network.holds(50_000)


def test_a_rule_that_denies_itself_leaves_no_labels() -> None:
    network = Network(lambda number: False)
    network.add((0,), (), (0,))
    try:
        network.relabel()
    except GiveUpError:
        return
    raise AssertionError("an odd loop was labelled")

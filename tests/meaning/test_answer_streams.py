"""Answer streams against Definition 12, tried out on every interpretation stream."""

import random
from itertools import product

import pytest

from larspark.analysis.checked import Checked, Fragment, Lookback
from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError
from larspark.language import parse_program
from larspark.language.nodes import variables, walk
from larspark.language.tree import At, Program, Rule
from larspark.logic.matching import Binding
from larspark.logic.values import NoValueError
from larspark.meaning.answer_streams import answer_streams
from larspark.meaning.entailment import Structure, entails
from larspark.meaning.grounding import Ground, GroundAnd, ground, time_point
from larspark.meaning.queries import pins_in_timeline
from larspark.meaning.streams import Stream, Universe
from larspark.meaning.window_functions import register_window

Model = frozenset[Element]


def seeded(seed: int) -> random.Random:
    return random.Random(seed)


def unchecked(text: str, *derived: str, endless: bool = False) -> Checked:
    """A program without the analysis, which would refuse some of what is meant to run here."""
    parsed = parse_program(text).program
    assert parsed is not None, parse_program(text).problems
    signatures = frozenset(
        Signature(name, int(arity)) for name, arity in (d.split("/") for d in derived)
    )
    return Checked(
        program=Program(parsed.rules),
        rules=parsed.rules,
        background=frozenset(),
        elements=(),
        inputs=frozenset(),
        background_signatures=frozenset(),
        derived=signatures,
        shown=signatures,
        edges=(),
        strata=None,
        fragment=Fragment.FULL,
        lookback=Lookback(None, None),
        future_reach=0,
        endless=endless,
        nested_windows=True,
        several_models=True,
        partition_key=None,
    )


def found(
    checked: Checked, data: list[Element], timeline: tuple[int, int | None], t: int
) -> set[Model]:
    answers = [
        frozenset(Element(u, atom) for u, atoms in answer.derived.items() for atom in atoms)
        for answer in answer_streams(checked, data, (), timeline, t)
    ]
    assert len(answers) == len(set(answers))
    return set(answers)


def instances(rule: Rule, values: list[int], stream: Stream) -> list[tuple[Ground, GroundAnd]]:
    """All ground instances of a rule over these values."""
    formulas = (rule.head, *rule.body)
    names = sorted({v.name for formula in formulas for v in variables(formula)})
    result = []
    for chosen in product(values, repeat=len(names)):
        binding: Binding = dict(zip(names, chosen, strict=True))
        try:
            pins = [time_point(p.time, binding) for p in walk(rule.head) if isinstance(p, At)]
            body = GroundAnd(tuple(ground(part, binding) for part in rule.body))
            head = ground(rule.head, binding)
        except NoValueError:
            continue
        if all(map(stream.has_time, pins)) and pins_in_timeline(formulas, binding, stream):
            result.append((head, body))
    return result


def by_definition(
    checked: Checked, data: list[Element], candidates: list[Element], end: int, t: int
) -> set[Model]:
    """Every set of candidates that is a minimal model of its own reduct."""
    universe = Universe(data)
    given = universe.whole(0, end).bits
    numbers = [universe.add(*candidate) for candidate in candidates]
    whole = universe.whole(0, end)
    values = sorted({0, 1, 2, *range(end + 1)})
    rules = [pair for rule in checked.rules for pair in instances(rule, values, whole)]
    streams = []
    for mask in range(1 << len(numbers)):
        chosen = sum(1 << number for i, number in enumerate(numbers) if mask >> i & 1)
        structure = Structure(whole.with_bits(given | chosen), frozenset())
        bodies = [entails(structure, structure.stream, t, body) for _, body in rules]
        heads = [entails(structure, structure.stream, t, head) for head, _ in rules]
        streams.append((bodies, heads))

    def is_model(mask: int, reduct: list[bool]) -> bool:
        bodies, heads = streams[mask]
        return all(
            head or not body or not kept
            for body, head, kept in zip(bodies, heads, reduct, strict=True)
        )

    def is_answer(mask: int) -> bool:
        reduct = streams[mask][0]
        smaller = (other for other in range(mask) if other & mask == other)
        return is_model(mask, reduct) and not any(is_model(other, reduct) for other in smaller)

    return {
        frozenset(c for i, c in enumerate(candidates) if mask >> i & 1)
        for mask in range(1 << len(numbers))
        if is_answer(mask)
    }


def random_text(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["a", "b", "a", "b", "i", "j", "true", "false"])

    def below() -> str:
        return random_text(rng, depth - 1)

    forms = [
        "({0} and {1})", "({0} or {1})", "({0} -> {1})", "not {0}", "not {0}", "some {0}",
        "always {0}", "@1 {0}", "@2 {0}", "[1] {0}", "[1] some {0}", "[1] always {0}",
        "[+1] some {0}",
        "[2 every 2] some {0}", "[#1] some {0}", "[only a] {0}", "reset {0}", "{0}", "{0}",
    ]  # fmt: skip
    return rng.choice(forms).format(below(), below())


def random_program(rng: random.Random, depth: int) -> str:
    rules = []
    for _ in range(rng.randrange(1, 5)):
        head = random_text(rng, rng.choice([0, 0, 1, depth]))
        body = [random_text(rng, rng.choice([0, 1, depth])) for _ in range(rng.randrange(3))]
        rules.append(f"{head} :- {', '.join(body) or 'true'}.")
    return "\n".join(rules)


def random_data(rng: random.Random, end: int) -> list[Element]:
    return [Element(rng.randrange(end + 1), Atom(rng.choice("ijk"))) for _ in range(3)]


@pytest.mark.parametrize("chunk", range(8))
def test_random_full_programs_have_the_answer_streams_of_the_definition(chunk: int) -> None:
    counts = {0: 0, 1: 0, 2: 0}
    for seed in range(chunk * 150, (chunk + 1) * 150):
        rng = seeded(seed)
        text, data = random_program(rng, 2), random_data(rng, 2)
        t = rng.randrange(3)
        checked = unchecked(text, "a/0", "b/0")
        candidates = [Element(u, Atom(name)) for u in range(3) for name in "ab"]
        expected = by_definition(checked, data, candidates, 2, t)
        assert found(checked, data, (0, 2), t) == expected, (seed, text, data, t)
        counts[min(len(expected), 2)] += 1
    # None, one and several answer streams all have to occur for this to mean something.
    assert min(counts.values()) > 0


BINDERS = ["p(X)", "[1] some p(X)", "[1] @T p(X)", "@T p(X)", "@T+1 p(X)", "[#1] some p(X)",
           "[#1 by X] some p(X)", "some d(X)", "d(X)", "@T d(X)", "[1] always p(X)",
           "(p(X) or d(X))", "some (p(X) and not q(X))", "@T [1] some p(X)"]  # fmt: skip
FILTERS = ["not q(X)", "not [1] some d(X)", "not f(X)", "X != 1", "Y = X + 1, e(X,Y)", "f(_)",
           "e(X,_)", "not @T q(X)", "not e(X,2)", "X / 0 = 1", "not X / 0 = 1", "(q(X) -> f(X))",
           "[only p(X)] [#1] some p(X)", "always not q(X)", "1 <= X"]  # fmt: skip
HEADS = ["d(X)", "f(X)", "@T d(X)", "@T+1 f(X)", "d(X) or f(X)", "always d(X)", "false",
         "[1] some f(X)", "d(X) and f(X)", "not d(X)"]  # fmt: skip


def random_schema(rng: random.Random) -> str:
    rules = []
    for _ in range(rng.randrange(1, 4)):
        parts = [rng.choice(BINDERS)]
        parts += [rng.choice(FILTERS + BINDERS) for _ in range(rng.randrange(3))]
        head = rng.choice(HEADS)
        if any("T" in part for part in (head, *parts)):
            parts.insert(rng.randrange(len(parts) + 1), "@T p(X)")
        rules.append(f"{head} :- {', '.join(parts)}.")
    return "\n".join(rules)


@pytest.mark.parametrize("chunk", range(4))
def test_programs_with_variables_have_the_answer_streams_of_their_ground_instances(
    chunk: int,
) -> None:
    for seed in range(chunk * 40, (chunk + 1) * 40):
        rng = seeded(seed)
        text = random_schema(rng)
        data = [
            Element(rng.randrange(2), Atom(name, (rng.randrange(1, 3),)))
            for name in rng.choices("ppq", k=rng.randrange(1, 5))
        ]
        data.append(Element(rng.randrange(2), Atom("e", (1, 2))))
        checked = unchecked(text, "d/1", "f/1")
        candidates = [
            Element(u, Atom(name, (x,))) for u in range(2) for name in "df" for x in (1, 2)
        ]
        expected = by_definition(checked, data, candidates, 1, 1)
        assert found(checked, data, (0, 1), 1) == expected, (seed, text, data)


def test_a_user_window_over_derived_atoms_is_decided_with_them() -> None:
    def only_when_a(stream: Stream, t: int) -> Stream:
        holds = any(element.atom == Atom("a") for element in stream.elements())
        return stream if holds else stream.during(t, t)

    register_window("when_a", only_when_a)
    text = "a or b. c :- [when_a] some i. :- not c, not d, b. d :- b, not c."
    checked = unchecked(text.replace("a or b.", "a or b :- true."), "a/0", "b/0", "c/0", "d/0")
    data = [Element(0, Atom("i"))]
    candidates = [Element(1, Atom(name)) for name in "abcd"]
    expected = by_definition(checked, data, candidates, 1, 1)
    assert len(expected) == 2
    assert found(checked, data, (0, 1), 1) == expected


def test_self_supporting_disjunctive_bodies_are_answered_by_the_flp_reduct() -> None:
    checked = unchecked("p :- not p or q. q :- p.", "p/0", "q/0")
    assert found(checked, [], (0, 0), 0) == {
        frozenset({Element(0, Atom("p")), Element(0, Atom("q"))})
    }


def test_tuple_windows_that_count_only_input_make_example_19_consistent() -> None:
    text = "c :- true. d :- [#1] some c. a and b :- d. b :- [#1] some a. a :- [#1] some b."
    checked = unchecked(text, "a/0", "b/0", "c/0", "d/0")
    assert found(checked, [], (0, 0), 0) == {frozenset({Element(0, Atom("c"))})}


def test_heads_in_the_future_need_no_end_of_the_timeline() -> None:
    checked = unchecked("@T+3 q :- @T p. r :- @T q, not @T p.", "q/0", "r/0")
    answers = found(checked, [Element(1, Atom("p"))], (0, None), 2)
    assert answers == {frozenset({Element(4, Atom("q")), Element(2, Atom("r"))})}


def test_200_derived_atoms_in_a_stratified_chain_are_found_without_a_search() -> None:
    text = "d(0) :- p. d(X+1) :- d(X), X < 200. e(X) :- d(X), not d(X+1)."
    checked = unchecked(text, "d/1", "e/1")
    (answer,) = found(checked, [Element(0, Atom("p"))], (0, 0), 0)
    assert len(answer) == 202


def refusal(text: str, *derived: str, end: int | None = 9, endless: bool = False) -> str:
    checked = unchecked(text, *derived, endless=endless)
    with pytest.raises(LarsparkError) as caught:
        list(answer_streams(checked, [Element(0, Atom("p", (0,)))], (), (0, end), 0))
    return str(caught.value)


def test_an_endless_program_is_refused_without_an_end() -> None:
    text = "@T+1 q(X) :- @T q(X). q(X) :- p(X)."
    assert refusal(text, "q/1", end=None, endless=True) == (
        "error L252: the program can place atoms ever further into the future\n"
        "  hint: say where time ends with `until`"
    )


def test_a_program_that_grows_without_end_is_refused_with_its_size() -> None:
    assert "L254: the program has 1002 atoms and rule instances after 500 steps" in refusal(
        "q(X) :- p(X). q(X+1) :- q(X).", "q/1"
    )


def test_too_many_undecided_atoms_are_refused_with_their_number() -> None:
    choice = "".join(f"a{i} :- not b{i}. b{i} :- not a{i}." for i in range(50))
    names = [f"{letter}{i}/0" for letter in "ab" for i in range(50)]
    assert "L255: 100 atoms are left undecided, more than 80" in refusal(choice, *names)


def test_some_in_a_head_needs_an_end_of_the_timeline() -> None:
    assert "L253" in refusal("some q(X) :- p(X).", "q/1", end=None)


def test_a_user_window_in_a_head_is_refused() -> None:
    assert "L263: the window `mine` cannot stand in a rule head" in refusal(
        "[mine] some q(X) :- p(X).", "q/1"
    )


def test_an_unbound_variable_is_named() -> None:
    assert "L250: the variable `Y` is bound by no positive part" in refusal(
        "q(X) :- p(X), not q(Y).", "q/1"
    )


def test_a_time_point_outside_the_timeline_is_refused() -> None:
    checked = unchecked("q :- p.", "q/0")
    with pytest.raises(LarsparkError, match="L251"):
        list(answer_streams(checked, [], (), (0, 5), 6))

"""Propositions and theorems of the LARS paper, tried on random programs."""

from collections.abc import Iterator
from itertools import product

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.definitions import satisfies

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element
from larspark.language import parse_formula, parse_program
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import TimeWindow
from larspark.meaning.answer_streams import AnswerStream, answer_streams
from larspark.meaning.entailment import Structure, entails
from larspark.meaning.grounding import GroundAnd, ground
from larspark.meaning.streams import Stream, Universe

END = 2


def program(text: str) -> Checked:
    parsed = parse_program(text).program
    assert parsed is not None, parse_program(text).problems
    return check(parsed)


# Proposition 1: on one time point, LARS programs are answer set programs.

literals = st.tuples(st.booleans(), st.sampled_from("abcdi")).map(
    lambda pair: f"not {pair[1]}" if pair[0] else pair[1]
)
asp_rules = st.tuples(
    st.lists(st.sampled_from("abcd"), max_size=2, unique=True), st.lists(literals, max_size=3)
)


@settings(max_examples=300, deadline=None)
@given(rules=st.lists(asp_rules, min_size=1, max_size=7))
def test_answer_set_programs_have_their_answer_sets(
    rules: list[tuple[list[str], list[str]]],
) -> None:
    lars = "".join(
        f"{' or '.join(head) or 'false'} :- {', '.join(body) or 'true'}.\n" for head, body in rules
    )
    asp = "".join(f"{' ; '.join(head)} :- {', '.join(body)}.\n" for head, body in rules)
    asp += "i. #show a/0. #show b/0. #show c/0. #show d/0."
    control = clingo.Control(["0", "--warn=none"])
    control.add("base", [], asp)
    control.ground([("base", [])])
    expected: set[frozenset[str]] = set()
    control.solve(on_model=lambda m: expected.add(frozenset(map(str, m.symbols(shown=True)))))
    answers = answer_streams(program(lars), [Element(0, Atom("i"))], (), (0, 0), 0)
    found = [frozenset(str(atom) for atom in answer.at(0)) for answer in answers]
    assert set(found) == expected
    assert len(found) == len(expected)


# Proposition 3: formulas with sliding time windows are formulas of linear temporal logic.


def linear_time(
    path: list[set[str]], u: tuple[int, int], w: tuple[int, int], t: int, f: Formula
) -> bool:
    """The translation of the paper to linear temporal logic, evaluated while translating.

    `u` is the whole interval, `w` the one looked at; a step along the path is X or its inverse.
    """

    def at(point: int, formula: Formula, interval: tuple[int, int] = w) -> bool:
        return linear_time(path, u, interval, point, formula)

    match f:
        case AtomFormula(atom):
            return atom.predicate in path[t]
        case Truth(value):
            return value
        case Not(body):
            return not at(t, body)
        case And(parts):
            return all(at(t, part) for part in parts)
        case Or(parts):
            return any(at(t, part) for part in parts)
        case Implies(left, right):
            return not at(t, left) or at(t, right)
        case Some(body):
            return any(at(point, body) for point in range(w[0], w[1] + 1))
        case Always(body):
            return all(at(point, body) for point in range(w[0], w[1] + 1))
        case At(int(pin), body):
            return w[0] <= pin <= w[1] and at(pin, body)
        case Windowed(TimeWindow(int(past), future, 1), body):
            return at(t, body, (max(w[0], t - past), min(t + future, w[1])))
        case Reset(body):
            return at(t, body, u)
        case _:
            raise AssertionError(f)


def _wider(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    prefix = st.sampled_from(
        ["not", "some", "always", "@0", "@2", "@5", "[0]", "[2]", "[+1]", "[1,+1]", "reset"]
    )
    return st.one_of(
        st.tuples(prefix, below).map(" ".join),
        st.tuples(below, st.sampled_from(["and", "or", "->"]), below).map(
            lambda part: f"({' '.join(part)})"
        ),
    )


sliding = st.recursive(st.sampled_from(["a", "b", "true"]), _wider, max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(
    text=sliding,
    path=st.lists(st.sets(st.sampled_from("ab")), min_size=4, max_size=7),
    t=st.integers(0, 3),
)
def test_sliding_windows_are_linear_temporal_logic(text: str, path: list[set[str]], t: int) -> None:
    formula = parse_formula(text).formula
    assert formula is not None
    elements = [(point, Atom(name)) for point, names in enumerate(path) for name in sorted(names)]
    stream = Universe(elements).whole(0, len(path) - 1)
    interval = (0, len(path) - 1)
    holds = satisfies(Structure(stream, frozenset()), t, ground(formula, {}))
    assert holds == linear_time(path, interval, interval, t, formula)


# Theorems 1 and 2 and Corollary 1: answer streams are minimal, supported and incomparable.

bodies = st.sampled_from(
    ["i", "j", "a", "b", "not a", "not b", "[1] some a", "not [1] some b", "@1 a", "[1] always b",
     "some (a and not b)", "not [2] always a", "[+1] some i", "[#1] some i", "(a -> b)", "@T a"]
)  # fmt: skip
heads = st.sampled_from(
    ["a", "b", "a or b", "@1 a", "a and b", "always a", "some b", "false", "not a", "@0 (a or b)",
     "[1] some a", "(i -> b)", "@2 (b -> a)"]
)  # fmt: skip
programs = st.lists(st.tuples(heads, st.lists(bodies, max_size=2)), min_size=1, max_size=5).map(
    lambda rules: "\n".join(f"{head} :- {', '.join(body) or 'true'}." for head, body in rules)
)
data_streams = st.lists(
    st.builds(Element, st.integers(0, END), st.sampled_from([Atom("i"), Atom("j")])), max_size=4
)


def interpretation(data: list[Element], derived: set[Element]) -> Stream:
    universe = Universe(data)
    for element in derived:
        universe.add(*element)
    return universe.whole(0, END)


def elements_of(answer: AnswerStream) -> set[Element]:
    return {Element(t, atom) for t, atoms in answer.derived.items() for atom in atoms}


def is_model(text: str, data: list[Element], derived: set[Element], t: int) -> bool:
    return all(
        body_fails or head_holds for body_fails, head_holds in rules_at(text, data, derived, t)
    )


def rules_at(
    text: str, data: list[Element], derived: set[Element], t: int
) -> Iterator[tuple[bool, bool]]:
    """For each rule instance whether its body fails and whether its head holds."""
    stream = interpretation(data, derived)
    structure = Structure(stream, frozenset())
    parsed = parse_program(text).program
    assert parsed is not None
    for rule in parsed.rules:
        for time in range(END + 1):
            body = GroundAnd(tuple(ground(part, {"T": time}) for part in rule.body))
            head = ground(rule.head, {"T": time})
            yield not entails(structure, stream, t, body), entails(structure, stream, t, head)


@settings(max_examples=300, deadline=None)
@given(text=programs, data=data_streams, t=st.integers(0, END))
def test_answer_streams_are_minimal_supported_and_incomparable(
    text: str, data: list[Element], t: int
) -> None:
    answers = [elements_of(a) for a in answer_streams(program(text), data, (), (0, END), t)]
    for answer in answers:
        assert is_model(text, data, answer, t)
        for kept in product((True, False), repeat=len(answer)):
            smaller = {e for e, keep in zip(sorted(answer), kept, strict=True) if keep}
            assert smaller == answer or not is_model(text, data, smaller, t)
        fired = [not body_fails for body_fails, _ in rules_at(text, data, answer, t)]
        for element in answer:
            without = list(rules_at(text, data, answer - {element}, t))
            assert any(
                body and not fails and not holds
                for body, (fails, holds) in zip(fired, without, strict=True)
            )
        assert not any(other < answer for other in answers)


# Theorem 3: positive programs with monotonic windows are consistent.

positive_bodies = st.sampled_from(
    ["i", "j", "a", "b", "[1] some a", "@1 a", "[1] always b", "some (a and i)", "[+1] some b",
     "[2 every 2] some a", "[only a] some a", "(a or b)", "[#2] some i", "@T a"]
)  # fmt: skip
positive_heads = st.sampled_from(
    ["a", "b", "a or b", "@1 a", "a and b", "always a", "some b", "@T b", "[1] some a"]
)


def positive_rule(head: str, body: list[str]) -> str:
    return f"{head} :- {', '.join([*body, 'some (i and @T i)'])}."


@settings(max_examples=300, deadline=None)
@given(
    rules=st.lists(st.tuples(positive_heads, st.lists(positive_bodies, max_size=2)), max_size=5),
    data=data_streams,
    t=st.integers(0, END),
)
def test_positive_programs_with_monotonic_windows_have_an_answer_stream(
    rules: list[tuple[str, list[str]]], data: list[Element], t: int
) -> None:
    text = "\n".join(positive_rule(head, body) for head, body in rules)
    answers = list(answer_streams(program(text), data, (), (0, END), t))
    assert answers
    if not any(choice in head for head, _ in rules for choice in ("or", "some")):
        assert len(answers) == 1


# Theorem 15: a finite automaton as a program, by the construction of the appendix.


# Both mark the first position with s. Without `@` minimality has to do it.
WITH_PINS = """
@0 (q0 and p and s) :- true.
@1 not s and always ([1] some not s -> not s) :- @1 true.
always (not s -> ([1] some p and [1] some not p)) :- @1 true.
"""
WITHOUT_PINS = """
some s :- true.
always (s -> q0 and p) :- true.
always ([1] some not s -> not s) :- some not s.
always (not s -> ([1] some p and [1] some not p)) :- some not s.
some s2 :- true.
always ([1] some not s2 -> not s2) :- some not s.
always (s2 -> s) :- true.
:- some (s and not s2).
"""


def automaton_program(
    transitions: dict[tuple[int, str], int], accepting: set[int], start: str
) -> str:
    """The program that has an answer stream just for the words the automaton accepts.

    The constraint says that some position has no letter, or two: the paper prints that they all do.
    """
    lines = [start, ":- some ((not x and not y) or (x and y))."]
    for (state, letter), after in transitions.items():
        read = f"q{state} and {letter}"
        lines.append(
            f"always ((p and [1] some (not p and {read}) -> q{after}) "
            f"and (not p and [1] some (p and {read}) -> q{after})) :- true."
        )
        if after not in accepting:
            lines.append(f":- q{state}, {letter}.")
    return "\n".join(lines)


@st.composite
def automata(draw: st.DrawFn) -> tuple[dict[tuple[int, str], int], set[int]]:
    states = draw(st.integers(1, 3))
    some_state = st.integers(0, states - 1)
    transitions = {(s, letter): draw(some_state) for s in range(states) for letter in "xy"}
    return transitions, draw(st.sets(some_state))


@pytest.mark.parametrize(
    ("start", "longest"), [(WITH_PINS, 6), (WITHOUT_PINS, 4)], ids=["with @", "without @"]
)
@settings(max_examples=100, deadline=None)
@given(automaton=automata(), word=st.text("xy", min_size=1, max_size=6))
def test_automata_accept_what_their_programs_have_answer_streams_for(
    start: str, longest: int, automaton: tuple[dict[tuple[int, str], int], set[int]], word: str
) -> None:
    word = word[:longest]
    transitions, accepting = automaton
    state = 0
    for letter in word:
        state = transitions[state, letter]
    data = [Element(t, Atom(letter)) for t, letter in enumerate(word)]
    last = len(word) - 1
    checked = program(automaton_program(transitions, accepting, start))
    answers = list(answer_streams(checked, data, (), (0, last), last))
    assert bool(answers) == (state in accepting)


@pytest.mark.parametrize("broken", [[(0, "x"), (2, "y")], [(0, "x"), (0, "y"), (1, "x"), (2, "x")]])
def test_what_is_no_word_is_accepted_by_no_automaton_program(broken: list[tuple[int, str]]) -> None:
    everything = automaton_program({(0, "x"): 0, (0, "y"): 0}, {0}, WITH_PINS)
    data = [Element(t, Atom(letter)) for t, letter in broken]
    assert not list(answer_streams(program(everything), data, (), (0, 2), 2))

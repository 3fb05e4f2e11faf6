"""Propositions 6, 7, 12 and 13: the engine gives the answers of the definitions, and no others.

With windows and negation too, by brute force on small universes.
"""

import os
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.hypothetical.definition import (
    CONSTANTS,
    INPUTS,
    Definition,
    Item,
    SimpleRule,
    Token,
    definitions,
    elements,
    formula,
    streams,
)

from larspark.base.atoms import fact
from larspark.run.hypothetical import hypothesize

QUERY = formula("@T r(X)")
EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "150"))
moments = st.integers(0, 4)


def compare(definition: Definition, facts: frozenset[Token], t: int) -> None:
    past = frozenset(token for token in facts if token.t <= t)
    answers = list(hypothesize(definition.checked(), QUERY, elements(facts), at=t, start=0))
    assert definition.disagreement("r", answers, past, t) == {}, definition.text


@given(definitions(windows=False), streams(), moments)
@settings(max_examples=EXAMPLES, deadline=None)
def test_temporal_datalog_gives_exactly_the_supported_answers(
    definition: Definition, facts: frozenset[Token], t: int
) -> None:
    compare(definition, facts, t)


@given(definitions(), streams(), moments)
@settings(max_examples=EXAMPLES, deadline=None)
def test_windows_give_exactly_the_supported_answers(
    definition: Definition, facts: frozenset[Token], t: int
) -> None:
    compare(definition, facts, t)


@given(definitions(negation=True, windows=False), streams(), moments)
@settings(max_examples=EXAMPLES, deadline=None)
def test_negation_gives_exactly_the_supported_answers(
    definition: Definition, facts: frozenset[Token], t: int
) -> None:
    compare(definition, facts, t)


@given(definitions(negation=True), streams(), moments)
@settings(max_examples=EXAMPLES, deadline=None)
def test_negation_over_windows_gives_exactly_the_supported_answers(
    definition: Definition, facts: frozenset[Token], t: int
) -> None:
    compare(definition, facts, t)


@given(definitions(), streams(0))
@settings(max_examples=EXAMPLES // 8, deadline=None)
def test_the_judge_itself_agrees_with_trying_all_sets_of_hypotheses(
    definition: Definition, facts: frozenset[Token]
) -> None:
    """Definition 1 to the letter: which small sets of future facts make an answer true."""
    coming = [Token(t, name, c) for t, name, c in product((1, 2), INPUTS, CONSTANTS)]
    answers = list(product(CONSTANTS, range(3)))
    sufficient: dict[tuple[str, int], list[frozenset[str]]] = {answer: [] for answer in answers}
    for size in range(3):
        for hypotheses in combinations(coming, size):
            stream = facts.union(hypotheses)
            models = [definition.model(stream, now, 4) for now in range(6)]
            for argument, t in answers:
                if any(("r", argument, t) in model for model in models):
                    sufficient[argument, t].append(frozenset(one.text for one in hypotheses))
    judged = definition.hypothetical("r", facts, 0)
    universe = {token.text for token in coming}
    for answer, sets in sufficient.items():
        minimal = {one for one in sets if not any(other < one for other in sets)}
        given = {h for h, _ in judged[answer] if len(h) <= 2 and h <= universe}
        assert given == minimal, definition.text


def at(shift: int, predicate: str, argument: str, *, negated: bool = False) -> Item:
    return Item("at", predicate, argument, negated, None, shift)


def in_window(size: int, kind: str, predicate: str, argument: str) -> Item:
    return Item(kind, predicate, argument, window=size)


# Programs on which engine and definitions once differed, by what was wrong.
KEPT = {
    "an answer with variables beats its instances that rest on more": (
        SimpleRule(
            "p", None, (in_window(0, "always", "i", "X"), in_window(1, "some", "i", "a")), True
        ),
        SimpleRule("r", None, (Item("now", "p", "X"), in_window(1, "some", "i", "X"))),
    ),
    "variables of different premises at one time point have nothing to do with each other": (
        SimpleRule("p", 0, (at(0, "i", "X"),)),
        SimpleRule("p", -1, (at(-1, "j", "X"), at(0, "j", "Y"))),
        SimpleRule("q", 2, (at(0, "p", "X"),)),
        SimpleRule("r", 0, (at(1, "i", "X"), at(-1, "i", "Y"), at(0, "q", "X"))),
    ),
    "a fact that meets two premises is judged by the conditions of both": (
        SimpleRule("p", 0, (at(0, "i", "X"),), True),
        SimpleRule("r", None, (in_window(1, "at", "i", "X"), in_window(0, "always", "p", "X"))),
    ),
    "an answer that is beaten may be minimal where its hypotheses coincide": (
        SimpleRule("p", 0, (in_window(2, "at", "j", "X"), in_window(1, "always", "j", "Y"))),
        SimpleRule("q", 0, (in_window(0, "at", "i", "X"), in_window(2, "some", "p", "X"))),
        SimpleRule("r", None, (Item("now", "q", "X"), in_window(2, "some", "k", "X"))),
    ),
    "one value throughout is more than some value at each time point": (
        SimpleRule("p", 0, (at(0, "i", "X"), at(0, "i", "Y"))),
        SimpleRule("r", 0, (at(0, "i", "X"), at(0, "p", "Y"), at(1, "p", "Y"))),
    ),
    "who denies all atoms asks for more than who denies one": (
        SimpleRule("p", 1, (at(0, "i", "X"),)),
        SimpleRule("p", 0, (at(0, "i", "X"), at(0, "k", "_", negated=True))),
        SimpleRule("r", 0, (at(0, "i", "X"), at(0, "p", "X"), at(0, "k", "X", negated=True))),
    ),
    "the absence of all atoms does not depend on values": (
        SimpleRule("q", -1, (at(0, "i", "X"),)),
        SimpleRule("r", 0, (in_window(1, "at", "i", "X"), Item("now", "q", "_", negated=True))),
    ),
}
# What these rules ask for never happens.
NEVER = {
    "an atom and its absence": (
        SimpleRule("p", None, (Item("now", "i", "X"), in_window(1, "some", "j", "Y"))),
        SimpleRule(
            "r",
            1,
            (
                in_window(0, "at", "i", "X"),
                in_window(0, "some", "p", "X"),
                Item("now", "p", "X", negated=True),
            ),
        ),
    ),
    "the absence of what follows from another absence": (
        SimpleRule("p", 0, (at(0, "k", "X"), at(1, "j", "X", negated=True))),
        SimpleRule("q", 0, (at(0, "k", "X"), at(0, "p", "X", negated=True))),
        SimpleRule("r", 0, (at(1, "q", "X"), at(-1, "i", "Y"), at(2, "j", "X", negated=True))),
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_where_engine_and_definitions_once_differed(name: str) -> None:
    definition = Definition(KEPT[name])
    possible = [Token(0, *atom) for atom in product(INPUTS, CONSTANTS)]
    for size in range(4):
        for facts in combinations(possible, size):
            compare(definition, frozenset(facts), size % 3)


@pytest.mark.parametrize("name", NEVER)
@pytest.mark.parametrize("known", INPUTS)
def test_hypotheses_that_contradict_each_other_are_no_answer_whatever_the_values(
    name: str, known: str
) -> None:
    program = Definition(NEVER[name]).checked()
    assert list(hypothesize(program, QUERY, [(0, fact(known, "a"))], start=0)) == []

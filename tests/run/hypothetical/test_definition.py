"""The engine against the definitions: soundness and completeness, with windows and negation."""

import os
from itertools import combinations, product

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


def test_an_answer_with_variables_beats_its_instances_that_rest_on_more() -> None:
    """`r(b)` at 1 needs `i(b)` at 1 and rests on `i(a)` at 0: that `i(b)` was there is too much."""
    compare(
        Definition(
            (
                SimpleRule(
                    "p",
                    None,
                    (Item("always", "i", "X", window=0), Item("some", "i", "a", window=1)),
                    different=True,
                ),
                SimpleRule("r", None, (Item("now", "p", "X"), Item("some", "i", "X", window=1))),
            )
        ),
        frozenset((Token(0, "i", "a"), Token(0, "i", "b"))),
        0,
    )

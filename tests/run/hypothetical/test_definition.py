"""The engine against the definitions: soundness and completeness, with windows and negation."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.hypothetical.definition import (
    Definition,
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

"""Propositions 1 to 4: what hypothetical answers promise about the future and the past."""

import os

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.run.hypothetical.definition import (
    CONSTANTS,
    Definition,
    Token,
    definitions,
    elements,
    formula,
    ground,
    streams,
)

from larspark.run.hypothetical import HypotheticalAnswer, hypothesize

QUERY = formula("@T r(X)")
EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "60"))
moments = st.integers(0, 3)


def answers(definition: Definition, facts: frozenset[Token], t: int) -> list[HypotheticalAnswer]:
    return list(hypothesize(definition.checked(), QUERY, elements(facts), at=t, start=0))


def until(facts: frozenset[Token], t: int) -> frozenset[Token]:
    return frozenset(token for token in facts if token.t <= t)


@given(definitions(), streams(), moments, st.integers(0, 3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_proposition_1_what_needs_no_hypotheses_stays_true_whatever_comes(
    definition: Definition, facts: frozenset[Token], t: int, more: int
) -> None:
    sure = [answer.answer for answer in answers(definition, until(facts, t), t) if answer.certain]
    later = [answer.answer for answer in answers(definition, facts, t + more) if answer.certain]
    assert all(answer in later for answer in sure)


@given(definitions(), streams(), moments, st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_proposition_2_an_answer_is_certain_once_its_hypotheses_have_come(
    definition: Definition, facts: frozenset[Token], t: int, data: st.DataObject
) -> None:
    past = until(facts, t)
    exact, instances = ground(answers(definition, past, t))
    possible = sorted(exact | instances, key=str)
    assume(possible)
    chosen = data.draw(st.sampled_from(possible))
    times = [int(text.removeprefix("@").partition(" ")[0]) for text in chosen.hypotheses]
    coming = {
        Token(moment, text.partition(" ")[2][0], text[-2])
        for moment, text in zip(times, chosen.hypotheses, strict=True)
    }
    end = max([t, *times])
    certain = [a.answer for a in answers(definition, past | coming, end) if a.certain]
    assert {"X": chosen.argument, "T": chosen.t} in certain


@given(definitions(), streams(), moments, st.integers(1, 3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_propositions_3_and_4_hypotheses_are_what_earlier_ones_lack_still(
    definition: Definition, facts: frozenset[Token], t: int, more: int
) -> None:
    """Every answer at a later time point comes from one at t by facts that arrived since."""
    later = t + more
    arrived = {token.text for token in facts if t < token.t <= later}
    before = definition.hypothetical("r", until(facts, t), t)
    exact, _ = ground(answers(definition, facts, later))
    for answer in exact:
        earlier = {hypotheses for hypotheses, _ in before[answer.argument, answer.t]}
        assert answer.hypotheses in {hypotheses - arrived for hypotheses in earlier}


@given(definitions(negation=True), streams(), moments, st.integers(1, 3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_with_negation_too_what_is_certain_stays_certain_whatever_comes(
    definition: Definition, facts: frozenset[Token], t: int, more: int
) -> None:
    sure = [answer.answer for answer in answers(definition, until(facts, t), t) if answer.certain]
    later = [answer.answer for answer in answers(definition, facts, t + more) if answer.certain]
    assert all(answer in later for answer in sure)


@given(definitions(windows=False), streams(), moments)
@settings(max_examples=EXAMPLES, deadline=None)
def test_whoever_has_an_answer_with_evidence_has_no_smaller_one(
    definition: Definition, facts: frozenset[Token], t: int
) -> None:
    exact, _ = ground(answers(definition, facts, t))
    for one in exact:
        assert one.argument in CONSTANTS
        rivals = [other for other in exact if other[:2] == one[:2]]
        assert not any(other.hypotheses < one.hypotheses for other in rivals)
        same = [other for other in rivals if other.hypotheses == one.hypotheses]
        assert not any(other.evidence < one.evidence for other in same)

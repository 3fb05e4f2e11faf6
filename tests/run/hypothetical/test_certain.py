"""Certain answers are what the evaluator of the definitions gives, and the other way round."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.definitions import output_stream
from tests.run.hypothetical.definition import (
    Definition,
    Token,
    definitions,
    elements,
    formula,
    streams,
)

from larspark.meaning.output_stream import Oracle
from larspark.run.hypothetical import hypothesize

QUERY = formula("@T r(X)")
EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "60"))
# Far enough after the last fact: what is further away is looked at by neither side.
LATER = 8
Certain = set[tuple[object, object]]


def certain(definition: Definition, facts: frozenset[Token], t: int, last: int) -> Certain:
    answers = hypothesize(definition.checked(), QUERY, elements(facts), at=t, start=0)
    given = {(a.answer["X"], a.answer["T"]) for a in answers if a.certain}
    return {(x, moment) for x, moment in given if isinstance(moment, int) and moment <= last}


def derived(definition: Definition, facts: frozenset[Token], last: int, until: int) -> Certain:
    """All `r(X)` that hold at some time point, seen from some time point, by the definitions."""
    oracle = Oracle(definition.checked(), frozenset(), 0, until=until, hindsight=True)
    return {
        (atom.args[0], t)
        for now in range(until + 1)
        for stream in oracle.answers(elements(facts), now)
        for t, atoms in stream.derived.items()
        for atom in atoms
        if atom.predicate == "r" and t <= last
    }


@given(definitions(windows=False), streams(), st.integers(0, 4))
@settings(max_examples=EXAMPLES, deadline=None)
def test_temporal_datalog(definition: Definition, facts: frozenset[Token], t: int) -> None:
    past = frozenset(token for token in facts if token.t <= t)
    last = t + 3
    given = certain(definition, past, t, last)
    assert given == derived(definition, past, last, t + LATER), definition.text


@given(definitions(), streams(3), st.integers(0, 3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_windows(definition: Definition, facts: frozenset[Token], t: int) -> None:
    past = frozenset(token for token in facts if token.t <= t)
    last = t + 2
    given = certain(definition, past, t, last)
    assert given == derived(definition, past, last, t + LATER), definition.text


@given(definitions(negation=True), streams(3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_negation_when_everything_is_decided(
    definition: Definition, facts: frozenset[Token]
) -> None:
    given = certain(definition, facts, 3 + LATER, 3)
    assert given == derived(definition, facts, 3, 3 + LATER), definition.text


@given(definitions(negation=True, pins=False), streams(3), st.integers(0, 4))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_a_run_outputs_at_a_time_point_is_certain_then(
    definition: Definition, facts: frozenset[Token], t: int
) -> None:
    ((_, output),) = output_stream(definition.checked(), elements(facts), start=0, at=t)
    assert output is not None
    by_run = {(atom.args[0], t) for atom in output if atom.predicate == "r"}
    by_hypotheses = {(x, moment) for x, moment in certain(definition, facts, t, t) if moment == t}
    assert by_hypotheses == by_run, definition.text

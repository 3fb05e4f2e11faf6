"""Programs with every construct that unfolds: what a run outputs is certain then, and no more."""

import os

import pytest
from hypothesis import given, settings
from tests.definitions import output_stream
from tests.run.hypothetical.definition import Token, checked, elements, formula, streams

from larspark.language import parse_atom
from larspark.run.hypothetical import hypothesize

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "12"))
LAST = 6
INPUT = "#input i/1, j/1, k/1.\n"
PROGRAMS = {
    "a filter": "r(X) :- [only i(a), j(_)] [2] some i(X).",
    "a filter under negation": "r(X) :- k(X), not [only i(a)] [2] some i(X).",
    "a disjunction at every time point": "r(X) :- i(X), [2] always (j(X) or k(X)).",
    "a conjunction at some time point": "r(X) :- [3] some (i(X) and j(X)).",
    "an implication": "r(X) :- i(X), ([2] some j(X) -> k(X)).",
    "distances of times": "r(X) :- [3] @T i(X), [3] @U j(X), U = T + 1.",
    "an order of times": "r(X) :- [4] @T i(X), [4] @U j(X), U - T >= 2.",
    "not always": "r(X) :- i(X), not [2] always j(X).",
    "no conjunction at any time point": "r(X) :- i(X), not [2] some (j(X) and k(X)).",
    "a pin under negation": "r(X) :- [2] @T i(X), not [1] @T j(X).",
    "windows inside each other": "r(X) :- [3] some reset [1] always i(X).",
    "a hopping window": "r(X) :- [3 every 2] some i(X), [2 every 2] always j(X).",
    "a tumbling window under negation": "r(X) :- i(X), not [2 every 2] some j(X).",
    "what is remembered": "#remember p/1.\np(X) :- i(X), not j(X).\nr(X) :- [2] always p(X).",
    "memory of what is derived": "#remember p/1.\np(X) :- [1] some i(X).\nr(X) :- [1] some p(X).",
    "a bounded time": "@T q(X) :- [3] @T i(X), T > 1.\nr(X) :- [2] some q(X).",
    "a time as argument": "r(T) :- [3] @T i(a), j(_).",
    "arithmetic": "r(Y) :- [3] @T i(a), [3] @U j(b), Y = (T + U) * 2.",
    "a time that an argument gives": "@T q(X) :- [3] @U i(X), at(X, T), T <= U.\nr(X) :- q(X).",
    "background data": "r(Y) :- [2] some i(X), next(X, Y), not j(Y).",
    "missing background data": "r(X) :- [2] some i(X), not next(X, _).",
    "only absence": "r(X) :- name(X), not [2] some i(X).",
    "absence of what is derived": "q(X) :- [1] always i(X).\nr(X) :- k(X), not [2] some q(X).",
    "absence twice": (
        "@T p(X) :- [3] @T i(X), not [3] @T j(X).\n"
        "@T q(X) :- [3] @T k(X), not [3] @T p(X).\n"
        "r(X) :- [2] some q(X)."
    ),
    "the same input twice": "r(X) :- [2] some i(X), [1] some i(Y), X != Y.",
    "wildcards at every time point": "r(X) :- i(X), [2] always j(_).",
    "several values": "@T q :- [5] @T j(Y), Y != c.\nr(X) :- i(X), [1] always q.",
    "false and true": "r(X) :- i(X), not false, (true or j(X)).",
    "recursion inside a window": (
        "@T+1 q(X) :- [3] @T q(X).\n@T q(X) :- [3] @T i(X).\nr(X) :- q(X)."
    ),
    "recursion at one time point": (
        "p(X) :- q(X).\nq(X) :- p(X).\nq(X) :- i(X), j(X).\nr(X) :- p(X)."
    ),
    "its own absence before": "#remember r/1.\nr(X) :- [0] @T i(X), not [1] @T-1 r(X).",
}
BACKGROUND = ["next(a,b)", "next(b,c)", "name(a)", "name(b)", "at(a,2)", "at(b,x)"]


@pytest.mark.parametrize("name", PROGRAMS)
@given(facts=streams(LAST))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_a_run_outputs_is_certain_then(name: str, facts: frozenset[Token]) -> None:
    program = checked(INPUT + PROGRAMS[name], BACKGROUND)
    background = [parse_atom(text) for text in BACKGROUND]
    answers = list(
        hypothesize(program, formula("@T r(X)"), elements(facts), background, start=0, to=LAST)
    )
    outputs = output_stream(program, elements(facts), background, start=0, to=LAST)
    for t, output in outputs:
        assert output is not None
        by_run = {atom.args[0] for atom in output if atom.predicate == "r"}
        certain = {
            answer.answer["X"]
            for answer in answers
            if answer.t == t and answer.certain and answer.answer["T"] == t
        }
        assert certain == by_run, (t, facts)


@pytest.mark.parametrize("name", PROGRAMS)
@given(facts=streams(LAST))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_comes_true_was_announced(name: str, facts: frozenset[Token]) -> None:
    """Where part of the evidence was there before, the answer was there as a hypothetical one."""
    program = checked(INPUT + PROGRAMS[name], BACKGROUND)
    background = [parse_atom(text) for text in BACKGROUND]
    answers = list(
        hypothesize(program, formula("@T r(X)"), elements(facts), background, start=0, to=LAST)
    )
    for later in answers:
        positive = [item for item in later.evidence if not item.negated]
        for t in range(later.t):
            if not any(isinstance(item.t, int) and item.t <= t for item in positive):
                continue
            earlier = [a for a in answers if a.t == t and _may_become(a.answer, later.answer)]
            assert earlier, (t, later)


def _may_become(pattern: dict[str, object], answer: dict[str, object]) -> bool:
    return all(pattern[name] in (None, value) for name, value in answer.items())

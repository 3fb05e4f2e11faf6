"""Answers without evidence, and preconditions (the set P_Q): those of the definition, no others."""

import os
import re
from collections.abc import Iterator
from itertools import count, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.hypothetical.definition import (
    CONSTANTS,
    Definition,
    Token,
    definitions,
    elements,
    formula,
    streams,
)

import larspark as lp
from larspark.base.atoms import Atom
from larspark.base.terms import Variable, Wildcard
from larspark.run.hypothetical import Hypotheses, Precondition

QUERY = formula("@T r(X)")
EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "100"))
# Time points are tried up to this distance, and compared up to a smaller one.
FAR, NEAR = 9, 4
TIME = re.compile(r"([A-Za-z]\w*)?([+-]?\d+)?$")

# Which argument, when, and the facts and absences that are to come.
Answer = tuple[str, int, frozenset[str]]


def instances(one: Precondition, last: int) -> Iterator[Answer]:
    """All instances of a precondition with times up to `last`."""
    numbers = count()
    # Each wildcard is a variable of its own, but in absences, which are of all such atoms.
    items = [
        item
        if item.negated
        else item._replace(
            atom=Atom(
                item.atom.predicate,
                tuple(
                    Variable(f"any{next(numbers)}") if isinstance(arg, Wildcard) else arg
                    for arg in item.atom.args
                ),
            )
        )
        for item in (*one.first, *one.then)
    ]
    times = {str(item.t) for item in items} | {str(one.answer["T"])}
    named = sorted({found[1] for text in times if (found := TIME.match(text)) and found[1]})
    open_args = {a.name for item in items for a in item.atom.args if isinstance(a, Variable)}
    letters = sorted(open_args | ({"X"} if one.answer["X"] == "X" else set()))
    for moments in product(range(last + 1), repeat=len(named)):
        at = dict(zip(named, moments, strict=True))
        for values in product(CONSTANTS, repeat=len(letters)):
            chosen = dict(zip(letters, values, strict=True))
            if not all(fulfilled(text, at, chosen) for text in one.where):
                continue
            found = [
                (moment(str(item.t), at), item.atom.predicate, item.atom.args, item.negated)
                for item in items
            ]
            yield (
                chosen.get("X", str(one.answer["X"])),
                moment(str(one.answer["T"]), at),
                frozenset(
                    f"{'not ' * negated}@{t} {name}("
                    + ",".join(chosen[a.name] if isinstance(a, Variable) else str(a) for a in args)
                    + ")"
                    for t, name, args, negated in found
                ),
            )


def moment(text: str, at: dict[str, int]) -> int:
    found = TIME.match(text)
    assert found is not None, text
    return at.get(found[1] or "", 0) + int(found[2] or 0)


def fulfilled(text: str, at: dict[str, int], chosen: dict[str, str]) -> bool:
    hop = re.match(r"\((.+) mod (\d+)\)=(\d+)$", text)
    if hop is not None:
        return moment(hop[1], at) % int(hop[2]) == int(hop[3])
    found = re.match(r"(.+?)(!=|<=|>)(.+)$", text)
    assert found is not None, text
    left, operator, right = found.groups()
    if operator == "!=":
        return chosen.get(left, left) != chosen.get(right, right)
    one, other = moment(left, at), moment(right, at)
    return one <= other if operator == "<=" else one > other


def preconditions(definition: Definition, facts: frozenset[Token], t: int) -> list[Precondition]:
    session = Hypotheses(definition.checked(), QUERY, start=0, follow=False, keep_certain=True)
    for point, atom in elements(token for token in facts if token.t <= t):
        session.append(point, [atom])
    if t >= 0:
        session.advance(t)
    return session.preconditions()


def expected(definition: Definition, facts: frozenset[Token], t: int) -> set[Answer]:
    """What the definition has without facts as evidence."""
    past = frozenset(token for token in facts if token.t <= t)
    return {
        (argument, moment, hypotheses)
        for (argument, moment), pairs in definition.hypothetical("r", past, t).items()
        for hypotheses, evidence in pairs
        if moment <= t + NEAR and all(text.startswith("not ") for text in evidence)
        # Absence alone supports nothing that could be certain of itself.
        if any(not text.startswith("not ") for text in hypotheses)
    }


@given(definitions(), streams(), st.integers(-1, 4))
@settings(max_examples=EXAMPLES, deadline=None)
def test_answers_without_evidence_are_those_of_the_definition(
    definition: Definition, facts: frozenset[Token], t: int
) -> None:
    found = {
        answer
        for one in preconditions(definition, facts, t)
        for answer in instances(one, t + FAR)
        if answer[1] <= t + NEAR
    }
    assert expected(definition, facts, t) <= found, definition.text
    past = frozenset(token for token in facts if token.t <= t)
    hypothetical = definition.hypothetical("r", past, t)
    for argument, moment, hypotheses in found:
        # An instance of an answer with variables can be beaten.
        beaten_by = hypothetical[argument, moment]
        assert any(other <= hypotheses for other, _ in beaten_by), definition.text


@given(definitions(negation=True), streams(), st.integers(-1, 4))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_answer_without_evidence_is_left_out_with_negation(
    definition: Definition, facts: frozenset[Token], t: int
) -> None:
    found = {
        (argument, moment, frozenset(text for text in hypotheses if not text.startswith("not ")))
        for one in preconditions(definition, facts, t)
        for argument, moment, hypotheses in instances(one, t + FAR)
    }
    for argument, moment, hypotheses in expected(definition, facts, t):
        positive = frozenset(text for text in hypotheses if not text.startswith("not "))
        assert (argument, moment, positive) in found, definition.text


# The program of the wind turbines in the paper, Examples 1 to 3 and 9.
TURBINES = """
@T shdn(X) :- @T malf(X).
@T malf(X) :- @T temp(X,high), @T+1 temp(X,high), @T+2 temp(X,high).
@0 defective(X) :- @T1 temp(X,high), @T2 temp(X,na).
"""


def test_the_preconditions_of_the_paper() -> None:
    (one,) = lp.preconditions(TURBINES, "@T malf(X)")
    assert one.fields() == {
        "answer": {"X": "X", "T": "T"},
        "first": ["@T temp(X,high)"],
        "then": ["@T+1 temp(X,high)", "@T+2 temp(X,high)"],
        "where": ["T>-1"],
    }
    (one,) = lp.preconditions(TURBINES, "@T defective(X)")
    assert one.fields() == {
        "answer": {"X": "X", "T": 0},
        "first": ["@T1 temp(X,high)", "@T2 temp(X,na)"],
        "then": [],
        "where": ["T1>-1", "T2>-1"],
    }


@pytest.mark.parametrize("t", [0, 1])
def test_answers_without_evidence_follow_the_supported_ones(t: int) -> None:
    stream = [(0, "temp(wt25,high)"), (1, "temp(wt25,high)")]
    query = "@T malf(X)"
    supported = list(lp.hypothesize(TURBINES, query, lp.Stream.of(stream), at=t))
    every = list(lp.hypothesize(TURBINES, query, lp.Stream.of(stream), at=t, unsupported=True))
    assert every[: len(supported)] == supported
    (last,) = every[len(supported) :]
    assert (last.answer, last.evidence, last.where) == ({"X": None, "T": None}, (), (f"T>{t}",))
    assert [str(item) for item in last.hypotheses] == [
        f"@T{shift} temp(X,high)" for shift in ("", "+1", "+2")
    ]

"""The worked examples of the paper on hypothetical answers, 1 to 10, and its running program."""

import pytest
from tests.run.hypothetical.definition import checked, formula

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError
from larspark.language import parse_atom
from larspark.run.hypothetical import HypotheticalAnswer, hypothesize
from larspark.run.hypothetical.offline_step import prepare

TURBINES = """
@T flag(X)   :- @T temp(X, high).
@T+1 cool(X) :- @T flag(X), @T+1 flag(X).
@T+1 shdn(X) :- @T cool(X), @T+1 flag(X).
@T-2 malf(X) :- @T shdn(X).
"""
OFFLINE = '@T malf(X) :- @T temp(X, "n/a").'
DEFECT = '@0 defective(X) :- @T1 temp(X, high), @T2 temp(X, "n/a").'
HOT = [(0, "temp(wt25,high)"), (1, "temp(wt25,high)"), (2, "temp(wt25,high)")]

Line = tuple[dict[str, object], list[str], list[str]]


def lines(answers: list[HypotheticalAnswer]) -> list[Line]:
    return [
        (dict(a.answer), [str(e) for e in a.evidence], [str(h) for h in a.hypotheses])
        for a in answers
    ]


def ask(program: str, query: str, stream: list[tuple[int, str]], at: int) -> list[Line]:
    elements: list[tuple[int, Atom]] = [(t, parse_atom(text)) for t, text in stream]
    return lines(list(hypothesize(checked(program), formula(query), elements, at=at, start=0)))


def clauses(program: str, query: str) -> set[str]:
    """What the offline step leaves of a query."""
    return {str(clause.goal) for clause in prepare(checked(program), formula(query), (), 0).clauses}


def high(*times: int) -> list[str]:
    return [f"@{t} temp(wt25,high)" for t in times]


def test_example_1_the_malfunction_is_certain_at_2() -> None:
    certain = [answer for answer, _, missing in ask(TURBINES, "@T malf(X)", HOT, 2) if not missing]
    assert certain == [{"X": "wt25", "T": 0}]
    for t in (0, 1):
        assert all(missing for _, _, missing in ask(TURBINES, "@T malf(X)", HOT[: t + 1], t))


def test_examples_2_and_3_hypotheses_turn_into_evidence() -> None:
    answer: dict[str, object] = {"X": "wt25", "T": 0}
    assert ask(TURBINES, "@T malf(X)", HOT, 0) == [(answer, high(0), high(1, 2))]
    assert (answer, high(0, 1), high(2)) in ask(TURBINES, "@T malf(X)", HOT, 1)
    assert (answer, high(0, 1, 2), []) in ask(TURBINES, "@T malf(X)", HOT, 2)


def test_example_3_an_answer_without_evidence_is_not_given() -> None:
    assert {str(answer["X"]) for answer, _, _ in ask(TURBINES, "@T malf(X)", HOT, 0)} == {"wt25"}


def test_answers_may_lie_in_the_future() -> None:
    assert ask(TURBINES, "@T shdn(X)", HOT, 0) == [({"X": "wt25", "T": 2}, high(0), high(1, 2))]


def test_example_4_one_fact_is_missing_at_1() -> None:
    assert ask(TURBINES, "@T malf(X)", HOT[:2], 1)[0] == (
        {"X": "wt25", "T": 0},
        high(0, 1),
        high(2),
    )


def test_example_5_the_offline_step_leaves_three_temperatures() -> None:
    assert clauses(TURBINES, "@T malf(X)") == {"@T..T+2 temp(X,high)"}


def test_example_6_redundant_premises_are_dropped() -> None:
    program = "@T r(a) :- @T p(a). @T r(a) :- @T p(a), @T q(a)."
    assert clauses(program, "@T r(X)") == {"@T p(a)"}
    assert ask(program, "@T r(X)", [(0, "q(a)")], 0) == []


def test_example_7_infinitely_many_premises_are_refused_with_the_cycle() -> None:
    with pytest.raises(LarsparkError) as caught:
        ask("@T+1 s(X) :- @T s(X).\n@T s(X) :- @T r(X).", "@T s(X)", [(0, "r(a)")], 0)
    assert caught.value.problems[0].render() == (
        "<program>:1:1: error L470: `s/1` depends on itself (s/1 -> s/1, line 1): each round needs "
        "facts one time point earlier, so the facts that make the query true cannot be listed\n"
        "  hint: bound the recursion by a window, such as `[10] @T p(X)` in the body"
    )


def test_example_8_with_the_answer_that_the_paper_leaves_out() -> None:
    stream = [*HOT[:2], (1, 'temp(wt42,"n/a")')]
    assert ask(TURBINES + OFFLINE, "@T malf(X)", stream, 1) == [
        ({"X": "wt42", "T": 1}, ['@1 temp(wt42,"n/a")'], []),
        ({"X": "wt25", "T": 0}, high(0, 1), high(2)),
        ({"X": "wt25", "T": 1}, high(1), high(2, 3)),
    ]


def test_example_9_two_time_variables_stay_in_the_premises() -> None:
    assert clauses(TURBINES + DEFECT, "@T defective(X)") == {
        '@T1.1 temp(X,high), @T2.1 temp(X,"n/a")'
    }


def test_example_10_an_unbound_wait_shows_its_time_as_a_variable() -> None:
    assert ask(TURBINES + DEFECT, "@T defective(X)", HOT[:1], 0) == [
        ({"X": "wt25", "T": 0}, high(0), ['@T2 temp(wt25,"n/a")'])
    ]


def test_an_unbound_wait_ends_when_the_fact_comes() -> None:
    stream = [(0, "temp(wt25,high)"), (7, 'temp(wt25,"n/a")')]
    assert ask(TURBINES + DEFECT, "@T defective(X)", stream, 7)[0] == (
        {"X": "wt25", "T": 0},
        ["@0 temp(wt25,high)", '@7 temp(wt25,"n/a")'],
        [],
    )

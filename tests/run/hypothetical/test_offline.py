"""The offline step: what windows unfold into, which queries are refused, and why."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.run.hypothetical.definition import checked, formula

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Severity
from larspark.language import parse_atom
from larspark.language.tree import AtomFormula, Rule
from larspark.run.hypothetical import Hypotheses
from larspark.run.hypothetical.offline_step import prepare
from larspark.run.hypothetical.rule_dependencies import Edge, unstratified


def clauses(program: str, query: str = "@T alarm(M)", background: tuple[str, ...] = ()) -> set[str]:
    atoms = [parse_atom(text) for text in background]
    prepared = prepare(checked(program, background), formula(query), atoms, 0)
    return {str(clause.goal) for clause in prepared.clauses}


def refusal(program: str, query: str = "@T alarm(M)") -> str:
    with pytest.raises(LarsparkError) as caught:
        prepare(checked(program), formula(query), (), 0)
    return str(caught.value)


def test_always_is_one_premise_over_a_span() -> None:
    assert clauses("alarm(M) :- [20] always hot(M).") == {"@T-20..T hot(M)"}


def test_derived_atoms_with_one_premise_keep_the_span() -> None:
    program = "@T hot(M) :- @T temp(M,V), V > 80. alarm(M) :- [20] always hot(M)."
    assert clauses(program) == {"@T-20..T temp(M,V.local0)"}


def test_a_chain_of_rules_becomes_a_span() -> None:
    program = "@T+1 warm(M) :- @T hot(M), @T+1 hot(M). @T alarm(M) :- @T warm(M), @T+1 warm(M)."
    assert clauses(program) == {"@T-1..T+1 hot(M)"}


def test_several_ways_to_hold_are_taken_time_point_by_time_point() -> None:
    program = "@T bad(M) :- @T hot(M). @T bad(M) :- @T loud(M). alarm(M) :- [1] always bad(M)."
    # Two time points with two ways each, and the start, where the window has one time point.
    assert len(clauses(program)) == 6


def test_time_shifts_may_come_from_background_data() -> None:
    program = "due(M) at T+D :- @T order(M), takes(M, D)."
    found = clauses(program, "@T due(M)", ("takes(a,2)", "takes(b,2)", "takes(c,5)"))
    assert found == {"@T-2 order(M), takes(M,2)", "@T-5 order(M), takes(M,5)"}


def test_a_premise_that_others_imply_is_dropped() -> None:
    assert clauses("alarm(M) :- [9] some hot(M), [3] some hot(M).") == {"@S.2.1 hot(M)"}


def test_rules_that_the_query_does_not_need_may_be_anything() -> None:
    program = "alarm(M) :- hot(M). other(M) :- [#3] some hot(M)."
    assert clauses(program) == {"@T hot(M)"}


def test_recursion_names_its_rules_and_its_shift() -> None:
    program = "@T alarm(M) :- @T hot(M).\n@T alarm(M) :- @T+2 near(M).\n@T near(M) :- @T alarm(M)."
    assert refusal(program) == (
        "<program>:2:1: error L470: `alarm/1` depends on itself (alarm/1 -> near/1 -> alarm/1, "
        "lines 2, 3): each round needs facts 2 time points later, so the facts that make the "
        "query true cannot be listed\n"
        "  hint: bound the recursion by a window, such as `[10] @T p(X)` in the body"
    )


def test_recursion_over_other_arguments_is_endless_too() -> None:
    program = "@T reach(X,Y) :- @T edge(X,Y). @T reach(X,Z) :- @T edge(X,Y), @T reach(Y,Z)."
    assert "each round needs more facts" in refusal(program, "@T reach(a,X)")


def test_tuple_windows_are_refused_with_the_reason() -> None:
    assert refusal("alarm(M) :- [#3] some hot(M).") == (
        "<program>:1:13: error L472: a tuple window has no fixed size in time: its content depends "
        "on all future facts\n  hint: use a time window such as `[5]`"
    )


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("alarm(M) :- hot(M), not some visit(M).", "without a window of fixed size"),
        ("alarm(M) :- hot(M), [*] always cold(M).", "without a window of fixed size"),
        ("alarm(M) :- [5] some [3] always hot(M).", "windows inside each other"),
        ("alarm(M) :- [mine(3)] some hot(M).", "is not known ahead of time"),
        (
            "warm(M) :- hot(M). @T alarm(M) :- @T hot(M), not @T warm(M).",
            "the evaluation time",
        ),
        (":- hot(M). alarm(M) :- hot(M).", "one atom"),
        ("alarm(M) at T+D :- @T hot(M, D).", "a variable shifted by a number"),
        (
            "@T bad(M) :- @T hot(M). @T bad(M) :- @T loud(M). alarm(M) :- [99] always bad(M).",
            "too many combinations",
        ),
        (
            "@T bad(M) :- @T hot(M). @T bad(M) :- @T loud(M). alarm(M) :- [999] always bad(M).",
            "too many combinations",
        ),
        ("alarm(M) :- [12] always (hot(M) or loud(M)).", "alternatives over time"),
        ("alarm(M) :- 2 < count of [5] hot(M) by M.", "do not support aggregates"),
    ],
)
def test_what_cannot_be_unfolded_is_refused_with_the_reason(program: str, words: str) -> None:
    assert words in refusal(program)


def test_all_rules_that_cannot_be_unfolded_are_reported_at_once() -> None:
    program = "alarm(M) :- [#3] some hot(M).\nalarm(M) :- some hot(M), [*] always cold(M)."
    assert refusal(program).count("error L472") == 2


def test_rules_that_are_not_connected_are_reported() -> None:
    program = "@0 alarm(M) :- @T1 hot(M), @T2 cold(M)."
    (warning,) = Hypotheses(checked(program), formula("@T alarm(M)")).warnings
    assert warning.severity is Severity.WARNING
    assert warning.message == (
        "`T1`, `T2` can be arbitrarily far from the head of the rule, so its answers may wait "
        "without bound"
    )


def test_rules_with_windows_are_connected() -> None:
    program = "alarm(M) :- [9] some hot(M), [3] @T cold(M), not [5] some visit(M)."
    assert Hypotheses(checked(program), formula("@T alarm(M)")).warnings == ()


def test_negation_has_to_be_stratified_over_time() -> None:
    assert refusal("@T alarm(M) :- @T hot(M), not @T+1 alarm(M).") == (
        "<program>:1:1: error L475: whether `alarm/1` holds depends on its own absence (alarm/1 -> "
        "not alarm/1) at the same time point or at later ones\n"
        "  hint: let the denied atom lie in the past, such as `not @T-1 p(X)` for `@T p(X)`"
    )
    assert clauses("@T alarm(M) :- @T hot(M), not @T-1 alarm(M).") == {
        "@T hot(M), not @T-1..T-1 alarm(M)"
    }


PREDICATES = [Signature(name, 0) for name in "pqr"]
RULE = Rule(AtomFormula(Atom("p")))


def closed_walk_without_past(edges: list[Edge]) -> bool:
    """Does some way round through a denial not lead into the past? Found by walking."""
    for start in PREDICATES:
        seen = {(start, 0, False)}
        waiting = deque(seen)
        while waiting:
            here, passed, denied = waiting.popleft()
            for edge in edges:
                if edge.head != here:
                    continue
                state = (edge.body, passed + int(edge.least), denied or edge.negative)
                if state[0] == start and state[2] and state[1] <= 0:
                    return True
                if abs(state[1]) <= 12 and state not in seen:
                    seen.add(state)
                    waiting.append(state)
    return False


@given(
    st.lists(
        st.tuples(
            st.sampled_from(PREDICATES),
            st.sampled_from(PREDICATES),
            st.booleans(),
            st.integers(-2, 2),
        ),
        max_size=6,
    )
)
def test_proposition_14_stratification_over_time_is_decided(
    drawn: list[tuple[Signature, Signature, bool, int]],
) -> None:
    edges = [
        Edge(head, body, negative, shift, shift, RULE) for head, body, negative, shift in drawn
    ]
    assert (unstratified(edges) is not None) == closed_walk_without_past(edges)

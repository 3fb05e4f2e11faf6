"""Which predicate plays which part, and what is said about odd ones."""

from dataclasses import replace

import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Element, Signature, fact
from larspark.base.problems import Severity
from larspark.language import parse_program
from larspark.language.tree import Program


def program(text: str) -> Program:
    parsed = parse_program(text, source="t.lars").program
    assert parsed is not None
    return parsed


def checked(text: str, *background: str) -> Checked:
    return check(program(text), [signature(name) for name in background])


def signature(text: str) -> Signature:
    predicate, arity = text.split("/")
    return Signature(predicate, int(arity))


def names(signatures: frozenset[Signature]) -> str:
    return " ".join(sorted(map(str, signatures)))


def problems(text: str, *background: str) -> list[str]:
    return [
        replace(problem, line_text="").render() for problem in checked(text, *background).problems
    ]


def test_predicates_play_the_part_that_rules_and_facts_give_them() -> None:
    found = checked(
        """
        #background "lines.csv" as line/2.
        late(T, S) :- tram(T, S), line(T, L), plan(L, S, X), not [5] some jam(S), slow(L).
        plan(l1, b, 3).
        @36 tram(a1, b).
        @36 bus(b1, b).
        """,
        "slow/1",
    )
    assert names(found.inputs) == "bus/2 jam/1 tram/2"
    assert names(found.background_signatures) == "line/2 plan/3 slow/1"
    assert names(found.derived) == "late/2"
    assert names(found.shown) == "late/2"
    assert found.background == {fact("plan", "l1", "b", 3)}
    assert found.elements == (
        Element(36, fact("tram", "a1", "b")),
        Element(36, fact("bus", "b1", "b")),
    )
    assert [rule.span.line for rule in found.rules] == [3]
    assert found.problems == ()


def test_a_fact_of_a_derived_predicate_is_a_rule() -> None:
    found = checked("q(X) :- p(X). q(a). @3 q(b). r(a).")
    assert len(found.rules) == 3
    assert found.background == {fact("r", "a")}
    assert found.elements == ()
    assert names(found.background_signatures) == "r/1"


def test_arithmetic_in_facts_is_evaluated() -> None:
    found = checked("p(1+2). @2*3 q(7/2).")
    assert found.background == {fact("p", 3)}
    assert found.elements == (Element(6, fact("q", 3.5)),)


def test_a_fact_without_a_value_states_nothing() -> None:
    found = checked("p(1/0).")
    assert (found.background, len(found.rules)) == (frozenset(), 1)


def test_a_choice_without_a_body_is_no_fact() -> None:
    found = checked("a or b. c and d.")
    assert names(found.derived) == "a/0 b/0 c/0 d/0"
    assert found.background == frozenset()


def test_what_counts_negatively_in_a_head_is_not_derived() -> None:
    found = checked("p -> q :- r. not s :- r.")
    assert names(found.derived) == "q/0"
    assert names(found.inputs) == "p/0 r/0 s/0"


def test_declared_inputs_need_not_occur_and_show_selects() -> None:
    found = checked("#input p/1, unused/2. #show r/1. q(X) :- p(X). r(X) :- q(X).")
    assert names(found.inputs) == "p/1 unused/2"
    assert names(found.shown) == "r/1"
    assert found.problems == ()


def test_a_predicate_of_a_filter_is_input() -> None:
    found = checked("q(X) :- [only p(_), other(_, _)] [#3] some p(X).")
    assert names(found.inputs) == "other/2 p/1"


def test_an_input_predicate_cannot_be_derived() -> None:
    assert problems("#input p/1, q/1.\nq(X) :- p(X).") == [
        "t.lars:2:1: error L211: `q/1` is an input predicate, so no rule can derive it\n"
        "  hint: derive another predicate, or remove `q/1` from `#input`"
    ]


def test_background_data_cannot_be_derived() -> None:
    assert problems("line(X, Y) :- p(X, Y).", "line/2") == [
        "t.lars:1:1: error L212: `line/2` is background data, so no rule can derive it\n"
        "  hint: derive another predicate, with a rule that reads the background data"
    ]


def test_show_of_an_unknown_predicate_is_a_warning_with_a_suggestion() -> None:
    assert problems("#show alam/1, p/1, alarm/2.\nalarm(X) :- p(X).") == [
        "warning L213: `#show alam/1`: `alam/1` is not a predicate of the program\n"
        "  hint: did you mean `alarm/1`?",
        "warning L213: `#show alarm/2`: `alarm/2` is not a predicate of the program\n"
        "  hint: did you mean `alarm/1`?",
        "warning L213: `#show p/1`: `p/1` is derived by no rule, "
        "and only what is derived is output",
    ]


def test_remember_of_a_predicate_that_is_not_derived_is_an_error() -> None:
    assert problems("#remember alarms/1.\nalarm(X) :- p(X).") == [
        "error L214: `#remember alarms/1`: no rule derives `alarms/1`\n"
        "  hint: did you mean `alarm/1`?"
    ]


def test_two_arities_are_two_predicates_and_worth_a_warning() -> None:
    assert problems("q(X) :- p(X), p(X, 1), p(X, 2), not p.") == [
        "t.lars:1:15: warning L201: `p` has 2 arguments here and 1 argument before, "
        "so these are two predicates",
        "t.lars:1:37: warning L201: `p` has no arguments here and 1 argument before, "
        "so these are two predicates",
    ]


def test_a_predicate_that_input_does_not_name_never_holds() -> None:
    assert problems("#input tram/2.\nq(X) :- tran(X, Y), stop(Y).") == [
        "t.lars:2:9: warning L215: `tran/2` never holds: no rule derives it, no fact or background "
        "file gives it, and `#input` does not name it\n"
        "  hint: did you mean `tram/2`?",
        "t.lars:2:21: warning L215: `stop/1` never holds: no rule derives it, no fact or "
        "background file gives it, and `#input` does not name it\n"
        "  hint: add `stop/1` to `#input`",
    ]


def test_a_predicate_used_once_that_looks_like_another_is_suspected() -> None:
    assert problems("q(X) :- trams(X), not [5] some traams(X). r(X) :- trams(X), q(X).") == [
        "t.lars:1:32: warning L216: `traams/1` is given by nothing but the stream, and looks like "
        "`trams/1`\n"
        "  hint: did you mean `trams/1`? If not, name the input with `#input`"
    ]


def test_two_letters_the_wrong_way_round_are_suspected_also_in_a_short_name() -> None:
    assert problems("hot(X) :- [3] some temp(X). alarm(X) :- hto(X).") == [
        "t.lars:1:41: warning L216: `hto/1` is given by nothing but the stream, and looks like "
        "`hot/1`\n  hint: did you mean `hot/1`? If not, name the input with `#input`"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "q(X) :- door1(X), door2(X). r(X) :- door1(X).",
        "q(X) :- p(X), r(X). s(X) :- p(X).",
        "q(X) :- alarm(X), alarms(X, 1). r(X) :- alarm(X).",
        "#input alarm/1, alarms/1. q(X) :- alarm(X), alarms(X). r(X) :- alarm(X).",
        "q(X) :- left(X), right(X), hot(X), not [5] some cold(X). r(X) :- left(X).",
    ],
)
def test_names_that_differ_on_purpose_are_not_suspected(text: str) -> None:
    assert problems(text) == []


def test_a_predicate_that_is_background_and_stream_is_a_warning() -> None:
    assert problems("p(a).\n@3 p(b).\nq(X) :- p(X).") == [
        "t.lars:3:9: warning L217: `p/1` is both background data and a predicate of the stream\n"
        "  hint: background data holds at every time point; use two predicates if that is not meant"
    ]


def test_problems_come_in_the_order_of_the_text_those_of_directives_first() -> None:
    found = checked("#show x/1.\nq(X, Y) :- p(X), r(Z).\nq(A) :- not p(A).").problems
    places = [(p.span.line if p.span else 0, p.code, p.severity) for p in found]
    assert places == [
        (0, "L213", Severity.WARNING),
        (2, "L202", Severity.ERROR),
        (3, "L201", Severity.WARNING),
        (3, "L202", Severity.ERROR),
        (3, "L203", Severity.ERROR),
    ]

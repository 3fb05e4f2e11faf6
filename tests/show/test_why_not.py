"""What is missing, and how near it was."""

import pytest
from tests.show.stories import PLANT, checked, stream

from larspark.language import parse_atom
from larspark.show.explain.explanation import explain_atom
from larspark.show.explain.why_not import WhyNot, why_not

READINGS = (
    "@2 temp(m1,99). @3 repaired(m1). @4 temp(m3,78). @5 temp(m3,85). @6 temp(m3,85). "
    "@9 temp(m2,40). @9 temp(m2,49). @10 temp(m1,90)."
)


def missing(program: str, facts: str, atom: str, at: int) -> WhyNot:
    found = why_not(checked(program), parse_atom(atom), at, stream(facts))
    assert found is not None
    return found


def near(program: str, facts: str, atom: str, at: int) -> str:
    """The first near miss of the first rule."""
    return missing(program, facts, atom, at).misses[0].missing[0].near


def test_the_holes_of_always_are_named_and_followed_down() -> None:
    (miss,) = missing(PLANT, READINGS, "alarm(m3)", 7).misses
    assert miss.missing[0].near == "hot(m3) is missing at 4 and 7 of [3] = [4,7]"
    assert miss.below is not None
    (below,) = miss.below.misses
    assert below.missing[0].near == "the last temp(m3,85) was at 6, one time point before 7"


def test_all_that_is_missing_is_told_and_what_holds_before_it() -> None:
    (miss,) = missing(PLANT, READINGS, "warm(m3)", 10).misses
    assert miss.holding == ()
    assert [part.near for part in miss.missing] == [
        "the last temp(m3,85) was at 6, one time point too early for [3]",
        "the background has no machine(m3,_), but machine(m1,old)",
    ]
    (miss,) = missing(PLANT, READINGS, "warm(m1)", 10).misses
    assert miss.holding == ("[3] some temp(m1, 90)", "90 > 50", "machine(m1, old)")
    assert miss.missing[0].text == "old != old"


def test_a_part_waits_for_what_gives_its_variables_values() -> None:
    program = "#input a/1, b/1.\nq(Y) :- [3] some (a(Z) and Y = X - 1), b(X)."
    (miss,) = missing(program, "@1 a(5). @9 b(7).", "q(6)", 9).misses
    assert miss.holding == ("b(7)",)
    assert [part.text for part in miss.missing] == ["[3] some (a(Z) and 6 = 7 - 1)"]


def test_the_match_that_comes_nearest_is_told() -> None:
    assert near(PLANT, READINGS, "warm(m2)", 10) == "49 > 50 is false"


@pytest.mark.parametrize(
    ("rule", "facts", "at", "text"),
    [
        (
            "q :- [3] some p.",
            "@17 p.",
            22,
            "the last p was at 17, two time points too early for [3]",
        ),
        ("q :- p.", "@17 p.", 18, "the last p was at 17, one time point before 18"),
        ("q :- @12 p.", "@17 p.", 18, "the next p is at 17, five time points after 12"),
        ("q :- [3] some p(a).", "@17 p(b).", 18, "no p(a) so far, only p(b) in [3] = [17,18]"),
        (
            "q :- [9] some p(a).",
            "@1 p(b). @2 p(c). @3 p(d). @4 p(e).",
            5,
            "no p(a) so far, only p(e), p(d), p(c), … in [9] = [1,5]",
        ),
        ("q :- [3] some p(a).", "@17 r.", 18, "no p(a) so far"),
        (
            "q :- [#2] some p.",
            "@7 p. @8 r. @8 s. @9 r.",
            9,
            "the last p was at 7, but three tuples came after it and [#2] keeps 2",
        ),
        (
            "q :- [#1 by X] @T p(X,1).",
            "@7 p(a,1). @8 p(a,2). @8 p(b,2).",
            9,
            "the last p(a,1) was at 7, but one tuple came after it and [#1 by X] keeps 1",
        ),
        ("q :- [only r] some p.", "@7 p.", 9, "@7 p is not in [only r]"),
        ("q :- not [5] some p.", "@7 p.", 9, "@7 p is in [5] = [7,9], and stays there until 12"),
        ("q :- not p.", "@7 p.", 7, "@7 p is there"),
        ("q :- not [1] always p.", "@6 p. @7 p.", 7, "p is there always in [1] = [6,7]"),
        ("q :- [3] some (p and r).", "@7 p.", 7, "it does not hold"),
        ("q :- [9] some p(X), X + 1 = 5.", "@7 p(3).", 7, "3 + 1 = 5 is false"),
        ("q :- [9] some p(X), X + 1 > 5.", "@7 p(a).", 7, "a + 1 > 5 has no value"),
        ("q :- not b(a). b(a).", "@7 p.", 7, "b(a) is background"),
    ],
)
def test_near_misses_are_put_in_words(rule: str, facts: str, at: int, text: str) -> None:
    assert near(rule, facts, "q", at) == text


@pytest.mark.parametrize(
    ("atom", "note"),
    [
        (
            "temp(m3,85)",
            "temp/2 is input, and the last temp(m3,85) was at 6, four time points before 10",
        ),
        ("machine(m9,old)", "machine/2 is background data, which has no machine(m9,old)"),
        ("allarm(m3)", "no rule and no fact is about allarm/1; did you mean alarm/1?"),
        ("nothing_like_it", "no rule and no fact is about nothing_like_it/0"),
    ],
)
def test_an_atom_that_no_rule_can_give_gets_a_note(atom: str, note: str) -> None:
    assert missing(PLANT, READINGS, atom, 10).note == note


def test_a_head_with_other_constants_cannot_be_the_atom() -> None:
    answer = missing("q(a) :- p.", "@1 p.", "q(b)", 1)
    assert answer.note == "no rule has a head that can be q(b)"


def test_without_an_answer_stream_that_is_the_reason() -> None:
    answer = missing("q :- p. :- p.", "@1 p.", "q", 1)
    assert answer.note == (
        "there is no answer stream at 1: constraints or negation forbid all of them"
    )


def test_what_holds_misses_nothing() -> None:
    assert why_not(checked("q :- p."), parse_atom("q"), 1, stream("@1 p.")) is None
    assert why_not(checked("q :- p."), parse_atom("p"), 1, stream("@1 p.")) is None


def test_rules_with_the_least_missing_come_first() -> None:
    answer = missing("q :- a, b. q :- c.", "@1 p.", "q", 1)
    assert [len(miss.missing) for miss in answer.misses] == [1, 2]


def test_a_window_over_conclusions_that_are_not_kept_is_named() -> None:
    program = "hot(M) :- [3] some temp(M, V), V > 90.\nalarm(M) :- [2] always hot(M)."
    facts = stream("@1 temp(m1, 95). @2 temp(m1, 96). @3 temp(m1, 97).")
    found = explain_atom(checked(program), parse_atom("alarm(m1)"), 3, facts)
    assert not found.holds
    last = str(found).splitlines()[-1]
    assert "`hot/1` is never found at earlier time points" in last
    assert "keep them with `#remember hot/1.`" in last
    assert [problem["code"] for problem in found.to_json()["warnings"]] == ["L227"]
    kept = explain_atom(checked(f"#remember hot/1.\n{program}"), parse_atom("alarm(m1)"), 3, facts)
    assert kept.holds
    assert kept.warnings == ()

"""Windows and heads that cannot mean what they say."""

from dataclasses import replace

import pytest

from larspark.analysis.check import DEPTH_LIMIT, check, formula_problems
from larspark.base.atoms import Atom
from larspark.language import parse_formula, parse_program
from larspark.language.tree import AtomFormula, Formula, Not, Program, Rule


def problems(text: str, ends: bool = False) -> list[str]:
    program = parse_program(text, source="t.lars").program
    assert program is not None
    return [
        replace(problem, line_text="").render() for problem in check(program, ends=ends).problems
    ]


TUPLE_WINDOW = (
    "error L221: a tuple window looks at `high/1`, which rules derive\n"
    "  hint: tuple windows count input: a conclusion that counted could push out the tuple it "
    "follows from; use a time window here, or the tuple window in the rules for `high/1`"
)


def test_a_tuple_window_over_a_derived_predicate_is_explained() -> None:
    assert problems("high(X) :- p(X).\nq(X) :- [#3] some high(X).") == [
        f"t.lars:2:9: {TUPLE_WINDOW}"
    ]


@pytest.mark.parametrize(
    "formula",
    [
        "[#3] [5] some high(X)",
        "[5] [#3] some high(X)",
        "[#3] not always high(X)",
        "[#1 by X] high(X)",
    ],
)
def test_so_is_one_with_other_windows_around_or_below_it(formula: str) -> None:
    (found,) = problems(f"high(X) :- p(X). q(X) :- p(X), {formula}.")
    assert found.split(": ", 1)[1] == TUPLE_WINDOW


def test_reset_lifts_a_tuple_window() -> None:
    assert problems("high(X) :- p(X). q(X) :- [#3] (p(X) and reset [0] some high(X)).") == []


def test_a_key_must_be_an_argument_of_the_atoms_below_the_window() -> None:
    assert problems("q(X) :- r(K), [#1 by K] some p(X).") == [
        "t.lars:1:22: error L222: `by K`: `K` is not an argument of `p(X)` below the window\n"
        "  hint: group by a variable that is an argument of every stream atom below the window"
    ]


def test_background_atoms_below_the_window_need_no_key() -> None:
    assert problems("q(X) :- [#1 by X] (p(X, Y) and line(Y)). line(a).") == []


def test_a_window_with_a_key_needs_a_stream_atom() -> None:
    assert [text.split(": ", 1)[1] for text in problems("q(X) :- [#1 by X] line(X). line(a).")] == [
        "error L222: `by X`: `X` is not an argument of a stream atom below the window\n"
        "  hint: group by a variable that is an argument of every stream atom below the window"
    ]


def test_a_key_must_have_one_position_in_a_predicate() -> None:
    assert problems("q(X) :- [#1 by X] (some p(X, Y) and some p(Y, X)).") == [
        "t.lars:1:16: error L223: `by X`: `X` is argument 1 and 2 of `p/2`\n"
        "  hint: group by a variable that is always the same argument of a predicate"
    ]


def test_a_key_may_have_different_positions_in_different_predicates() -> None:
    assert problems("q(X) :- [#1 by X] (some p(X, Y) and some r(Y, X)).") == []


def test_a_filter_that_hides_an_atom_below_it_is_a_warning() -> None:
    assert problems("q(X) :- [only tram(_), bus(a)] some (tram(X) and car(X)).") == [
        "t.lars:1:50: warning L224: `car(X)` never holds here: the filter above it keeps only "
        "`tram(_)`, `bus(a)`\n"
        "  hint: add a pattern of `car/1` to the filter"
    ]


def test_a_filter_does_not_hide_background_data_nor_what_reset_brings_back() -> None:
    assert problems("q(X) :- [only p(_)] (p(X) and line(X) and reset some r(X)). line(a).") == []


ENDLESS = (
    "error L225: this `always` has no last time point: heads of the program can point into the "
    "future, so the timeline is open\n"
    "  hint: put it into a window, such as `[*] always ...` for the whole past, or end the "
    "timeline with `--until`"
)


@pytest.mark.parametrize(
    "formula",
    ["always p", "[5] some reset always p", "[only p] always p", "[#+1] always p", "not always p"],
)
def test_always_needs_a_last_time_point_when_heads_point_into_the_future(formula: str) -> None:
    text = f"@T+2 r :- [3] @T p. q :- {formula}."
    assert [found.split(": ", 1)[1] for found in problems(text)] == [ENDLESS]
    assert problems(text, ends=True) == []
    assert problems(f"@T-2 r :- [3] @T p. q :- {formula}.") == []


@pytest.mark.parametrize(
    "formula",
    ["[*] always p", "[5] always p", "[#3] always p", "[+5] always p", "[mine(3)] always p"],
)
def test_always_in_a_window_has_a_last_time_point(formula: str) -> None:
    assert problems(f"@T+2 r :- [3] @T p. q :- {formula}.") == []


def test_a_head_that_never_holds_is_a_constraint_in_disguise() -> None:
    assert problems("@T false :- @T p.\nq and false :- p.\n:- p.") == [
        "t.lars:1:1: warning L226: this head never holds, so the rule forbids its body\n"
        "  hint: write a constraint, without a head, if that is meant",
        "t.lars:2:1: warning L226: this head never holds, so the rule forbids its body\n"
        "  hint: write a constraint, without a head, if that is meant",
    ]


def test_a_head_that_always_holds_says_nothing() -> None:
    assert problems("q or not false :- p.\ntrue :- p.\nfalse -> q :- p.") == [
        f"t.lars:{line}:1: warning L226: this head always holds, so the rule says nothing\n"
        "  hint: remove the rule"
        for line in (1, 2, 3)
    ]


def nested(levels: int) -> Formula:
    formula: Formula = AtomFormula(Atom("p"))
    for _ in range(levels):
        formula = Not(formula)
    return formula


def test_a_formula_that_nests_too_deeply_is_refused_and_the_rest_is_checked() -> None:
    deep = Rule(AtomFormula(Atom("q")), (nested(100_000),))
    good = Rule(AtomFormula(Atom("r")), (nested(DEPTH_LIMIT - 1),))
    found = check(Program((deep, good)))
    assert [problem.render() for problem in found.problems] == [
        "<program>:1:1: error L205: the formula nests more than 150 levels deep\n"
        "  hint: give parts of it a name, with rules of their own"
    ]
    assert found.rules == (good,)
    assert [problem.code for problem in formula_problems(nested(100_000))] == ["L205"]


def test_the_windows_of_a_query_are_checked() -> None:
    formula = parse_formula("[#1 by K] some p(X) and r(K)").formula
    assert formula is not None
    assert [problem.code for problem in formula_problems(formula)] == ["L222"]

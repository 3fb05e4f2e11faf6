"""Aggregates: the long form, the short form, and what is wrong with one."""

import pytest

from larspark.language import parse_formula, parse_program, program_text
from larspark.language.tree import Aggregate, And


def body(text: str) -> str:
    parsed = parse_program(f"h :- {text}.")
    assert parsed.problems == ()
    assert parsed.program is not None
    printed = program_text(parsed.program)
    assert parse_program(printed).program == parsed.program
    return printed.removeprefix("h :- ").removesuffix(".\n")


def shared(rule: str) -> list[list[str]]:
    program = parse_program(rule).program
    assert program is not None
    literals = [part for part in program.rules[0].body if isinstance(part, Aggregate)]
    return [[variable.name for variable in literal.shared] for literal in literals]


@pytest.mark.parametrize(
    "text",
    [
        "N = #count{ T, V : [60] @T err(M, V) }, m(M)",
        "#sum{ W, Id : [60] some load(Id, W) } > 100",
        "3 <= #count{ X : p(X) } <= 5",
        "N = #count{ X : p(X) ; Y : q(Y) }",
        "N = #count{ X : p(X, M) } by M, N > 10",
        "#sum{ X : p(X, M, K) } > 100 by M, K, r(M)",
        "#min{ X + 1, Y : p(X, Y), not q(X), X < Y } != 3",
        "A = #avg{ X : [5] (p(X) and q(X) or r(X)) }",
        "N = count, p(N), of(N), where(N)",
    ],
)
def test_the_long_form_is_printed_as_it_is_read(text: str) -> None:
    assert body(text) == text


@pytest.mark.parametrize(
    ("written", "means"),
    [
        (
            "N = count of [60] err(M, _) by M",
            "N = #count{ _T, _X1 : [60] @_T err(M, _X1) } by M",
        ),
        ("A = avg of V in [5] temp(S, V) by S", "A = #avg{ V, _T : [5] @_T temp(S, V) } by S"),
        (
            "100 < sum of W in [#10] load(_, W)",
            "#sum{ W, _T, _X1 : [#10] @_T load(_X1, W) } > 100",
        ),
        (
            "3 <= count of [5] temp(S, V) where V > 90 by S, S < 3",
            "#count{ _T, V : [5] @_T temp(S, V), V > 90 } >= 3 by S, S < 3",
        ),
        (
            "3 <= count of temp(S, V) [5] where V > 90 and V < 99",
            "#count{ _T, S, V : [5] @_T temp(S, V), V > 90, V < 99 } >= 3",
        ),
        (
            "_T = 3, 2 < count of [5] (p(_), q(_, X), X < 3)",
            "_T = 3, #count{ _T1, _X1, _X2, X : [5] @_T1 (p(_X1) and q(_X2, X) and X < 3) } > 2",
        ),
        ("S = sum of 2 * W in [5] load(W)", "S = #sum{ 2 * W, _T, W : [5] @_T load(W) }"),
        ("M = max of X in [5] p(X), Y = max(M, 3)", "M = #max{ X, _T : [5] @_T p(X) }, "
         "Y = max(M, 3)"),
        ("not #count{ X : p(X) } > 4", "#count{ X : p(X) } <= 4"),
        ("not N = count of [5] p(_), n(N)", "#count{ _T, _X1 : [5] @_T p(_X1) } != N, n(N)"),
        ("#count{ X : (p(X), q(X)) } = N", "N = #count{ X : p(X), q(X) }"),
        ("N = #count{ X : p(X, M) } by M, M mod 2 = 0", "N = #count{ X : p(X, M) } by M, "
         "M mod 2 = 0"),
    ],
)  # fmt: skip
def test_short_forms_are_read_as_the_long_form(written: str, means: str) -> None:
    assert body(written) == means


def test_variables_outside_of_the_braces_are_global() -> None:
    assert shared("h(A) :- #count{ X : p(X, A, B) } > C, q(B), r(C).") == [["A", "B"]]
    assert shared("h :- N = #count{ X : p(X) }, M = #count{ X : q(X, N) }.") == [[], ["N"]]
    assert shared("h :- N = #count{ X : p(X, Y) } by Y, M = #sum{ X : q(X, Y) }.") == [["Y"]] * 2


def test_a_query_can_be_an_aggregate() -> None:
    formula = parse_formula("N = count of [5] p(_), N > 3").formula
    assert isinstance(formula, And)
    assert isinstance(formula.parts[0], Aggregate)
    assert isinstance(parse_formula("#sum{ X : p(X) } > 3").formula, Aggregate)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("h :- #count{ X : p(X).", "1:12: error L106: `{` is not closed"),
        ("h :- #count{ X : p(X) }.", "1:6: error L127: the aggregate is not compared"),
        ("h :- #median{ X : p(X) } > 3.", "1:7: error L127: there is no aggregate `#median`"),
        ("h :- #count{} > 3.", "1:12: error L127: the braces are empty"),
        ("h :- #count{X} > 3.", "1:14: error L104: expected `:` or `,`, found `}`"),
        ("h :- #count{_ : p(_)} > 3.", "1:13: error L123: `_` has no value to count"),
        (
            "h :- #count{X : #count{Y : p(Y)} > 3} > 3.",
            "1:17: error L128: an aggregate cannot stand inside another one",
        ),
        (
            "h :- not (#count{X : p(X)} > 3).",
            "1:12: error L128: an aggregate is a literal of its own and cannot stand inside a "
            "formula",
        ),
        ("#count{X : p(X)} > 3 :- b.", "1:2: error L128: an aggregate cannot stand in a head"),
        ("#count{X : p(X)} > 3.", "1:2: error L128: an aggregate cannot stand in a head"),
        ("h :- N = sum of [5] p(X).", "1:17: error L104: expected a term, found `[`"),
        ("h :- N = count of p(X).", "1:19: error L127: a window is missing before this"),
        (
            "h :- N = count of [5] some p(X).",
            "1:19: error L127: the window of a short form is followed by an atom, or by atoms in "
            "parentheses",
        ),
        (
            "h :- not 3 < #count{ X : p(X) } < 5.",
            "1:6: error L127: an aggregate with two bounds cannot be negated",
        ),
        (
            "h :- not #count{ X : p(X, Y) } < 5 by Y.",
            "1:6: error L127: `by` names the groups for which the literal holds, so it cannot "
            "follow a `not`",
        ),
        ("h :- N = #count{ X : p(X) } by 3.", "1:32: error L125: `3` is not a variable, so it "
         "cannot be a key"),
        ("{ a } :- b.", "1:1: error L110: `{` is not an operator here"),
        ("a ; b.", "1:3: error L110: `;` is not an operator here"),
    ],
)  # fmt: skip
def test_mistakes_have_a_place_and_a_reason(rule: str, problem: str) -> None:
    (found,) = parse_program(rule, "r").problems
    assert found.render().split("\n")[0] == f"r:{problem}"

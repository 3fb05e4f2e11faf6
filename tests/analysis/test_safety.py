"""Safety: which variables a body binds, and what is said when it does not bind one."""

from dataclasses import replace

import pytest

from larspark.analysis.check import check, formula_problems
from larspark.language import parse_formula, parse_program
from larspark.language.tree import Formula
from larspark.logic.binding import bound_variables


def problems(text: str) -> list[str]:
    program = parse_program(text, source="t.lars").program
    assert program is not None
    return [replace(problem, line_text="").render() for problem in check(program).problems]


def formula(text: str) -> Formula:
    parsed = parse_formula(text).formula
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("p(X, 3, Y)", "X Y"),
        ("[5] some p(X)", "X"),
        ("[60] always reset [5] some p(X)", "X"),
        ("p(X) and q(Y)", "X Y"),
        ("p(X) or (q(X) and r(Y))", "X"),
        ("not p(X)", ""),
        ("not not p(X)", ""),
        ("p(X) -> q(Y)", ""),
        ("@T p(X)", "T X"),
        ("@T+3 p", "T"),
        ("@3+T p", "T"),
        ("@T-3 p", "T"),
        ("@T+D p", ""),
        ("@2*T p", ""),
        ("@T not p(X)", ""),
        ("@T [5] some p(X)", "T X"),
        ("@T (p or q)", "T"),
        ("@T (p or not q)", ""),
        ("@T (p and not q)", "T"),
        ("@T true", "T"),
        ("[3] @T+1 true", "T"),
        ("@T (true and not p(X))", "T"),
        ("@T false", ""),
        ("not @T true", ""),
        ("p(X+1)", ""),
        ("p(_)", ""),
        ("p(X) and Y = X + 1", "X Y"),
        ("p(X) and X + 1 = Y", "X Y"),
        ("Z = Y + 1 and Y = X + 1 and p(X)", "X Y Z"),
        ("p(X) and X = Y + 1", "X"),
        ("p(X) and Y > X", "X"),
        ("X = 3", "X"),
        ("X = Y", ""),
        ("q(Y) and (X = Y or p(X))", "X Y"),
        ("[only p(A)] some p(X)", "X"),
    ],
)
def test_a_formula_binds_these_variables(text: str, bound: str) -> None:
    assert bound_variables((formula(text),)) == frozenset(bound.split())


def test_an_unsafe_head_variable_is_named_with_its_place_and_a_way_to_bind_it() -> None:
    text = "exp(ID, Y) at T :- tram(ID, X) at T [20].\nnext(Y) :- plan(L, X, Y, D), now(L, X, D)."
    program = parse_program(text, source="t.lars").program
    assert program is not None
    (problem,) = check(program).problems
    assert problem.render() == (
        "t.lars:1:9: error L202: head variable `Y` is bound by no positive body atom\n"
        "  1 | exp(ID, Y) at T :- tram(ID, X) at T [20].\n"
        "    |         ^\n"
        "  hint: bind `Y` in the body, e.g. with `plan(L, X, Y, D)`"
    )


def test_a_misspelt_variable_is_recognized() -> None:
    assert problems("q(Stop) :- p(Stopp).") == [
        "t.lars:1:3: error L202: head variable `Stop` is bound by no positive body atom\n"
        "  hint: did you mean `Stopp`?"
    ]


def test_a_time_variable_of_the_head_needs_a_binding_too() -> None:
    assert problems("@T q :- p.") == [
        "t.lars:1:2: error L202: head variable `T` is bound by no positive body atom\n"
        "  hint: bind `T` in the body, with an atom that has it as an argument"
    ]


def test_a_fact_with_a_variable_is_unsafe() -> None:
    assert [text.splitlines()[0] for text in problems("p(X).")] == [
        "t.lars:1:3: error L202: head variable `X` is bound by no positive body atom"
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "not [5] some jam(S)",
            "1:23: error L203: variable `S` is bound by no positive body atom\n"
            "  hint: write `_` for any value, or bind `S` with another atom",
        ),
        (
            "Y > 3",
            "1:6: error L203: variable `Y` is bound by no positive body atom\n"
            "  hint: bind `Y` in the body, with an atom that has it as an argument",
        ),
        (
            "p(X) or r",
            "1:8: error L203: variable `X` is bound by no positive body atom\n"
            "  hint: bind `X` in every part of the `or`, or outside of it",
        ),
        (
            "@T not p",
            "1:7: error L203: variable `T` is bound by no positive body atom\n"
            "  hint: a time variable needs a positive atom or `true` below its `@`",
        ),
        (
            "[only p(A)] some p(_)",
            "1:14: error L203: variable `A` is bound by no positive body atom\n"
            "  hint: bind `A` in the body, with an atom that has it as an argument",
        ),
        (
            "p(Count), Cuont > 3",
            "1:16: error L203: variable `Cuont` is bound by no positive body atom\n"
            "  hint: did you mean `Count`?",
        ),
    ],
)
def test_an_unbound_body_variable_is_explained(body: str, expected: str) -> None:
    (found,) = problems(f"q :- {body}.")
    assert found == f"t.lars:{expected}"


def test_every_unbound_variable_is_told_once_and_in_order() -> None:
    text = "q(A, B, A) :- not p(C, D), C < E, D = C."
    codes = [problem.split("error ")[1].split(" is bound")[0] for problem in problems(text)]
    assert codes == [
        "L202: head variable `A`",
        "L202: head variable `B`",
        "L203: variable `C`",
        "L203: variable `D`",
        "L203: variable `E`",
    ]


def test_a_wildcard_cannot_stand_in_a_head() -> None:
    assert problems("q(_) :- p.") == [
        "t.lars:1:3: error L204: `_` cannot stand in a head: it names no value\n"
        "  hint: use a variable that the body binds"
    ]


def test_wildcards_in_atoms_and_filters_are_fine() -> None:
    assert problems("q :- p(_), not [5] some jam(_), [only p(_)] [#1] some p(_).") == []


def test_a_safe_query_has_no_problems() -> None:
    assert formula_problems(formula("[5] @U tram(a2, St) and not [3] some jam(St)")) == []


def test_a_query_is_checked_like_a_body() -> None:
    (problem,) = formula_problems(formula("tram(A, S) and not [+3] some bus(B, S)"))
    assert problem.render() == (
        "<formula>:1:30: error L203: variable `B` is bound by no positive body atom\n"
        "  hint: write `_` for any value, or bind `B` with another atom"
    )


def test_equations_below_many_operators_are_read_in_reasonable_time() -> None:
    text = "p(X0)"
    for number in range(40):
        text = f"some (X{number + 1} = X{number} and {text})"
    assert len(bound_variables((formula(text),))) == 41

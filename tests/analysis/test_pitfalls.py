"""Rules that are legal but probably not meant are warned about, and others are not."""

import pytest

from larspark.analysis.check import check
from larspark.language import parse_program


def warnings(text: str) -> list[tuple[str, int]]:
    program = parse_program(text, source="t.lars").program
    assert program is not None
    return [
        (problem.code, problem.span.line)
        for problem in check(program).warnings
        if problem.span is not None
        and problem.code in {"L227", "L228", "L229", "L232", "L233", "L234", "L235"}
    ]


HOT = "hot(M) :- [3] some temp(M, V), V > 90.\n"


@pytest.mark.parametrize(
    "rule",
    [
        "alarm(M) :- [2] always hot(M).",
        "alarm(M) :- [2] some hot(M).",
        "alarm(M) :- [2] @T hot(M), [5] @U temp(M, _), T < U.",
        "alarm(M) :- machine(M), not [2] some hot(M).",
        "alarm(M) :- [*] some hot(M).",
        "alarm(M) :- always hot(M).",
        "alarm(M) :- [6 every 3] some hot(M).",
        "alarm(M) :- [9] some (temp(M, _) and [2] always hot(M)).",
        "alarm(M) :- [2] some (hot(M) or cold(M)).",
    ],
)
def test_a_window_that_looks_back_at_conclusions_of_now_is_warned_about(rule: str) -> None:
    assert warnings(HOT + rule) == [("L227", 2)]


@pytest.mark.parametrize(
    "rest",
    [
        "#remember hot/1.\nalarm(M) :- [2] always hot(M).",
        "@T hot(M) :- [3] @T temp(M, V), V > 95.\nalarm(M) :- [2] always hot(M).",
        "alarm(M) :- hot(M), [2] some temp(M, _).",
        "alarm(M, T) :- @T hot(M).",
        "alarm(M) :- [0] some hot(M).",
        "alarm(M) :- [+2] some hot(M).",
        "alarm(M) :- [5] some temp(M, _), not hot(M).",
    ],
)
def test_windows_that_find_what_they_look_for_are_not(rest: str) -> None:
    assert warnings(HOT + rest) == []


def test_a_conclusion_that_only_copies_a_conclusion_of_now_is_no_older() -> None:
    text = HOT + "@T warm(M) :- [3] @T hot(M).\nalarm(M) :- [2] always warm(M)."
    assert warnings(text) == [("L227", 2), ("L227", 3)]


def test_the_warning_names_the_place_and_the_way_out() -> None:
    program = parse_program(HOT + "alarm(M) :- [2] always hot(M).", source="t.lars").program
    assert program is not None
    (problem,) = check(program).warnings
    assert problem.render() == (
        "t.lars:2:24: warning L227: `hot/1` is never found at earlier time points: its rules "
        "derive it for the time point of the evaluation only, and conclusions are not kept\n"
        "  2 | alarm(M) :- [2] always hot(M).\n"
        "    |                        ^^^^^^\n"
        "  hint: keep them with `#remember hot/1.`, or derive `hot/1` at the time of its facts, "
        "with heads such as `@T hot(M) :- ...`"
    )


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a(M) :- [3] temp(M, V), V > 90.", ["L228"]),
        ("a(M) :- [3] [5] temp(M, V), V > 90.", ["L228"]),
        ("a(M) :- temp(M, V) [3], V > 90.", []),
        ("a(M) :- [#3] temp(M, V), V > 90.", []),
        ("a(M) :- [6 every 3] temp(M, V), V > 90.", []),
    ],
)
def test_a_time_window_without_a_temporal_operator_has_no_effect(
    rule: str, expected: list[str]
) -> None:
    assert [code for code, _ in warnings(rule)] == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a(M) :- site(M, Vienna).", ["L229"]),
        ("a(M) :- site(M, P01).", ["L229"]),
        ("a(M) :- site(M, OVERLOAD).", ["L229"]),
        ("a(M) :- site(M, _Vienna).", []),
        ("a(M) :- site(M, V).", []),
        ("a(M) :- site(M, St).", []),
        ("a(M) :- site(M, Vienna), Vienna != graz.", []),
        ("a(Machine) :- [#2 by Machine] @T temp(Machine, Value), Value > T.", []),
        ('a(M) :- site(M, "Vienna").', []),
    ],
)
def test_a_variable_that_is_used_once_and_looks_like_a_name(rule: str, expected: list[str]) -> None:
    assert [code for code, _ in warnings(rule)] == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a(M) :- [2] always temp(M, V), V > 90.", ["L234"]),
        ("a(M) :- [#3 by M] always temp(M, V), V <= 5.", ["L234"]),
        ("a(M, V) :- [2] always temp(M, V), V > 90.", []),
        ("a(M) :- [2] always temp(M, V), V = 90.", []),
        ("a(M) :- [2] always temp(M, V), temp(M, V), V > 90.", []),
        ("a(M) :- [2] always temp(M, _), temp(M, V), V > 90.", []),
    ],
)
def test_a_value_below_always_that_is_compared_stays_the_same(
    rule: str, expected: list[str]
) -> None:
    assert [code for code, _ in warnings(rule)] == expected


@pytest.mark.parametrize(
    "rule",
    [
        "a(M) :- temp(M, V), A = avg of V in [5] temp(M, V) by M, V > A.",
        "a(M) :- temp(M, V), V > #max{ V, T : [5] @T temp(M, V) } by M.",
        "a(M) :- [5] @T temp(M, _), 3 <= #count{ T : [5] @T temp(M, V), V > 90 } by M.",
        "a(M, N) :- N = #count{ M : [5] some temp(M, _) } by M.",
    ],
)
def test_an_aggregate_over_variables_from_outside_is_warned_about(rule: str) -> None:
    assert warnings(rule) == [("L232", 1)]


@pytest.mark.parametrize(
    "rule",
    [
        "a(M) :- temp(M, V), A = avg of W in [5] temp(M, W) by M, V > A.",
        "a(M, N) :- err(M, C), N = count of [5] err(M, C).",
        "a(N) :- N = #sum{ 2, a : p ; 1, b : q }.",
        "a(S) :- k(F), S = #sum{ F * V, T : [5] @T temp(_, V) }.",
        "a :- temp(V, W), V > W, not V = 3, 2 < 3.",
    ],
)
def test_aggregates_over_variables_of_their_own_are_not(rule: str) -> None:
    assert warnings(rule) == []


@pytest.mark.parametrize(
    "rule",
    [
        "a(m) :- temp(m, v), v > 90.",
        'a(M) :- temp(M, V), not "V" = 3.',
        "a(M) :- temp(M, _), m = m1.",
        "a(N) :- N = count of [5] temp(_, _) where v > 3.",
    ],
)
def test_compared_constants_are_warned_about(rule: str) -> None:
    assert warnings(rule) == [("L233", 1)]


def test_a_small_letter_is_reported_with_the_variable_that_was_meant() -> None:
    program = parse_program("a(m) :- temp(m, v), v > 90.", source="t.lars").program
    assert program is not None
    (problem,) = check(program).warnings
    assert problem.render() == (
        "t.lars:1:21: warning L233: this compares two constants, so it never holds\n"
        "  1 | a(m) :- temp(m, v), v > 90.\n"
        "    |                     ^^^^^^\n"
        "  hint: variables begin with a capital letter: `V`"
    )


SITES = "#tick 1 min. #input temp/2, on/1. site(a). known(S) :- site(S), S != b.\n"


@pytest.mark.parametrize(
    "rule",
    [
        "silent(S) :- site(S), not [10 min] some temp(S, _).",
        "silent(S) :- known(S), S != c, not [10 min] some temp(S, _).",
        "silent :- not [10 min] some (temp(_, _) and on(_)).",
        "silent(S) :- site(S), not [10 min] some temp(S, _), not [5 min] some on(S).",
    ],
)
def test_silence_at_the_start_of_a_run_is_warned_about(rule: str) -> None:
    assert warnings(SITES + rule) == [("L235", 2)]
    program = parse_program(SITES + rule).program
    assert program is not None
    (problem,) = check(program).warnings
    assert problem.hint == (
        "to wait until the run is 10 min old, add `@(now - 10 min) true` to the body"
    )


@pytest.mark.parametrize(
    "rule",
    [
        "silent(S) :- site(S), not [10 min] some temp(S, _), @(now - 10 min) true.",
        "alarm(S) :- [3 min] some temp(S, _), not [10 min] some on(S).",
        "alarm(S) :- site(S), not on(S).",
        "never(S) :- site(S), not [*] some on(S).",
        "ahead(S) :- site(S), not [+2 min] some on(S).",
        "odd(S) :- site(S), not [10 min] some site(S).",
        "up(S) :- site(S), not [5 min] always on(S).",
    ],
)
def test_silence_after_something_is_not(rule: str) -> None:
    assert warnings(SITES + rule) == []

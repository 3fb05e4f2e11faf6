"""Plans as they are printed: stable, and every operator with the line it came from."""

import pytest

from larspark.analysis.check import check
from larspark.base.problems import LarsparkError
from larspark.language import parse_program
from larspark.plan.build import plan
from larspark.plan.printed import plan_text


def planned(text: str) -> str:
    """The plan without the spaces that only align it."""
    program = parse_program(text).program
    assert program is not None
    return "\n".join(map(squeezed, plan_text(plan(check(program))).splitlines()))


def squeezed(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return " " * indent + "  ".join(part.strip() for part in line.split("  ") if part.strip())


def test_groups_come_in_the_order_in_which_they_are_worked_off() -> None:
    text = """
    alarm(M) :- hot(M), not [5] some serviced(M).
    hot(M) :- [3] some temp(M, V), V > 90.
    """
    assert planned(text).splitlines() == [
        "1. hot/1",
        "   derive hot(M)  line 3",
        "     where V > 90  line 3",
        "       [3] some temp(M,V)  line 3",
        "2. alarm/1",
        "   derive alarm(M)  line 2",
        "     without on M  line 2",
        "       hot(M)  line 2",
        "       [5] some serviced(M)  line 2",
    ]


def test_a_recursion_is_one_group() -> None:
    text = "reach(X,Y) :- [9] some edge(X,Y). reach(X,Z) :- reach(X,Y), [9] some edge(Y,Z)."
    assert planned(text).splitlines() == [
        "1. reach/2 (recursive)",
        "   derive reach(X,Y)  line 1",
        "     [9] some edge(X,Y)  line 1",
        "   derive reach(X,Z)  line 1",
        "     join on Y  line 1",
        "       reach(X,Y)  line 1",
        "       [9] some edge(Y,Z)  line 1",
    ]


@pytest.mark.parametrize(
    ("formula", "leaf"),
    [
        ("[5] [3] some p(X)", "[3] some p(X)"),
        ("[5,+1] [3,+4] some p(X)", "[3,+1] some p(X)"),
        ("[60 every 15] some p(X)", "[60 every 15] some p(X)"),
        ("[*] always p(X)", "[*] always p(X)"),
        ("[#3] some p(X)", "[#3] some p(X)"),
        ("[only p(a)] [#3] some p(X)", "[only p(a)] [#3] some p(X)"),
        ("[#1 by X] @T p(X)", "[#1 by X] @T p(X)"),
        ("[9] reset [2] some p(X)", "[2] some p(X)"),
        ("p(X) at T in [4]", "[4] @T p(X)"),
    ],
)
def test_windows_that_collapse_are_printed_as_one(formula: str, leaf: str) -> None:
    assert f" {leaf}  line 1" in planned(f"q(X) :- {formula}.")


def test_arithmetic_is_lifted_out_of_atoms_and_pins() -> None:
    assert planned("@T+D q(X) :- [9] @T p(X), delay(X+1, D).").splitlines() == [
        "1. q/1",
        "   derive @T+D q(X)  line 1",
        "     let T+D = T+D  line 1",
        "       join on X+1  line 1",
        "         let X+1 = X+1  line 1",
        "           [9] @T p(X)  line 1",
        "         delay(X+1,D)  line 1",
    ]


def test_a_conjunction_below_some_is_a_join_at_one_time_point() -> None:
    assert planned("q(X) :- [5] some (a(X) and not b(X)).").splitlines() == [
        "1. q/1",
        "   derive q(X)  line 1",
        "     without on X, @0  line 1",
        "       [5] @@0 a(X)  line 1",
        "       [5] @@0 b(X)  line 1",
    ]


def test_a_window_below_some_is_a_band_around_a_time_point() -> None:
    text = "q(X) :- [9] some (a(X) and not [+2] some b(X))."
    assert planned(text).splitlines() == [
        "1. part1/2",
        "   derive part1(@0,X)  line 1",
        "     where @1 <= @0+2  line 1",
        "       where @1 >= @0  line 1",
        "         join on X  line 1",
        "           [9] @@0 a(X)  line 1",
        "           [9] @@1 b(X)  line 1",
        "2. q/1",
        "   derive q(X)  line 1",
        "     without on @0, X  line 1",
        "       [9] @@0 a(X)  line 1",
        "       part1(@0,X)  line 1",
    ]


def test_always_is_that_there_is_no_other_time_point() -> None:
    assert planned("q(X) :- [9] some reset [2] always a(X).").splitlines() == [
        "1. part1/2",
        "   derive part1(@0,X)  line 1",
        "     without on X, @1  line 1",
        "       within the timeline: @1  line 1",
        "         each @1 from @0-2 to @0  line 1",
        "           [9] @@0 a(X)  line 1",
        "       [11] @@1 a(X)  line 1",
        "2. q/1",
        "   derive q(X)  line 1",
        "     without on @0, X  line 1",
        "       [9] @@0 a(X)  line 1",
        "       part1(@0,X)  line 1",
    ]


def test_names_of_parts_are_not_those_of_the_program() -> None:
    lines = planned("q :- part1(X), moment, [3] some (a(X) and not [1] some b(X)).").splitlines()
    assert lines[0] == "1. part1_/2"


def test_a_disjunction_in_a_body_becomes_several_rules() -> None:
    lines = planned("q(X) :- p(X), ([3] some a(X) or not b(X)).").splitlines()
    assert sum("derive q(X)" in line for line in lines) == 2


def test_an_aggregate_is_read_from_parts_of_its_own() -> None:
    text = """
    free(R, N) :- room(R), k(K), N = #sum{ S, P : [9] some booked(P, R, S), S < K ; 1 : x(K) }.
    """
    assert planned(text).splitlines() == [
        "1. tuples1/5",
        "   derive tuples1(R,K,S,P,2)  line 2",
        "     where S < K  line 2",
        "       join  line 2",
        "         k(K)  line 2",
        "         [9] some booked(P,R,S)  line 2",
        "   derive tuples1(R,K,1,0,1)  line 2",
        "     join  line 2",
        "       room(R)  line 2",
        "       x(K)  line 2",
        "2. sum1/3",
        "   derive sum1(R,K,#sum1)  line 2",
        "     sum of #1 by R, K  line 2",
        "       tuples1(R,K,#1,#2,#3)  line 2",
        "3. some1/2",
        "   derive some1(R,K)  line 2",
        "     some tuple by R, K  line 2",
        "       tuples1(R,K,#1,#2,#3)  line 2",
        "4. free/2",
        "   derive free(R,N)  line 2",
        "     join on K  line 2",
        "       join on R  line 2",
        "         room(R)  line 2",
        "         sum1(R,K,N)  line 2",
        "       k(K)  line 2",
        "   derive free(R,N)  line 2",
        "     without on R, K  line 2",
        "       join  line 2",
        "         let N = 0  line 2",
        "           room(R)  line 2",
        "         k(K)  line 2",
        "       some1(R,K)  line 2",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q(X) :- some [900000] always a(X).",
            "go through more than 100000 time points of a window",
        ),
        (f"q(X) :- {'[2] always [1] some ' * 9}a(X).", "evaluate a formula that nests so deeply"),
        ("q(X) :- b(X), [only a(X)] [#3] some a(_).", "filter by the value of a term"),
        (
            "q :- [5] always (a or [2] some q).",
            "look below `always`, a negation or an aggregate inside a recursion",
        ),
        (
            "r(X) :- s(X). r(Y) :- r(X), e(X, Y), 2 <= #count{ W : p(W), W < X }.",
            "look below `always`, a negation or an aggregate inside a recursion",
        ),
        ("q :- [mine(3)] some a.", "look through the window `mine`"),
        ("a or b :- c.", "derive anything but atoms"),
        (
            "a :- c, not b. b :- c, not a.",
            "recursion through negation",
        ),
    ],
)
def test_what_cannot_be_planned_is_named(text: str, message: str) -> None:
    program = parse_program(text).program
    assert program is not None
    with pytest.raises(LarsparkError) as refused:
        plan(check(program))
    assert all(problem.code == "L403" for problem in refused.value.problems)
    assert any(message in problem.message for problem in refused.value.problems)


def test_everything_that_stands_in_the_way_comes_at_once() -> None:
    program = parse_program("q :- [mine] some a.\nr :- [mine] always a.").program
    assert program is not None
    with pytest.raises(LarsparkError) as refused:
        plan(check(program))
    assert [problem.span and problem.span.line for problem in refused.value.problems] == [1, 2]

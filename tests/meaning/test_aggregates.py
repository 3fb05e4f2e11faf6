"""Aggregates by the definition: sets, values, groups, and several answer streams."""

import math
from fractions import Fraction
from random import Random

import pytest
from tests.definitions import models, output_stream
from tests.run.aggregate_programs import NUMBERS

from larspark.analysis.check import check
from larspark.base.atoms import Element
from larspark.base.problems import LarsparkError
from larspark.base.terms import Constant
from larspark.feeds.ground_atoms import parse_ground_atom
from larspark.language import parse_formula, parse_program
from larspark.logic.aggregates import State, aggregate_value, possible_values
from larspark.meaning.queries import query

FUNCTIONS = ("count", "sum", "min", "max", "avg")


def elements(text: str) -> list[Element]:
    """`0 p(1) q; 3 p(2)`: time points with atoms."""
    found = []
    for moment in filter(None, text.split(";")):
        t, *atoms = moment.split()
        found += [Element(int(t), parse_ground_atom(atom)) for atom in atoms]
    return found


def outputs(program: str, stream: str, to: int) -> dict[int, str]:
    parsed = parse_program(program).program
    assert parsed is not None
    checked = check(parsed)
    assert checked.problems == ()
    return {
        t: " ".join(sorted(map(str, atoms or ())))
        for t, atoms in output_stream(checked, elements(stream), start=0, to=to)
    }


def answers(program: str, stream: str = "0 start") -> list[str]:
    parsed = parse_program(program).program
    assert parsed is not None
    found = models(check(parsed), elements(stream), at=0)
    return sorted(" ".join(sorted(map(str, model.get(0, ())))) for model in found)


ERRORS = "0 err(m1,1);1 err(m1,1);2 err(m2,5);5 err(m1,2.5)"


def test_the_short_form_counts_elements_of_the_stream() -> None:
    found = outputs("busy(M, N) :- N = count of [3] err(M, _) by M.", ERRORS, 9)
    assert found[1] == "busy(m1,2)"
    assert found[2] == "busy(m1,2) busy(m2,1)"
    assert found[5] == "busy(m1,1) busy(m2,1)"
    assert found[9] == ""


def test_a_set_holds_equal_tuples_once() -> None:
    found = outputs("n(N) :- N = #count{ V : [3] some err(M, V) }.", ERRORS, 2)
    assert found == {0: "n(1)", 1: "n(1)", 2: "n(2)"}


def test_without_by_a_group_without_tuples_has_count_and_sum_zero() -> None:
    program = """
    m(m1). m(m3).
    n(M, N, S) :- m(M), N = #count{ T : [3] @T err(M, _) }, S = #sum{ V : [3] some err(M, V) }.
    low(M) :- m(M), #min{ V : [3] some err(M, V) } < 9.
    """
    assert outputs(program, ERRORS, 0)[0] == "low(m1) n(m1,1,1) n(m3,0,0)"


def test_with_by_there_are_only_groups_with_tuples() -> None:
    program = "m(m1). m(m3). n(M, N) :- m(M), N = #count{ V : [3] some err(M, V) } by M."
    assert outputs(program, ERRORS, 0)[0] == "n(m1,1)"
    assert outputs("n(M) :- #sum{ V : p(M, V) } <= 0 by M.", "0 p(a,x) p(b,3)", 0)[0] == "n(a)"


def test_conditions_may_be_negated_compared_and_nested_below_windows() -> None:
    program = "n(N) :- N = #count{ M : [5] always not err(M, 5), [9] some err(M, _) }."
    assert outputs(program, ERRORS, 2)[2] == "n(1)"
    program = "n(N) :- N = #count{ V, T : [9] @T err(M, V), not [9] some ok(M), V > 0 }."
    assert outputs(program, f"{ERRORS};6 ok(m1)", 6) == {
        0: "n(1)", 1: "n(2)", 2: "n(3)", 3: "n(3)", 4: "n(3)", 5: "n(4)", 6: "n(1)",
    }  # fmt: skip


def test_several_elements_make_one_set() -> None:
    program = "n(N) :- N = #count{ X : p(X) ; Y : q(Y) }."
    assert outputs(program, "0 p(1) p(2) q(2) q(3)", 0)[0] == "n(3)"


def test_text_is_left_out_of_numbers_and_counted() -> None:
    program = """
    n(N) :- N = #count{ X : p(X) }.  s(N) :- N = #sum{ X : p(X) }.  a(N) :- N = #avg{ X : p(X) }.
    l(N) :- N = #min{ X : p(X) }.    u(N) :- N = #max{ X : p(X) }.
    """
    assert outputs(program, "0 p(1) p(4) p(x);1 p(x)", 1) == {
        0: "a(2.5) l(1) n(3) s(5) u(4)",
        1: "n(1) s(0)",
    }


def test_aggregates_stand_on_each_other_and_on_negation() -> None:
    program = """
    s(M, S) :- S = sum of V in [9] err(M, V) by M.
    top(M) :- s(M, S), S = #max{ X : s(_, X) }.
    n(N) :- N = #count{ M : s(M, _), not top(M) }.
    """
    assert outputs(program, ERRORS, 2)[2] == "n(1) s(m1,2) s(m2,5) top(m2)"


@pytest.mark.parametrize(
    ("function", "numbers", "value"),
    [
        ("sum", [1e16, 1.0, -1e16], 1),
        ("sum", [0.1] * 1, 0.1),
        ("sum", [1e308, 1e308, -1e308], 1e308),
        ("sum", [1e308, 1e308], None),
        ("sum", [2**63 - 1, 1], None),
        ("sum", [2**63 - 1, 1, -1], 2**63 - 1),
        ("sum", [2**53 + 1, 0.5], float(2**53 + 2)),
        ("sum", [], 0),
        ("avg", [1, 2], 1.5),
        ("avg", [2, 4], 3),
        ("avg", [2**63 - 1, 2**63 - 1, 2**63 - 1], 2**63 - 1),
        ("avg", [1e308, 1e308], 1e308),
        ("avg", [], None),
        ("min", [3, 0.5, -2], -2),
        ("max", [3, 0.5, "x"], 3),
        ("max", ["x"], None),
        ("count", [], 0),
    ],
)
def test_values_are_exact(function: str, numbers: list[Constant], value: Constant | None) -> None:
    tuples = {(number, place) for place, number in enumerate(numbers)}
    assert aggregate_value(function, tuples) == value  # type: ignore[arg-type]


def test_a_sum_of_floats_is_what_fsum_gives() -> None:
    random = Random(1)
    for _ in range(300):
        floats = [random.choice([-1, 1]) * 10 ** random.uniform(-300, 300) for _ in range(9)]
        tuples = {(number, place) for place, number in enumerate(floats)}
        assert aggregate_value("sum", tuples) == math.fsum(floats)
        mean = sum(map(Fraction, floats)) / len(floats)
        assert aggregate_value("avg", tuples) == mean.numerator / mean.denominator


@pytest.mark.parametrize("function", FUNCTIONS)
def test_states_of_a_set_have_the_values_of_its_tuples(function: str) -> None:
    random = Random(function)
    for _ in range(200):
        tuples = {(random.choice(NUMBERS), random.randint(0, 2)) for _ in range(4)}
        state = State()
        for found in tuples:
            state = state.joined(function, found)  # type: ignore[arg-type]
        assert state.value(function) == aggregate_value(function, tuples)  # type: ignore[arg-type]
        assert state.empty == (not tuples)


def test_the_values_of_undecided_sets_are_those_of_all_their_subsets() -> None:
    random = Random(2)
    for _ in range(200):
        tuples = sorted({(random.randint(-3, 9) / 2, n) for n in range(5)})
        certain, possible = set(tuples[:2]), tuples[2:]
        for function in FUNCTIONS:
            subsets = [
                certain | {found for place, found in enumerate(possible) if bits >> place & 1}
                for bits in range(8)
            ]
            expected = {aggregate_value(function, subset) for subset in subsets}  # type: ignore[arg-type]
            span = parse_formula("p").formula.span  # type: ignore[union-attr]
            assert possible_values(function, certain, possible, span) == expected - {None}  # type: ignore[arg-type]


CHOICE = "q(X) :- d(X), not r(X). r(X) :- d(X), not q(X). d(1). d(2). d(3)."


def test_a_constraint_over_an_aggregate_chooses_among_answer_streams() -> None:
    program = f"{CHOICE} :- #sum{{ X : q(X) }} != 3."
    assert answers(program) == ["q(1) q(2) r(3)", "q(3) r(1) r(2)"]


def test_an_aggregate_can_depend_on_a_choice() -> None:
    program = "a :- not b. b :- not a. n(N) :- N = #count{ 1 : a ; 2 : b ; 3 : a }."
    assert answers(program) == ["a n(2)", "b n(1)"]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("q(1) :- #sum{ X : q(X) } >= 0.", ["q(1)"]),
        ("q(1) :- #count{ X : q(X) } = 1.", [""]),
        ("q(1) :- #count{ X : q(X) } != 1. q(2) :- q(1).", []),
        ("q(1) :- #sum{ X : q(X) } != 1. q(-1) :- q(1).", ["q(-1) q(1)"]),
        ("q(1) :- #count{ X : q(X) } < 2. q(2) :- q(1).", []),
        ("p(X) :- d(X), #count{ Y : p(Y) } < 1. d(1). d(2).", []),
    ],
)
def test_recursion_through_an_aggregate_follows_the_flp_reduct(
    program: str, expected: list[str]
) -> None:
    assert answers(program) == expected


def test_too_many_sums_of_undecided_atoms_are_refused() -> None:
    facts = "".join(f"d({2**number})." for number in range(16))
    program = f"{facts} q(X) :- d(X), s(S), S > 0. s(S) :- S = #sum{{ X : q(X) ; 1 : start }}."
    with pytest.raises(LarsparkError, match="can be in more than 20000 states"):
        answers(program)


def test_queries_may_hold_aggregates() -> None:
    data = elements(ERRORS)
    formula = parse_formula("N = count of [3] err(M, _) by M, N > 1").formula
    assert formula is not None
    assert query(formula, data, at=2) == [{"N": 2, "M": "m1"}]
    assert [answer["t"] for answer in query(formula, data)] == [1, 2, 3]

"""What is known of programs with aggregates before they run."""

import pytest

from larspark.analysis.check import check, formula_problems
from larspark.analysis.checked import Checked, EdgeKind, Fragment
from larspark.analysis.dependencies import decided, layers, negative_cycle
from larspark.analysis.partition import partition_obstacles
from larspark.analysis.stages import find_stages
from larspark.base.problems import Severity
from larspark.language import parse_formula, parse_program


def checked(text: str) -> Checked:
    program = parse_program(text, "r").program
    assert program is not None
    return check(program)


def errors(text: str) -> list[str]:
    found = [p for p in checked(text).problems if p.severity is Severity.ERROR]
    return [problem.render() for problem in found]


def test_a_global_variable_without_a_value_is_an_error_that_proposes_by() -> None:
    assert errors("busy(M, N) :- N = #count{ X : err(M, X) }.") == [
        "r:1:35: error L203: variable `M` is bound by no positive body atom\n"
        "  1 | busy(M, N) :- N = #count{ X : err(M, X) }.\n"
        "    |                                   ^\n"
        "  hint: write `by M` after the aggregate for a group for each `M`, or bind `M` with an "
        "atom"
    ]


@pytest.mark.parametrize(
    ("rule", "codes"),
    [
        ("h(M, N) :- N = #count{ X : err(M, X) } by M.", []),
        ("h(M, N) :- m(M), N = #count{ X : err(M, X) }.", []),
        ("h(N, K) :- N = #count{ X : p(X) }, K = #sum{ X : q(X, N) }.", []),
        ("h(K) :- K = #sum{ X : q(X, N) }, N = #count{ X : p(X) }.", []),
        ("h(N) :- N = #count{ X + 1, Y : p(X), Y = X * 2 }.", []),
        ("h :- #count{ X : p(X) } > N.", ["L203"]),
        ("h(N) :- N + 1 = #count{ X : p(X) }.", ["L202", "L203"]),
        ("h(N) :- N = #count{ X : p(X, N) }.", ["L203"]),
        ("h :- N = #count{ X : p(X, M) }, M = #count{ X : p(X, N) }.", ["L203", "L203"]),
        ("h(N) :- N = #count{ X : p(Y) }.", ["L206"]),
        ("h(N) :- N = #count{ X : not p(X) }.", ["L206"]),
        ("h(N) :- N = #count{ X : p(X), Y > 3 }.", ["L206"]),
        ("h(N) :- N = #count{ X : p(X, M) ; X : q(X) } by M.", ["L207"]),
        ("h(N) :- N = #count{ T : @T not p }.", ["L206"]),
    ],
)
def test_variables_have_to_be_bound(rule: str, codes: list[str]) -> None:
    found = [p.code for p in checked(rule).problems if p.severity is Severity.ERROR]
    assert sorted(found) == codes


def test_a_query_with_an_aggregate_is_checked_like_a_body() -> None:
    def codes(text: str) -> list[str]:
        formula = parse_formula(text).formula
        assert formula is not None
        return [problem.code for problem in formula_problems(formula)]

    assert codes("N = #count{ X : p(X, M) } by M, N > 3") == []
    assert codes("N = #count{ X : p(X, M) }, M < 3") == ["L203"]


def test_an_aggregate_depends_on_its_predicates_as_a_negation_does() -> None:
    program = checked("p(X) :- e(X), not z. n(N) :- N = #count{ X : p(X), not q(X) }. q(1) :- z.")
    assert program.strata is not None
    assert [sorted(map(str, layer)) for layer in program.strata] == [["p/1", "q/1"], ["n/1"]]
    kinds = {str(edge.body): edge.kind for edge in program.edges if edge.head.predicate == "n"}
    assert kinds == {"p/1": EdgeKind.NEGATIVE, "q/1": EdgeKind.NEGATIVE}
    assert program.fragment is Fragment.STRATIFIED
    assert not program.several_models


def test_a_recursion_through_an_aggregate_is_not_stratified() -> None:
    program = checked("p(1) :- #count{ X : p(X) } < 3.")
    assert program.strata is None
    assert program.several_models
    assert [str(edge.head) for edge in negative_cycle(program.edges)] == ["p/1"]


def test_the_windows_of_an_aggregate_count_for_the_lookback() -> None:
    counting = checked("n(M, N) :- N = count of [60] err(M, _) by M.")
    assert (counting.lookback.time, counting.lookback.tuples) == (60, 0)
    tuples = checked("n(N) :- N = sum of V in [#10] load(_, V).")
    assert (tuples.lookback.time, tuples.lookback.tuples) == (0, 10)
    assert checked("n(N) :- N = #count{ T : @T p }.").lookback.time is None
    ahead = checked("@T+2 n(N) :- e(T), N = #count{ U : [3] @U p }.")
    assert ahead.future_reach is None
    assert checked("n(N) :- N = #count{ U : [3,+2] @U p }.").future_reach == 0


def test_a_key_is_a_global_variable_of_every_aggregate() -> None:
    program = checked("n(M, N) :- N = count of [60] err(M, _) by M.")
    assert {str(p): place for p, place in (program.partition_key or {}).items()} == {
        "err/2": 0, "n/2": 0,
    }  # fmt: skip
    apart = checked("n(X, N) :- p(X), N = #count{ M : err(M, Y) }.")
    assert apart.partition_key is None
    inside = checked("t :- #count{ M : err(M, Y) } > 3.")
    assert inside.partition_key is None
    mixed = checked("n(X) :- err(X, _), #count{ Y : err(Y, X), X != Y } > 0.")
    assert {str(p): place for p, place in (mixed.partition_key or {}).items()} == {}
    same = checked("n(X) :- err(X, _), #count{ Y : err(Y, _) ; X : err(X, _) } > 0.")
    assert same.partition_key is None
    only_local = checked("n(Y) :- e(Y), #count{ X : err(X, _) } > 0.")
    assert partition_obstacles(only_local) != []


def test_an_aggregate_over_all_values_waits_for_a_stage_of_its_own() -> None:
    program = checked(
        "n(M, N) :- N = count of [60] err(M, _) by M. top(M) :- n(M, N), N = #max{ X : n(_, X) }."
    )
    first, second = find_stages(program)
    assert {str(p): place for p, place in (first.key or {}).items()} == {"err/2": 0, "n/2": 0}
    assert second.key is None


def test_layers_put_rules_after_what_their_aggregates_look_at() -> None:
    program = checked(
        """
        n(N) :- N = #count{ X : p(X) }.  p(X) :- e(X), not q(X).  q(X) :- f(X).
        a :- n(N), not b, N > 1.  b :- n(N), not a.  k(N) :- N = #count{ 1 : a }.  :- k(7).
        """
    )
    heads = [[str(rule.head.atom) for rule in part[:2]] for part in layers(program)[:2]]  # type: ignore[union-attr]
    assert heads == [["p(X)", "q(X)"], ["n(N)", "a"]]
    assert [decided(part) for part in layers(program)] == [True, False, True, False]
    assert len(layers(checked("n(N) :- N = #count{ X : e(X) }. m(N) :- n(N)."))) == 1

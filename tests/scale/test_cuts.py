"""How programs can be cut, told with the rule that stands in the way."""

import pytest

from larspark.language import parse_program
from larspark.meaning.check import check
from larspark.meaning.checked import Checked
from larspark.scale.cuts import Cuts, explain_cuts, find_cuts


def checked(text: str) -> Checked:
    program = parse_program(text).program
    assert program is not None
    return check(program)


def cuts(text: str) -> Cuts:
    return find_cuts(checked(text))


def test_a_program_with_a_key_and_bounded_windows_is_cut_both_ways() -> None:
    found = cuts("hot(S) :- [5] always temp(S, V), V > 30. alarm(S) :- hot(S), not [9] some ok(S).")
    assert found.key is not None
    assert {str(predicate) for predicate in found.key} == {"alarm/1", "hot/1", "ok/1", "temp/2"}
    assert found.lookback == 9


def test_a_program_that_joins_on_two_arguments_is_cut_by_time_only() -> None:
    lines = explain_cuts(checked("p(X) :- a(X, Y).\nq(Y) :- [3] some a(X, Y)."))
    assert lines == [
        "by key   no",
        "         line 2, `q(Y) :- [3] some a(X, Y).`: other rules divide `a/2` by argument 1; "
        "that does not join `q(Y)`, `a(X,Y)`",
        "         stages of it have keys, but are not run by themselves",
        "by time  yes: an answer looks back 3 time points at most",
        "         a slice of history also reads the 3 time points before it",
        "         with hindsight answers look ahead, and history is not cut by time",
        "so       history is cut into slices; each sees all facts of its time",
    ]


def test_a_rule_that_looks_at_the_whole_past_is_named() -> None:
    found = cuts("p(X) :- a(X).\nq(X) :- [*] some a(X).")
    assert found.key is not None
    assert found.time_obstacles == (
        "line 2, `q(X) :- [*] some a(X).`: it looks for `a(X)` in the whole past; "
        "a window such as `[60]` bounds that",
    )


@pytest.mark.parametrize("window", ["[#3]", "[#3 by X]", "[#1,+1]"])
def test_tuple_windows_are_not_cut_by_time(window: str) -> None:
    found = cuts(f"p(X) :- {window} some a(X).")
    assert found.lookback is None
    assert "counts tuples, and they may lie any time ago" in found.time_obstacles[0]


def test_what_is_remembered_is_not_cut_by_time() -> None:
    found = cuts("#remember p/1. p(X) :- a(X). q(X) :- [3] some p(X).")
    assert found.time_obstacles == ("`#remember` carries `p/1` on from answer to answer",)
    assert found.key is not None


def test_choices_are_cut_in_no_way() -> None:
    found = cuts("p(X) or q(X) :- a(X).")
    assert found.key is None
    assert found.lookback is None


def test_constraints_keep_all_keys_together_but_not_all_times() -> None:
    found = cuts("p(X) :- a(X). :- [2] some a(X), b(X).")
    assert found.key is None
    assert found.lookback == 2


def test_an_answer_that_looks_at_now_says_so() -> None:
    assert "by time  yes: an answer looks at its own time point only" in explain_cuts(
        checked("p(X) :- a(X).")
    )

"""How programs can be cut, told with the rule that stands in the way."""

import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Signature
from larspark.language import parse_program
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


def test_a_program_that_joins_on_two_arguments_is_cut_by_time_or_in_parts() -> None:
    lines = explain_cuts(checked("p(X) :- a(X, Y).\nq(Y) :- [3] some a(X, Y)."))
    assert lines == [
        "by key   no",
        "         line 2, `q(Y) :- [3] some a(X, Y).`: other rules divide `a/2` by argument 1; "
        "that does not join `q(Y)`, `a(X,Y)`",
        "stages   1",
        "         1. derives p/1, q/1, by key: a/2 by argument 1, p/1 by argument 1",
        "            q/1: several shards derive parts of it, which are merged",
        "         a live stream runs in one shard, unless `shards` asks for the stages",
        "by time  yes: an answer looks back 3 time points at most",
        "         a slice of history also reads the 3 time points before it",
        "         with hindsight answers look ahead, and history is not cut by time",
        "so       history is cut into slices; each sees all facts of its time; "
        "stages where slices would be short",
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
    assert "counts tuples, which may be arbitrarily old" in found.time_obstacles[0]


@pytest.mark.parametrize("window", ["[session 3 by X]", "[ended session 3 max 9 by X]"])
def test_sessions_by_key_are_cut_by_key_but_not_by_time(window: str) -> None:
    found = cuts(f"p(X) :- {window} some a(X).")
    assert found.key == {Signature("a", 1): 0, Signature("p", 1): 0}
    assert found.lookback is None
    assert "shows a session, which may be arbitrarily old" in found.time_obstacles[0]


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


def test_stages_are_told_with_what_is_spread_anew_and_the_rule_that_begins_them() -> None:
    lines = explain_cuts(
        checked(
            "#input temp/2, open/1.\n"
            "hot(M) :- [5] some temp(M, V), V > 90.\n"
            "alarm(H) :- [*] some hot(M), stands(M, H).\n"
            "calm(H) :- open(H), not alarm(H).\n"
            "quiet :- not [3] some alarm(_).\n"
            "rest(H) :- [*] some open(H), quiet.\n"
            "stands(m1, h1)."
        )
    )
    begin = next(number for number, line in enumerate(lines) if line.startswith("stages"))
    assert lines[begin:] == [
        "stages   3, one after the other, with a shuffle between them",
        "         1. derives alarm/1, hot/1, by key: hot/1 by argument 1, temp/2 by argument 1",
        "            alarm/1: several shards derive parts of it, which are merged",
        "         2. derives quiet/0, in one shard",
        "            alarm/1 of stage 1 is collected in one shard",
        "            line 5, `quiet :- not [3] some alarm(_).`: `quiet` has no argument",
        "         3. derives calm/1, rest/1, by key: alarm/1 by argument 1, calm/1 by argument 1, "
        "open/1 by argument 1, rest/1 by argument 1",
        "            alarm/1 of stage 1 is repartitioned by key",
        "            quiet/0 of stage 2 is broadcast to all shards",
        "            line 4, `calm(H) :- open(H), not alarm(H).`: it has to wait until all shards "
        "have derived `alarm/1`",
        "         a live stream runs in one shard, unless `shards` asks for the stages",
        "by time  no",
        "         line 6, `rest(H) :- [*] some open(H), quiet.`: it looks for `open(H)` in the "
        "whole past; a window such as `[60]` bounds that",
        "so       stages follow each other; each sees the whole history of its keys",
    ]


def test_stages_of_which_one_shard_reads_the_stream_have_to_be_asked_for() -> None:
    text = "busy :- [#3] some tram(_). late(X) :- [*] some tram(X), busy."
    found = cuts(text)
    assert [stage.key is None for stage in found.stages] == [True, False]
    assert not found.stages_pay
    assert explain_cuts(checked(text))[-1] == (
        "so       the whole history runs in one piece, on one executor, "
        "unless `shards` asks for stages"
    )


def test_choices_and_constraints_have_no_stages() -> None:
    assert cuts("p(X) or q(X) :- a(X, Y). r(Y) :- a(X, Y), not p(X).").stages == ()
    assert cuts("p(X) :- a(X, Y). r(Y) :- a(X, Y), not p(X). :- r(Y), b(Y).").stages == ()

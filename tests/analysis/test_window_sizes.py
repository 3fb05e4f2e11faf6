"""Sizes of windows from background data, compared with the last tuples of every group."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import larspark as lp
from larspark.analysis.window_sizes import SIZES_LIMIT
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError
from larspark.language import program_text
from larspark.run.prepare import prepare

streams = st.lists(st.lists(st.integers(0, 3), max_size=3, unique=True), min_size=1, max_size=6)
sizes = st.dictionaries(st.integers(0, 3), st.integers(0, 3))


@given(stream=streams, size=sizes, engine=st.sampled_from(["interval", "asp", "oracle"]))
@settings(max_examples=40)
def test_every_group_has_its_own_size(
    stream: list[list[int]], size: dict[int, int], engine: str
) -> None:
    program = lp.Program.parse("q(K, T) :- [#N by K] @T p(K), size(K, N).")
    background = [Atom("size", (key, number)) for key, number in {**size, 9: 9}.items()]
    reasoner = lp.Reasoner(program, background=background, engine=engine, start=0)
    came: dict[int, list[int]] = defaultdict(list)
    for t, keys in enumerate(stream):
        for key in keys:
            came[key].append(t)
        reasoner.append(t, [Atom("p", (key,)) for key in keys])
        (answer,) = reasoner.advance(t)
        assert answer.atoms == {
            Atom("q", (key, at))
            for key, times in came.items()
            for at in times[max(0, len(times) - size.get(key, 0)) :]
        }


def text_with(program: str, *background: str) -> str:
    return program_text(prepare(program, background).checked.program)


def test_a_rule_stands_for_one_rule_for_each_size() -> None:
    text = text_with("q(M) :- [#N,+K by M] some p(M), size(M, N, K).", "size(a,1,2)", "size(b,3,0)")
    assert text.splitlines() == [
        "q(M) :- [#1,+2 by M] some p(M), size(M, 1, 2).",
        "q(M) :- [#3 by M] some p(M), size(M, 3, 0).",
    ]


def test_a_local_size_gives_one_element_for_each_size() -> None:
    rule = "n(C) :- C = #count{ X : size(N), [#N] some p(X) }."
    assert text_with(rule, "size(2)", "size(4)").endswith(
        "{ X : size(2), [#2] some p(X) ; X : size(4), [#4] some p(X) }.\n"
    )


def test_what_is_no_number_of_tuples_is_no_size() -> None:
    text = text_with("q :- [#N] some p(_), size(N).", "size(a)", "size(-1)", "size(1.5)")
    assert text == "q :- [#0] some p(_), size(0).\n"


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("q :- [#N] some p(_), size(N).", "L230"),
        ("q :- [#N] some p(_).", "L203"),
        ("q(N) :- 0 < count of [#N] p(N) by N, k(N).", "L230"),
    ],
)
def test_a_size_that_no_background_data_gives_is_an_error(rule: str, code: str) -> None:
    with pytest.raises(LarsparkError) as caught:
        prepare(rule, ["k(1)"])
    assert code in {problem.code for problem in caught.value.problems}


def test_too_many_sizes_are_refused() -> None:
    program = lp.Program.parse("q :- [#N] some p(_), size(N).")
    with pytest.raises(LarsparkError) as caught:
        prepare(program.syntax, [Atom("size", (n,)) for n in range(SIZES_LIMIT + 1)])
    assert caught.value.problems[0].code == "L231"

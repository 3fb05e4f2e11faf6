"""Queries against Definition 10, tried out with every substitution."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.analysis.check import formula_problems
from larspark.base.atoms import Atom, Element, fact
from larspark.base.problems import LarsparkError
from larspark.base.terms import Constant
from larspark.language import parse_formula
from larspark.language.nodes import variables
from larspark.language.tree import Formula
from larspark.logic.matching import Binding
from larspark.logic.values import NoValueError
from larspark.meaning.entailment import Structure, entails
from larspark.meaning.grounding import ground
from larspark.meaning.queries import pins_in_timeline, query
from larspark.meaning.streams import Universe

END = 3
BACKGROUND = [fact("next", 1, 2), fact("next", 2, 3)]


def formula(text: str) -> Formula:
    parsed = parse_formula(text)
    assert parsed.formula is not None, parsed.problems
    return parsed.formula


def answers(
    text: str, data: list[tuple[int, Atom]], **options: int | None
) -> list[dict[str, Constant]]:
    return query(formula(text), data, BACKGROUND, **options)


def by_definition(
    asked: Formula, data: list[Element], t: int
) -> set[frozenset[tuple[str, Constant]]]:
    stream = Universe(data).whole(0, END)
    structure = Structure(stream, frozenset(BACKGROUND))
    names = sorted({variable.name for variable in variables(asked)})
    values: list[Constant] = [0, 1, 2, 3, 4, "c"]
    found = set()
    for chosen in product(values, repeat=len(names)):
        binding: Binding = dict(zip(names, chosen, strict=True))
        try:
            candidate = ground(asked, binding)
        except NoValueError:
            continue
        if pins_in_timeline((asked,), binding, stream) and entails(structure, stream, t, candidate):
            found.add(frozenset(binding.items()))
    return found


leaves = st.sampled_from(
    ["p(X)", "p(Y)", "q(X,Y)", "q(X,_)", "next(X,Y)", "p(1)", "true", "p(X+1)", "(X = Y + 1)",
     "(X != Y)", "(Y = X)", "(X <= 2)", "(X / 0 = Y)"]
)  # fmt: skip


def _wider(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    prefix = st.sampled_from(
        ["not", "some", "always", "@1", "@U", "@U+1", "[1]", "[+1]", "[2 every 2]", "[*]", "reset",
         "[#1]", "[#2,+1]", "[#1 by X]", "[only p(_)]", "[only p(X)]"]
    )  # fmt: skip
    joined = st.tuples(below, st.sampled_from(["and", "and", "or", "->"]), below)
    return st.one_of(
        st.tuples(prefix, below).map(" ".join), joined.map(lambda part: f"({' '.join(part)})")
    )


elements = st.builds(
    Element,
    st.integers(0, END),
    st.one_of(
        st.integers(1, 2).map(lambda x: fact("p", x)),
        st.tuples(st.integers(1, 2), st.sampled_from([1, 3, "c"])).map(lambda xy: fact("q", *xy)),
    ),
)


@settings(max_examples=600, deadline=None)
@given(
    text=st.recursive(leaves, _wider, max_leaves=5),
    data=st.lists(elements, max_size=5),
    t=st.integers(0, END),
)
def test_open_queries_have_the_answers_of_the_definition(
    text: str, data: list[Element], t: int
) -> None:
    asked = formula(f"({text}) and some q(X,Y)" if "Y" in text else f"({text}) and some p(X)")
    if "U" in text:
        asked = formula(f"({text}) and some @U p(_) and some (p(X) or q(X,_)) and some q(_,Y)")
    if formula_problems(asked):
        return
    found = query(asked, data, BACKGROUND, 0, END, t)
    assert len(found) == len({frozenset(answer.items()) for answer in found})
    assert {frozenset(answer.items()) for answer in found} == by_definition(asked, data, t)


def test_a_query_open_in_time_gives_every_time_point() -> None:
    data = [(3, fact("p", 1)), (5, fact("p", 2))]
    assert answers("[1] some p(X)", data, start=2, end=6) == [
        {"t": 3, "X": 1}, {"t": 4, "X": 1}, {"t": 5, "X": 2}, {"t": 6, "X": 2},
    ]  # fmt: skip


def test_a_ground_query_is_answered_by_yes_or_no() -> None:
    data = [(3, fact("p", 1))]
    assert answers("[2] some p(1)", data, at=5) == [{}]
    assert answers("[2] some p(1)", data, at=6) == []


def test_answers_are_sorted_numbers_before_text() -> None:
    data = [(0, fact("p", value)) for value in ("b", 10, 2.5, "a", 9)]
    assert [answer["X"] for answer in answers("p(X)", data, at=0)] == [2.5, 9, 10, "a", "b"]


def test_an_equation_binds_from_either_side() -> None:
    data = [(0, fact("p", 3))]
    assert answers("p(X) and Y = X * 2 and Z = Y - 1", data, at=0) == [{"X": 3, "Y": 6, "Z": 5}]
    assert answers("X / 2 = Y and p(X)", data, at=0) == [{"X": 3, "Y": 1.5}]


def test_a_comparison_without_a_value_is_false_positive_or_negated() -> None:
    data = [(0, fact("p", 3)), (0, fact("p", "x"))]
    assert answers("p(X) and X / 0 = 1", data, at=0) == []
    assert answers("p(X) and not X / 0 = 1", data, at=0) == []
    assert answers("p(X) and not X + 1 = 1", data, at=0) == [{"X": 3}]
    assert answers("p(X) and not p(X + 1)", data, at=0) == [{"X": 3}]


def test_a_wildcard_asks_for_some_value() -> None:
    data = [(0, fact("q", 1, 2)), (1, fact("q", 1, 3)), (1, fact("q", 2, 3))]
    assert answers("always q(X,_) and some q(X,_)", data, at=1) == [{"X": 1}]
    assert answers("not [0] some q(_,2)", data, at=1) == [{}]


def test_time_variables_range_over_the_timeline() -> None:
    data = [(0, fact("p", 9)), (1, fact("p", 0))]
    assert answers("some p(T) and not @T p(7)", data, at=1) == [{"T": 0}]
    assert answers("@T+1 p(X)", data, at=1) == [{"T": 0, "X": 0}]


def test_an_unbound_variable_is_refused_by_name() -> None:
    with pytest.raises(LarsparkError) as caught:
        answers("p(X) and not p(Y)", [(0, fact("p", 1))], at=0)
    assert str(caught.value) == (
        "<formula>:1:1: error L250: the variable `Y` is bound by no positive part of the formula\n"
        "  hint: give `Y` a value with an atom, or write `_` for any value"
    )


def test_a_time_point_before_the_timeline_is_refused() -> None:
    with pytest.raises(LarsparkError, match="L251: the time point 2 lies before the timeline"):
        answers("p(X)", [(5, fact("p", 1))], start=5, at=2)


def test_a_time_point_after_the_last_element_moves_the_end_of_the_timeline() -> None:
    assert answers("[*] @T p(X) and not @8 true and @7 true", [(5, fact("p", 1))], at=7) == [
        {"T": 5, "X": 1}
    ]


def test_nothing_is_asked_of_a_stream_without_time_points() -> None:
    assert answers("true", []) == []
    assert answers("true", [], at=4) == [{}]
    assert answers("true", [], start=4, end=5) == [{"t": 4}, {"t": 5}]


def test_elements_outside_the_timeline_are_not_seen() -> None:
    data = [(1, fact("p", 1)), (5, fact("p", 2)), (9, fact("p", 3))]
    assert answers("some p(X)", data, start=2, end=8, at=6) == [{"X": 2}]

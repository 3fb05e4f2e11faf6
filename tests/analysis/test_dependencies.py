"""The dependency graph, its strata, and the cycle that stands in their way."""

from itertools import pairwise

import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked, Edge
from larspark.analysis.dependencies import evaluation_order, negative_cycle
from larspark.base.atoms import Signature
from larspark.language import parse_program
from larspark.logic.graph import strongly_connected


def checked(text: str) -> Checked:
    program = parse_program(text).program
    assert program is not None
    return check(program)


def shown(edges: tuple[Edge, ...]) -> list[str]:
    return [f"{e.head.predicate} {e.kind} {e.body.predicate} {e.rule}" for e in edges]


def layers(text: str) -> list[str] | None:
    strata = checked(text).strata
    if strata is None:
        return None
    return [" ".join(sorted(signature.predicate for signature in layer)) for layer in strata]


def test_edges_are_positive_negative_or_go_through_a_window() -> None:
    found = checked("a :- p, [5] some q, not r, not [5] some s. b :- a, @T a, always a, a.")
    assert shown(found.edges) == [
        "a positive p 0",
        "a window q 0",
        "a negative r 0",
        "a negative s 0",
        "b positive a 1",
    ]


def test_polarity_flips_with_every_negation_and_left_of_an_implication() -> None:
    found = checked("a :- not not p, (q -> r), not (s -> t), not [2] (u -> v).")
    assert shown(found.edges) == [
        "a positive p 0",
        "a negative q 0",
        "a positive r 0",
        "a positive s 0",
        "a negative t 0",
        "a window u 0",
        "a negative v 0",
    ]


def test_nothing_is_known_about_windows_of_the_users_own() -> None:
    assert shown(checked("a :- [mine(3)] some p, [mine] reset [2] some q.").edges) == [
        "a negative p 0",
        "a window q 0",
    ]


def test_the_left_side_of_an_implication_in_a_head_acts_as_a_body() -> None:
    assert shown(checked("p -> q :- r.").edges) == ["q positive p 0", "q positive r 0"]


def test_the_atoms_of_a_choice_depend_on_each_other_those_of_a_conjunction_do_not() -> None:
    assert shown(checked("a or b. c and d.").edges) == ["a positive b 0", "b positive a 0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b :- a. a :- p.", ["a b"]),
        ("b :- not a. a :- p. c :- b, not a. d :- not c.", ["a", "b c", "d"]),
        ("a :- b. b :- [5] always a. c :- not a.", ["a b", "c"]),
        ("@T+1 a :- [3] @T a, not p.", ["a"]),
        ("a :- not a.", None),
        ("a :- not b. b :- c. c :- [5] some a.", None),
        ("a :- not not a.", ["a"]),
        ("a :- [mine] some a.", None),
        ("a or b. a :- not c. c :- p.", ["c", "a b"]),
        ("a or b. a :- not b.", None),
        ("a and b :- p. a :- not b.", ["b", "a"]),
        (":- not p.", []),
        ("p. q(a).", []),
    ],
)
def test_strata_are_the_fewest_layers(text: str, expected: list[str] | None) -> None:
    assert layers(text) == expected


def test_the_cycle_through_negation_is_named_by_its_edges() -> None:
    found = checked(
        "a :- p, not d. d :- e, c. e :- p. c :- [3] some b. b :- a. x :- not y. y :- x."
    )
    assert shown(negative_cycle(found.edges)) == ["x negative y 5", "y positive x 6"]
    found = checked("a :- p, not d. d :- e, c. e :- p. c :- [3] some b. b :- a.")
    assert shown(negative_cycle(found.edges)) == [
        "a negative d 0",
        "d positive c 1",
        "c window b 3",
        "b positive a 4",
    ]
    assert negative_cycle(checked("a :- not a.").edges)[0].rule == 0
    assert negative_cycle(checked("a :- b. b :- a. c :- not a.").edges) == ()


def test_predicates_are_evaluated_after_what_they_need() -> None:
    found = checked("d :- c. c :- b, a. b :- a. a :- b, p. e :- not d.")
    order = evaluation_order(found.edges, found.derived)
    assert [sorted(p.predicate for p in group) for group in order] == [
        ["a", "b"],
        ["c"],
        ["d"],
        ["e"],
    ]


def test_a_chain_of_twenty_thousand_is_no_trouble() -> None:
    nodes = [Signature(f"p{number}", 0) for number in range(20_000)]
    chain = {node: [following] for node, following in pairwise(nodes)}
    chain[nodes[-1]] = []
    assert [*strongly_connected(chain)] == [frozenset((node,)) for node in reversed(nodes)]
    chain[nodes[-1]] = [nodes[0]]
    assert [*strongly_connected(chain)] == [frozenset(nodes)]

"""Explanations of aggregates: their tuples, and how far they are from their bounds."""

from larspark.analysis.check import check
from larspark.base.atoms import Element, fact
from larspark.feeds.ground_atoms import parse_ground_atom
from larspark.language import parse_program
from larspark.show.explain.explanation import explain
from larspark.show.explain.outline import proof_rows, why_not_rows
from larspark.show.explain.proof_formats import proof_json, tree_lines, why_not_json
from larspark.show.explain.why_not import why_not

PROGRAM = """
busy(M, N) :- N = count of [10] err(M, _) by M, N > 2.
ten(M) :- 10 <= count of [10] err(M, _) by M.
calm :- #count{ M : busy(M, _) } < 1.
low :- #min{ X : [10] some err(m9, X) } < 3.
total(S) :- S = sum of V in [10] err(_, V), S != 7.
"""
STREAM = [Element(t, fact("err", "m1" if t % 5 else "m2", t)) for t in range(13)]


def checked():  # type: ignore[no-untyped-def]
    program = parse_program(PROGRAM, "r").program
    assert program is not None
    return check(program)


def shown(atom: str) -> list[str]:
    goal = parse_ground_atom(atom)
    proof = explain(checked(), goal, 12, STREAM)
    if proof is not None:
        return list(tree_lines(proof_rows(proof), people=False))
    missing = why_not(checked(), goal, 12, STREAM)
    assert missing is not None
    return list(tree_lines(why_not_rows(missing), people=False))


def test_a_proof_names_the_first_tuples_and_how_many_more_there_are() -> None:
    proof = explain(checked(), parse_ground_atom("total(77)"), 12, STREAM)
    assert proof is not None
    (collected,) = [part.collected for part in proof.steps[0].parts if part.collected]
    assert collected.value == 77
    assert collected.tuples[0] == (2, 2, "m1")
    assert (len(collected.tuples), collected.more) == (10, 1)
    assert str(collected).endswith("(11, 11, m1) and 1 more")
    found = proof_json(proof)
    assert found["collected"][0]["value"] == 77
    assert found["collected"][0]["more"] == 1


def test_a_group_is_shown_with_its_values_and_how_long_it_lasts() -> None:
    assert shown("busy(m1,9)") == [
        "busy(m1,9) at 12",
        "│  busy(M, N) :- N = #count{ _T, _X1 : [10] @_T err(M, _X1) } by M, N > 2.   "
        "r:2, M = m1, N = 9",
        "├─ 9 = #count{ _T, _X1 : [10] @_T err(m1, _X1) }   9, from (2, 2), (3, 3), (4, 4), "
        "(6, 6), (7, 7), (8, 8), (9, 9), (11, 11), (12, 12)",
        "└─ 9 > 2",
        "holds until 12 if nothing more arrives",
    ]


def test_what_does_not_hold_says_how_far_it_is_from_its_bound() -> None:
    assert shown("ten(m1)")[-1].endswith(
        "#count is 9 of 10: (2, 2), (3, 3), (4, 4), (6, 6), (7, 7), (8, 8), (9, 9), (11, 11), "
        "(12, 12)"
    )
    assert shown("calm")[-1].endswith("#count is 1, not less than 1: (m1)")
    assert shown("low")[-1].endswith("#min has no value")
    assert shown("ten(m3)")[-1].endswith("#count has no tuple for this group")
    assert "#sum is 77, not 5" in shown("total(5)")[-1]
    missing = why_not(checked(), parse_ground_atom("ten(m1)"), 12, STREAM)
    assert missing is not None
    assert why_not_json(missing)["rules"][0]["missing"][0]["near"].startswith("#count is 9 of 10")

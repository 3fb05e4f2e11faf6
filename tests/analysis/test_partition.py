"""The partition key, and the rules in its way."""

import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.analysis.partition import partition_obstacles
from larspark.base.atoms import Signature
from larspark.language import parse_program


def checked(text: str) -> Checked:
    program = parse_program(text).program
    assert program is not None
    return check(program)


def shown(key: dict[Signature, int] | None) -> str | None:
    return None if key is None else " ".join(f"{p}:{n}" for p, n in key.items())


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("q(X) :- [5] some p(X, Y), not [3] some r(Y, X).", "p/2:0 q/1:0 r/2:1"),
        ("q(Y) :- p(X, Y), r(Y). s(Y) :- q(Y).", "p/2:1 q/1:0 r/1:0 s/1:0"),
        ("q(X, Y) :- p(X, Y).", "p/2:0 q/2:0"),
        ("q(X, Y) :- p(Y, X). r(X, Y) :- q(X, Y).", "p/2:1 q/2:0 r/2:0"),
        ("q(A) :- p(A, A). r(B) :- p(A, B).", "p/2:1 q/1:0 r/1:0"),
        ("q(X) :- p(X). r(Y) :- s(Y).", "p/1:0 q/1:0 r/1:0 s/1:0"),
        # Background data, and what follows from it alone, is everywhere.
        (
            "q(X) :- p(X), line(X, L), slow(L). slow(L) :- old(L). line(a, b). old(b).",
            "p/1:0 q/1:0",
        ),
        ("q(X) :- p(X). q(X) :- line(X). q(a). line(b).", "p/1:0 q/1:0"),
        ("q(X) :- p(X). :- q(X), r(X).", "p/1:0 q/1:0 r/1:0"),
        ("a(X) :- p(X), not b(X). b(X) :- p(X), not a(X).", "a/1:0 b/1:0 p/1:0"),
        # Tuples are counted inside the key's own group.
        ("q(X) :- [#3 by X] some p(X, Y).", "p/2:0 q/1:0"),
        ("q(X, Y) :- [#3 by Y, X] @T p(X, Y).", "p/2:0 q/2:0"),
        ("q(X, Y) :- [#3 by Y] some p(X, Y).", "p/2:1 q/2:1"),
        ("q(X) :- [only p(X, _), r(X)] [#3] some p(X, _).", "p/2:0 q/1:0 r/1:0"),
        ("q(X) :- [60] always reset [5] some p(X).", "p/1:0 q/1:0"),
    ],
)
def test_a_key_is_an_argument_on_which_all_rules_join(text: str, key: str) -> None:
    found = checked(text)
    assert shown(found.partition_key) == key
    assert partition_obstacles(found) == []


@pytest.mark.parametrize(
    ("text", "obstacles"),
    [
        (
            "r(X) :- p(X). q(X) :- p(X), r(Y).",
            [(1, "no variable is an argument of all of `q(X)`, `p(X)`, `r(Y)`")],
        ),
        (
            "q(X) :- p(X), r(a).",
            [(0, "no variable is an argument of all of `q(X)`, `p(X)`, `r(a)`")],
        ),
        (
            "q(X) :- p(X), r(_).",
            [(0, "no variable is an argument of all of `q(X)`, `p(X)`, `r(_)`")],
        ),
        (
            "q(X) :- p(X), r(Y), X = Y.",
            [(0, "no variable is an argument of all of `q(X)`, `p(X)`, `r(Y)`")],
        ),
        ("q(a) :- p(X).", [(0, "no variable is an argument of all of `q(a)`, `p(X)`")]),
        (":- p(a).", [(0, "`p(a)` has no variable as an argument")]),
        ("alarm :- p(X).", [(0, "`alarm` has no argument")]),
        (
            "q(X) :- [#3] some p(X).",
            [(0, "a tuple window without `by` counts the tuples of all values together")],
        ),
        (
            "q(X) :- [only p(_)] [#3] some p(X).",
            [(0, "no variable is an argument of all of `q(X)`, `p(X)`, `p(_)`")],
        ),
        (
            "q(X) :- [only p(X)] some reset [#3] some p(X).",
            [(0, "a tuple window without `by` counts the tuples of all values together")],
        ),
        ("q(X) :- [#3 by Y] some p(X, Y).", [(0, "its tuple windows count by something else")]),
        (
            "q(X) :- [#3 by X] always p(X).",
            [(0, "the time that a window with `by` covers depends on the tuples of all values")],
        ),
        (
            "q(X) :- [mine] some p(X).",
            [(0, "what the window `mine` sees of other values is not known")],
        ),
        ("a(X) or b :- p(X).", [(0, "`b` has no argument")]),
        ("a or b.", [(0, "`a` has no argument")]),
        (
            "q(X, Y) :- p(X, Y). r(X) :- q(X, _). s(Y) :- q(_, Y). t(X) :- s(X).",
            [(2, "other rules divide `q/2` by argument 1; that does not join `s(Y)`, `q(_,Y)`")],
        ),
        (
            "q(X, Y) :- p(X, Y). q(X, Y) :- p(Y, X).",
            [
                (
                    1,
                    "other rules divide `p/2` by argument 1, `q/2` by argument 1; "
                    "that does not join `q(X,Y)`, `p(Y,X)`",
                )
            ],
        ),
    ],
)
def test_the_rule_in_the_way_of_a_key_is_named_with_the_reason(
    text: str, obstacles: list[tuple[int, str]]
) -> None:
    found = checked(text)
    assert found.partition_key is None
    assert partition_obstacles(found) == obstacles


def test_a_program_without_stream_atoms_has_nothing_to_cut_and_nothing_in_the_way() -> None:
    found = checked("q(X) :- line(X). line(a).")
    assert found.partition_key is None
    assert partition_obstacles(found) == []

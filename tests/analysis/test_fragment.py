"""How much of LARS a program uses, and how many answer streams it can have."""

import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked, Fragment
from larspark.language import parse_program


def checked(text: str) -> Checked:
    program = parse_program(text).program
    assert program is not None
    return check(program)


@pytest.mark.parametrize(
    ("text", "fragment", "several_models"),
    [
        ("q(X) :- [3] some a(X), [#3] @T b(X), c(X), @T d, X < 3.", Fragment.POSITIVE, False),
        ("@T+1 q :- [60 every 15] always p, @T r.", Fragment.POSITIVE, False),
        ("p(a). @3 q(b).", Fragment.POSITIVE, False),
        ("q :- p, not [5] always r.", Fragment.STRATIFIED, False),
        ("a :- p, not b. b :- p, not a.", Fragment.PLAIN, True),
        ("a or @T b :- @T c.", Fragment.PLAIN, True),
        ("q :- p. :- q.", Fragment.PLAIN, True),
        ("q :- some p.", Fragment.FULL, False),
        ("q :- [3] p.", Fragment.FULL, False),
        ("q :- [3] some (p and r).", Fragment.FULL, False),
        ("q :- [9] always reset [3] some p.", Fragment.FULL, False),
        ("q :- not not p.", Fragment.FULL, False),
        ("a and @T b :- @T c.", Fragment.FULL, False),
        ("[+5] always a :- c.", Fragment.FULL, False),
        ("some a :- c.", Fragment.FULL, True),
        ("a -> b :- c.", Fragment.FULL, True),
        ("not a :- c.", Fragment.FULL, True),
        ("[mine] a :- c.", Fragment.FULL, True),
        ("X > 3 :- p(X).", Fragment.FULL, True),
    ],
)
def test_a_program_is_in_the_smallest_fragment(
    text: str, fragment: Fragment, several_models: bool
) -> None:
    found = checked(text)
    assert (found.fragment, found.several_models) == (fragment, several_models)


@pytest.mark.parametrize(
    ("text", "nested"),
    [
        ("q :- [3] some p, [5] some r.", False),
        ("q :- [only p] [#1] some p.", True),
        ("q :- [9] always reset [3] some p.", True),
        ("q :- [9] always (p and not [3] some r).", True),
        ("[+5] always [3] some q :- p.", True),
    ],
)
def test_windows_nest_when_one_is_below_another(text: str, nested: bool) -> None:
    assert checked(text).nested_windows is nested

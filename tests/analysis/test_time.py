"""How far a program looks back, and how far it points ahead."""

import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked, Lookback
from larspark.language import parse_program


def checked(text: str) -> Checked:
    program = parse_program(text).program
    assert program is not None
    return check(program)


@pytest.mark.parametrize(
    ("text", "time", "tuples"),
    [
        ("q :- p.", 0, 0),
        ("q :- [5] some p, [3] always r.", 5, 0),
        ("q :- not [7] some p.", 7, 0),
        ("q :- [+5] some p.", 0, 0),
        ("q :- [60 every 15] some p.", 74, 0),
        ("q :- [*] some p.", None, 0),
        ("q :- some p.", None, 0),
        ("q :- always p.", None, 0),
        ("q :- @17 p.", None, 0),
        ("q :- @T p.", None, 0),
        ("q(T) :- p(T).", 0, 0),
        ("q :- [#3] some p.", 0, 3),
        ("q :- [#3] some p, [5] some r.", 5, 3),
        ("q :- [#3] @T p.", 0, 3),
        ("q :- [#3] @T-2 p.", 0, 3),
        ("q :- [#3] @T+2 p.", None, 3),
        ("q :- [#3] @T p, [4] @T r.", 4, 0),
        ("q :- [5] [#3] some p.", 5, 0),
        ("q :- [#3] [5] some p.", 5, 0),
        ("q :- [9] always reset [#3] some p.", 9, 3),
        ("q :- [#2] some reset [#3] some p.", 0, 5),
        ("q :- [#2] some reset [3] some p.", None, 0),
        ("q(X) :- [#1 by X] some p(X).", 0, None),
        ("q(X) :- [5] [#1 by X] some p(X).", 5, 0),
        ("q(X) :- [#1 by X] [5] some p(X).", 5, 0),
        ("q(X) :- [only p(_)] [#2] some p(X).", 0, None),
        ("q :- [9] always reset [5] some p.", 14, 0),
        ("q :- [9] always [5] some p.", 9, 0),
        ("q :- [6 every 3] [5] some p.", 8, 0),
        ("q :- [mine(3)] [2] some p.", None, 0),
        ("q :- [4] [mine(3)] [2] some p.", 4, 0),
        ("q :- p(X), line(X). line(a).", 0, 0),
    ],
)
def test_a_rule_looks_as_far_back_as_its_windows(
    text: str, time: int | None, tuples: int | None
) -> None:
    assert checked(text).lookback == Lookback(time, tuples)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        # What a plain head derived earlier is forgotten, so windows over it do not add up.
        ("q :- [5] some p. r :- [3] some q.", 5),
        # Only the output at the evaluation time counts, and what leads to it.
        ("@T high :- @T alpha(V), V >= 18. lfu :- [20] always high.", 20),
        ("@T high :- @T alpha(V), V >= 18.", 0),
        ("@T-3 q :- @T p. r :- [5] some q.", 5),
        ("@T-3 q :- @T p. r :- some q.", None),
        ("@T-3 q :- [4] @T p. r :- some q.", 7),
        ("@T+3 q :- @T p. r :- [5] some q.", 8),
        ("@T q :- [9] @T p. #show r/0. r :- s.", 0),
        ("@T+1 q :- @T q, not p. @T q :- [3] @T s.", 3),
        ("@T+1 q :- [6] @T q, @T p. @T q :- [3] @T s.", 3),
        # Time variables carry bounds from one body element to the others.
        ("q :- [9] @T p, @T r.", 9),
        ("q :- [9] @T p, @T+2 r.", 9),
        ("q :- [9] @T p, @T-2 r.", 11),
        ("q :- [9] @T p, @U r, U >= T - 1.", 10),
        ("q :- [9] @T p, @U r, T <= U.", 9),
        ("q :- [9] @T p, @U r, U <= T.", None),
        ("q :- [9] @T p, U = T - 4, @U r.", 13),
        ("q :- [9] @T p, U = T * 2, @U r.", None),
        ("q :- [9] @T p, not @T r.", 9),
        ("q :- [9] @T p, (@T r or s).", 9),
        ("q :- [9] @T p or @T r.", None),
        # Time variables range over the timeline, so it must reach back to them.
        ("q :- [5] @T+9 p.", 14),
        ("q :- [5] @T-9 p.", 5),
        ("q :- p(T), not [3] @T r.", None),
        ("q :- p(T), [3] @T r.", 3),
        # Tuples that are counted forwards are counted from where the window is applied.
        ("@T q :- [3] always reset [#+1] @T p.", 3),
        ("@T q :- [3] always reset [#1] @T p.", 0),
        # Absence can be due to the start of the timeline.
        ("q :- p. r :- always q.", None),
        ("q :- p. r :- some q.", 0),
        ("q :- p. r :- [4] some not q.", 4),
        # Constraints count, and what could influence a choice counts everywhere.
        ("q :- p. :- [8] some p.", 8),
        ("@T q :- [8] @T p. :- q.", 0),
        ("@T a :- [8] @T p, not @T b. @T b :- [8] @T p, not @T a.", 8),
        # Remembered atoms were derived by earlier evaluations, so here windows add up.
        ("#remember q/0. q :- [5] some p. r :- [10] some q.", 15),
        ("#remember q/0. q :- [5] some p. r :- q.", 5),
        ("#remember q/0. q :- [5] some p. r :- [10] some q. s :- [2] some r.", 15),
        ("#remember q/0, r/0. q :- [5] some p. r :- [10] some q. s :- [2] some r.", 17),
        ("#remember q/0. a :- [5] some p. q :- a. r :- [10] some q.", 15),
        ("#remember q/0. q :- p. q :- [1] some q.", None),
    ],
)
def test_lookback_follows_what_the_output_needs(text: str, time: int | None) -> None:
    assert checked(text).lookback == Lookback(time, 0)


@pytest.mark.parametrize(
    ("text", "future", "endless"),
    [
        ("q :- p.", 0, False),
        ("@T q :- [5] @T p.", 0, False),
        ("@T-3 q :- @T p.", 0, False),
        ("@T+3 q :- [5] @T p.", 3, False),
        ("@T q :- @T-3 p.", 3, False),
        ("@U q :- @T p, U = T + 3.", 3, False),
        ("@T+3 q :- @T p. @T+2 r :- @T q.", 5, False),
        ("@T+3 q :- @T p. @T+2 r :- [1] @T q.", 3, False),
        ("@T+3 q :- @T p. @T+2 r :- [+1] @T q.", 3, False),
        ("@T+3 q :- @T p. r :- [+9] some q.", 3, False),
        ("@T q :- @T [5] some p.", 0, False),
        ("@T q :- @T line(X). line(a).", 0, False),
        ("@T q :- @T line(X). line(a). @T+1 r :- @T p.", None, True),
        ("@T+D q :- @T p(D).", None, False),
        ("@T q :- p(T).", None, False),
        ("@17 q :- p.", None, False),
        ("q :- p. @17 q.", None, False),
        ("@T+1 q :- @T q. q :- p.", None, True),
        ("@T+1 q :- @T q.", 0, False),
        ("@T+1 q :- [2] @T q. q :- p.", 1, False),
        ("@T+1 q :- [+900] @T q. q :- p.", 901, False),
        ("@T-1 q :- @T q. q :- p.", 0, False),
        ("@T+2 q :- @T r. @T-2 r :- @T q. r :- p.", 2, False),
        ("@T+3 q :- @T r. @T-2 r :- @T q. r :- p.", None, True),
        ("@T+D q(Y) :- @T q(X), delay(X, Y, D). q(X) :- p(X). delay(a, b, 3).", None, True),
        ("@T+1 q :- @T q, times(T). q :- p. times(7).", None, False),
        ("@T+1 q(X) :- @T q(X), @T p(X).", 0, False),
        ("[+4] always q :- p.", 4, False),
        ("always q :- p.", 0, False),
        ("a and @T+2 b :- @T p.", 2, False),
        ("a or @T+2 b :- @T p.", 2, False),
        ("#remember q/0. @T+1 q :- [3] @T q. q :- p.", 1, False),
    ],
)
def test_atoms_are_placed_so_far_ahead(text: str, future: int | None, endless: bool) -> None:
    found = checked(text)
    assert (found.future_reach, found.endless) == (future, endless)

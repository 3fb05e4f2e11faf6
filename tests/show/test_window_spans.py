"""What a picture says that windows cover is what the definitions say."""

from hypothesis import assume, given
from hypothesis import strategies as st

import larspark as lp
from larspark.base.atoms import Atom
from larspark.language import parse_program
from larspark.show.timeline.picture import window_spans

WINDOWS = (
    "[0]",
    "[3]",
    "[*]",
    "[2,+1]",
    "[4 every 3]",
    "[3,+1 every 2]",
    "[#1]",
    "[#3]",
    "[#1 by X]",
    "[#2 by X]",
    "[only p(a)]",
    "[only p(a)] [#1]",
    "[5] [#2]",
)


@given(
    st.sampled_from(WINDOWS),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=1, max_size=8),
    st.integers(0, 9),
)
def test_a_window_covers_the_time_points_at_which_truth_holds_in_it(
    window: str, facts: list[tuple[int, str]], at: int
) -> None:
    elements = sorted((t, Atom("p", (name,))) for t, name in facts)
    known = [(t, atom) for t, atom in elements if t <= at]
    # Without a fact there is no group to ask for.
    assume(known or "by" not in window)
    program = parse_program(f"q :- {window} some p(X).").program
    assert program is not None
    (span,) = window_spans(program.rules, known, (0, at), at)
    covered = [t for t in range(at + 1) if covers(window, t, known, at)]
    assert span.text == window
    assert span.end is not None
    assert covered == list(range(span.start, span.end + 1))


def covers(window: str, t: int, known: list[tuple[int, Atom]], at: int) -> bool:
    """Does truth hold at t in the window?"""
    # The groups of a window are those of the atoms below it.
    body = f"(@{t} true and some p(X))" if "by" in window else f"@{t} true"
    stream = lp.Stream.of([(0, None), *known, (at, None)])
    return bool(lp.query(f"{window} {body}", stream, at=at, start=0, until=at))

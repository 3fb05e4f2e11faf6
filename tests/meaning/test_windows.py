"""Window functions against Definitions 3 to 6, which are written out here once more, naively."""

import random
from collections.abc import Iterator

import pytest

from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError
from larspark.language.windows import (
    FilterWindow,
    GroupWindow,
    NamedWindow,
    SessionWindow,
    TimeWindow,
    TupleWindow,
)
from larspark.meaning.streams import Stream, Universe
from larspark.meaning.window_functions import apply_window, register_window

ATOMS = [Atom("p", (1,)), Atom("p", (2,)), Atom("q", (1,)), Atom("r")]
LAST = 9

# A stream by the book: a timeline, and its elements in arrival order.
Plain = tuple[range, list[Element]]


def seeded(seed: int) -> random.Random:
    return random.Random(seed)


def plain(stream: Stream) -> Plain:
    end = stream.start - 1 if stream.end is None else stream.end
    return range(stream.start, end + 1), list(stream.elements())


def size(elements: list[Element], points: range) -> int:
    return sum(element.t in points for element in elements)


def time_window(window: TimeWindow, timeline: range, elements: list[Element], t: int) -> Plain:
    pivot = t // window.every * window.every
    past = len(timeline) + LAST if window.past is None else window.past
    future = len(timeline) + LAST if window.future is None else window.future
    inside = range(max(timeline[0], pivot - past), min(pivot + future, timeline[-1]) + 1)
    return inside, [element for element in elements if element.t in inside]


def tuple_window(
    past: int, future: int, timeline: range, elements: list[Element], t: int
) -> tuple[int, int, list[Element]]:
    low, high = timeline[0], timeline[-1]
    start = max({low} | {u for u in timeline if u <= t and size(elements, range(u, t + 1)) >= past})
    end = min(
        {high} | {u for u in timeline if u >= t and size(elements, range(t + 1, u + 1)) >= future}
    )
    kept = [element for element in elements if start <= element.t <= end]
    # Too many at the first time point: those that came first go. Too many at the last: the others.
    while size(kept, range(start, t + 1)) > past:
        kept.remove(next(element for element in kept if element.t == start))
    while size(kept, range(t + 1, end + 1)) > future:
        kept.reverse()
        kept.remove(next(element for element in kept if element.t == end))
        kept.reverse()
    return start, end, kept


def group_window(window: GroupWindow, timeline: range, elements: list[Element], t: int) -> Plain:
    def group(element: Element) -> tuple[object, ...] | None:
        positions = dict(window.positions).get(element.atom.signature)
        if positions is None:
            return None
        return element.atom.signature, *(element.atom.args[i] for i in positions)

    each = window.each
    assert isinstance(each, TupleWindow)
    windows = [(t, t, [])] + [
        tuple_window(each.past, each.future, timeline, [e for e in elements if group(e) == key], t)
        for key in {group(element) for element in elements} - {None}
    ]
    inside = range(min(low for low, _, _ in windows), max(high for _, high, _ in windows) + 1)
    return inside, [e for e in elements if any(e in kept for _, _, kept in windows)]


def session_window(
    window: SessionWindow, timeline: range, elements: list[Element], t: int
) -> Plain:
    """The window by what is said of every time point: does a session cover it, which elements?"""
    times = sorted({element.t for element in elements if element.t <= t})
    begins = [u for n, u in enumerate(times) if n == 0 or u - times[n - 1] > window.gap]
    if window.longest is not None:
        # Between two gaps a session begins as soon as the one before has reached its length.
        for u in times:
            latest = max(begin for begin in begins if begin <= u)
            if u > latest + window.longest:
                begins.append(u)
    for begin in sorted(begins):
        following = min((other for other in begins if other > begin), default=t + 1)
        members = [e for e in elements if begin <= e.t < following and e.t <= t]
        over = max(e.t for e in members) + window.gap
        if window.longest is not None:
            over = min(over, begin + window.longest)
        if t == over + 1 if window.ended else begin <= t <= over:
            return range(begin, t + 1), members
    return range(t, t + 1), []


def random_streams() -> Iterator[tuple[random.Random, Stream]]:
    for seed in range(3000):
        rng = seeded(seed)
        arrived = [(rng.randrange(LAST + 1), rng.choice(ATOMS)) for _ in range(rng.randrange(12))]
        yield rng, Universe(arrived).whole(rng.randrange(4), rng.randrange(5, LAST + 1))


def assert_same(window: Stream, expected: Plain) -> None:
    timeline, elements = plain(window)
    assert list(timeline) == list(expected[0])
    assert elements == sorted(expected[1], key=lambda element: element.t)


def test_time_windows_follow_definition_3() -> None:
    for rng, stream in random_streams():
        past, future = rng.choice([None, 0, 1, 2, 5]), rng.choice([None, 0, 1, 2, 3])
        window = TimeWindow(past, future, rng.randrange(1, 4))
        t = rng.randrange(LAST + 3)
        expected = plain(stream)
        if t in expected[0]:
            expected = time_window(window, *expected, t)
        assert_same(apply_window(window, stream, t), expected)


def test_tuple_windows_follow_definition_4() -> None:
    for rng, stream in random_streams():
        past, future = rng.randrange(5), rng.randrange(4)
        t = rng.randrange(LAST + 3)
        expected = plain(stream)
        if t in expected[0]:
            start, end, kept = tuple_window(past, future, *expected, t)
            expected = range(start, end + 1), kept
        assert_same(apply_window(TupleWindow(past, future), stream, t), expected)


def test_session_windows_follow_their_definition() -> None:
    for rng, stream in random_streams():
        longest = rng.choice([None, None, 0, 1, 2, 4])
        window = SessionWindow(rng.randrange(4), longest, rng.random() < 0.5)
        t = rng.randrange(LAST + 3)
        expected = plain(stream)
        if t in expected[0]:
            expected = session_window(window, *expected, t)
        assert_same(apply_window(window, stream, t), expected)


def test_a_session_reaches_to_now_until_its_gap_is_exceeded() -> None:
    stream = Universe([(t, ATOMS[0]) for t in (0, 1, 5, 7)]).whole(0, 20)
    session = [apply_window(SessionWindow(2), stream, t) for t in range(12)]
    assert [(s.start, s.end) for s in session[:8]] == [
        *((0, 0), (0, 1), (0, 2), (0, 3), (4, 4), (5, 5), (5, 6), (5, 7))
    ]
    assert [len(s.elements()) for s in session] == [1, 2, 2, 2, 0, 1, 1, 2, 2, 2, 0, 0]
    ended = [apply_window(SessionWindow(2, ended=True), stream, t) for t in range(12)]
    assert {t: len(s.elements()) for t, s in enumerate(ended) if s.elements()} == {4: 2, 10: 2}


def test_a_session_that_has_reached_its_length_is_followed_by_another_one() -> None:
    stream = Universe([(t, ATOMS[0]) for t in range(8)]).whole(0, 20)
    starts = [apply_window(SessionWindow(5, 2), stream, t).start for t in range(8)]
    assert starts == [0, 0, 0, 3, 3, 3, 6, 6]
    ended = [apply_window(SessionWindow(5, 2, True), stream, t) for t in range(14)]
    assert {t: s.start for t, s in enumerate(ended) if s.elements()} == {3: 0, 6: 3, 9: 6}


def test_partition_windows_follow_definition_5() -> None:
    keys = ((Signature("p", 1), (0,)), (Signature("q", 1), (0,)))
    for rng, stream in random_streams():
        each = TupleWindow(rng.randrange(4), rng.randrange(3))
        window = GroupWindow(each, keys[: rng.randrange(3)])
        t = rng.randrange(LAST + 3)
        expected = plain(stream)
        if t in expected[0]:
            expected = group_window(window, *expected, t)
        assert_same(apply_window(window, stream, t), expected)


def test_filter_windows_follow_definition_6() -> None:
    for rng, stream in random_streams():
        patterns = tuple(rng.sample(ATOMS, 2))
        timeline, elements = plain(stream)
        expected = timeline, [element for element in elements if element.atom in patterns]
        assert_same(apply_window(FilterWindow(patterns), stream, rng.randrange(12)), expected)


def test_tuple_windows_never_hold_what_did_not_arrive() -> None:
    universe = Universe([(1, Atom("p"))])
    universe.add(2, Atom("derived"))
    window = apply_window(TupleWindow(2), universe.whole(0, 3), 3)
    assert [str(element.atom) for element in window.elements()] == ["p"]
    assert (window.start, window.end) == (0, 3)


def test_a_window_on_an_open_timeline_stays_open_only_when_it_must() -> None:
    stream = Universe([(4, Atom("p"))]).whole(0, None)
    assert apply_window(TimeWindow(2, 1), stream, 5).end == 6
    assert apply_window(TupleWindow(1, 0), stream, 5).end == 5
    assert apply_window(TupleWindow(1, 1), stream, 5).end is None
    assert apply_window(FilterWindow((Atom("p"),)), stream, 5).end is None


def test_the_same_element_twice_counts_once_at_its_first_arrival() -> None:
    stream = Universe([(1, Atom("p")), (1, Atom("q")), (1, Atom("p"))]).whole(0, 2)
    last = apply_window(TupleWindow(1), stream, 2)
    assert [str(element.atom) for element in last.elements()] == ["q"]


def test_a_user_window_is_called_with_its_arguments() -> None:
    register_window("first_half", lambda stream, t, size: stream.during(stream.start, size))
    stream = Universe([(1, Atom("p")), (8, Atom("q"))]).whole(0, 9)
    window = apply_window(NamedWindow("first_half", (5,)), stream, 7)
    assert_same(window, (range(6), [Element(1, Atom("p"))]))


def _widened(stream: Stream, t: int) -> Stream:
    return Stream(stream.universe, stream.start, LAST + 5, stream.bits)


def _with_more(stream: Stream, t: int) -> Stream:
    return stream.universe.whole(stream.start, stream.end)


@pytest.mark.parametrize(
    "function", [_widened, _with_more, lambda stream, t: None, lambda stream, t: [stream]]
)
def test_a_user_window_that_gives_no_substream_is_refused(function: object) -> None:
    register_window("bad", function)
    stream = (
        Universe([(1, Atom("p")), (2, Atom("q"))]).whole(0, 9).only(lambda element: element.t == 1)
    )
    with pytest.raises(LarsparkError) as caught:
        apply_window(NamedWindow("bad"), stream, 3)
    assert str(caught.value) == (
        "error L258: the window function `bad` gave no substream of its input at 3\n"
        "  hint: build the result with the stream's `during` and `only`"
    )


def test_an_error_in_a_user_window_is_told_with_its_name() -> None:
    register_window("broken", lambda stream, t: 1 / 0)
    with pytest.raises(LarsparkError, match="L259: the window function `broken` raised Zero"):
        apply_window(NamedWindow("broken"), Universe([]).whole(0, 1), 0)


def test_an_unknown_window_is_told_with_the_known_ones() -> None:
    with pytest.raises(LarsparkError, match="L257: there is no window function `no_such`"):
        apply_window(NamedWindow("no_such"), Universe([]).whole(0, 1), 0)


def test_a_user_window_needs_an_end_of_the_timeline() -> None:
    register_window("same", lambda stream, t: stream)
    with pytest.raises(LarsparkError, match="L260"):
        apply_window(NamedWindow("same"), Universe([]).whole(0, None), 0)

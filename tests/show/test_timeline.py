"""Timelines in the terminal and as pictures."""

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from larspark.base.atoms import Atom, fact
from larspark.feeds.time_format import TimeFormat
from larspark.show.explain.proof import WindowSpan
from larspark.show.timeline.lanes import merge
from larspark.show.timeline.timeline_svg import timeline_svg
from larspark.show.timeline.timeline_text import Timeline, timeline, timeline_lines

HOT, COLD, ALARM = Atom("hot", ("m3",)), Atom("cold", ("m3",)), Atom("alarm", ("m3",))


def lines(shown: Timeline, width: int = 60) -> list[str]:
    return list(timeline_lines(shown, width, people=False))


def test_facts_are_dots_and_conclusions_are_bars() -> None:
    shown = timeline(
        [(10, HOT), (11, HOT), (12, HOT), (14, COLD)],
        [(ALARM, 12, 14), (ALARM, 17, 18)],
        end=19,
        windows=[WindowSpan("[3] at 14", 11, 14)],
    )
    assert lines(shown, 29) == [
        "          10   15 19",
        "hot(m3)   •••",
        "cold(m3)      •",
        "alarm(m3)   ━━━  ━━",
        "[3] at 14  ░░░░",
    ]


def test_a_long_stream_is_put_into_columns() -> None:
    shown = timeline([(0, HOT), (999, HOT)], [(ALARM, 0, 99), (ALARM, 105, 106)])
    axis, dots, bars, note = lines(shown, 60)
    assert axis.endswith("999")
    assert dots.count("•") == 2
    assert "━" in bars
    assert "╍" in bars
    assert note.endswith("one column is 20 time points")


def test_many_atoms_share_the_row_of_their_predicate() -> None:
    shown = timeline([(t, Atom("p", (t,))) for t in range(100)])
    assert [lane.label for lane in shown.lanes] == ["p/1 (100)"]
    assert shown.lanes[0].intervals == ((0, 99),)


def test_before_that_atoms_with_the_same_first_argument_share_a_row() -> None:
    shown = timeline([(t, Atom("temp", (f"m{t % 3}", t))) for t in range(30)])
    assert [lane.label for lane in shown.lanes] == ["temp(m0,…)", "temp(m1,…)", "temp(m2,…)"]


def test_the_largest_predicate_is_put_together_first() -> None:
    shown = timeline([(t, Atom("temp", (t,))) for t in range(30)], [(HOT, 3, 5), (COLD, 6, 9)])
    assert [lane.label for lane in shown.lanes] == ["temp/1 (30)", "hot(m3)", "cold(m3)"]


def test_a_short_timeline_takes_the_room_there_is() -> None:
    shown = timeline([(1, HOT)], [(ALARM, 2, 3)], end=3)
    assert lines(shown, 30) == [
        "          1     2     3",
        "hot(m3)   •",
        "alarm(m3)       ━━━━━━━━━━━━",
    ]


def test_timestamps_are_shown_as_clock_times() -> None:
    minute = 60_000_000
    first = 22_619_820  # 2013-01-03 05:00 UTC
    shown = timeline([(first, HOT), (first + 59, HOT)], times=TimeFormat(minute))
    assert lines(shown, 70)[0].split() == [
        *("05:00", "05:15", "05:30", "05:45"),
        "05:59",
    ]
    covered = "2013-01-03 05:00 UTC to 2013-01-03 05:59 UTC"
    assert covered in timeline_svg(shown)
    assert lines(shown, 70)[-1].strip() == covered
    # A tick alone is no reason: small time points count from a beginning of their own.
    assert (
        lines(timeline([(0, HOT), (9, HOT)], times=TimeFormat(minute, applies=lambda: False)), 30)[
            0
        ].split()[0]
        == "0"
    )


def test_too_many_predicates_are_counted() -> None:
    shown = timeline([(1, Atom(f"p{n}")) for n in range(40)], most_rows=10)
    assert len(shown.lanes) == 10
    assert shown.lanes[-1].label == "… 31 more"


def test_only_the_part_asked_for_is_shown() -> None:
    shown = timeline([(1, HOT), (9, COLD)], [(ALARM, 0, 100)], start=5, end=20)
    assert [lane.label for lane in shown.lanes] == ["cold(m3)", "alarm(m3)"]
    assert shown.lanes[1].intervals == ((5, 20),)


def test_an_empty_timeline_has_an_axis() -> None:
    assert lines(timeline([])) == [" 0"]
    ElementTree.fromstring(timeline_svg(timeline([])))  # noqa: S314 - it is our own


@given(
    st.lists(st.tuples(st.integers(-50, 500), st.integers(0, 200)), max_size=20),
    st.lists(st.integers(-50, 500), max_size=20),
    st.integers(24, 200),
)
def test_no_line_is_wider_than_asked_for(
    bars: list[tuple[int, int]], dots: list[int], width: int
) -> None:
    shown = timeline(
        [(t, Atom("a_rather_long_name_of_a_fact", (t % 3,))) for t in dots],
        [(ALARM, begin, begin + length) for begin, length in bars],
        windows=[WindowSpan("[5]", 0, 5)],
    )
    for line in lines(shown, width):
        assert len(line) <= max(width, 60)
    ElementTree.fromstring(timeline_svg(shown))  # noqa: S314 - it is our own


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 10))))
def test_merged_intervals_cover_the_same_time_points(spans: list[tuple[int, int]]) -> None:
    intervals = [(begin, begin + length) for begin, length in spans]
    merged = merge(intervals)
    points = {t for begin, end in intervals for t in range(begin, end + 1)}
    assert {t for begin, end in merged for t in range(begin, end + 1)} == points
    assert all(one[1] + 1 < other[0] for one, other in pairwise(merged))


def test_no_name_becomes_markup_in_a_timeline() -> None:
    evil = Atom("p", ("</text><script>alert(1)</script>[red]\x1b[2J",))
    shown = timeline([(1, evil)], [(evil, 2, 3)], windows=[WindowSpan("<b>", 1, 2)])
    root = ElementTree.fromstring(timeline_svg(shown))  # noqa: S314 - it is our own
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "rect", "text", "line", "circle"}
    coloured = [Text.from_markup(line).plain for line in timeline_lines(shown, 100, people=True)]
    assert [line.rstrip() for line in coloured] == lines(shown, 100)
    assert "\x1b" not in "".join(coloured)


def test_a_number_that_is_one_at_a_time_is_drawn_as_a_curve() -> None:
    counts = [
        (fact("n", "a", 1), 1, 2),
        (fact("n", "a", 3), 3, 4),
        (fact("n", "b", 2), 2, 3),
        (fact("n", "b", 4), 5, 5),
    ]
    shown = timeline([], counts)
    assert [(lane.label, lane.curve) for lane in shown.lanes] == [
        ("n(a,1..3)", ((1, 2, 1), (3, 4, 3))),
        ("n(b,2..4)", ((2, 3, 2), (5, 5, 4))),
    ]
    assert list(timeline_lines(shown, 30, people=False))[1:] == [
        f"n(a,1..3) {'▁' * 8}{'█' * 8}",
        f"n(b,2..4) {' ' * 4}{'▁' * 8}{' ' * 4}{'█' * 4}",
    ]
    svg = timeline_svg(shown)
    assert svg.count("<path") == 2
    assert svg.count("<rect") == 1  # the background


def test_numbers_that_hold_together_and_facts_are_no_curves() -> None:
    both = [(fact("n", 1), 1, 2), (fact("n", 3), 2, 4)]
    assert not any(lane.curve for lane in timeline([], both).lanes)
    readings = [(1, fact("n", 1)), (2, fact("n", 3))]
    assert not any(lane.curve for lane in timeline(readings).lanes)


def test_curves_without_room_become_shared_rows() -> None:
    counts = [(fact("n", f"m{m}", t), t, t) for m in range(9) for t in (1, 2)]
    assert [lane.label for lane in timeline([], counts, most_rows=4).lanes] == ["n/2 (18)"]

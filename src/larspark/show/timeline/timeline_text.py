"""The layout of a timeline, and its text form: dots for facts, bars or curves for the rest."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.markup import escape

from larspark.base.atoms import Atom
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.show.explain.proof import WindowSpan
from larspark.show.terminal import printable
from larspark.show.time_text import Axis
from larspark.show.timeline.lanes import Lane, Origin, lay_out, spans_within

# With more atoms than this a row stands for several of them.
MOST_ROWS = 24
# A short timeline is drawn with so many columns for a time point, where they fit.
_WIDEST_POINT = 6
_LABEL_WIDTH = 28
_SMALLEST_WIDTH = 20
# A number from the smallest to the largest of its row.
_HEIGHTS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes over the time points from `start` to `end`, perhaps with windows below them.

    `times` says how time points are written.
    """

    start: int
    end: int
    lanes: tuple[Lane, ...]
    windows: tuple[WindowSpan, ...] = ()
    times: TimeFormat = field(default=POINTS, compare=False)


def timeline(
    elements: Iterable[tuple[int, Atom]],
    intervals: Iterable[tuple[Atom, int, int]] = (),
    *,
    start: int | None = None,
    end: int | None = None,
    windows: Sequence[WindowSpan] = (),
    times: TimeFormat = POINTS,
    most_rows: int = MOST_ROWS,
) -> Timeline:
    """Lay out facts and the intervals of derived atoms, as `run --as intervals` gives them.

    Without `start` and `end` the timeline covers everything. Facts come first, then what is
    derived; predicates, and the atoms of each, are in the order of their first time points. When
    there are more atoms than rows, several share one.
    """
    facts = [(atom, t, t) for t, atom in elements]
    derived = list(intervals)
    covered = [t for _, begin, stop in (*facts, *derived) for t in (begin, stop)]
    first = min(covered, default=0) if start is None else start
    last = max(covered, default=first) if end is None else end
    groups = (
        (Origin.FACT, spans_within(facts, first, last)),
        (Origin.DERIVED, spans_within(derived, first, last)),
    )
    lanes = lay_out(groups, most_rows)
    return Timeline(first, max(first, last), tuple(lanes), tuple(windows), times)


def timeline_lines(shown: Timeline, width: int, people: bool) -> Iterator[str]:
    """The timeline as lines of at most this width; for people with Rich's markup.

    A time point has one column or a few; when there are more time points than columns, a column
    stands for equally many. Where a derived atom holds at only some of them, its bar is broken.

    >>> p, q = Atom("p"), Atom("q")
    >>> shown = timeline([(1, p), (4, p)], [(q, 1, 3), (q, 5, 6)])
    >>> print(*timeline_lines(shown, 20, people=False), sep="\\n")
      1  2  3  4  5  6
    p •        •
    q ━━━━━━━━━   ━━━━━━
    >>> counts = [(Atom("n", (1,)), 1, 2), (Atom("n", (4,)), 3, 4), (Atom("n", (2,)), 6, 6)]
    >>> print(*timeline_lines(timeline([], counts), 27, people=False), sep="\\n")
            1  2  3  4  5  6
    n(1..4) ▁▁▁▁▁▁██████   ▃▃▃
    """
    labels = [printable(lane.label) for lane in shown.lanes]
    labels += [printable(span.text) for span in shown.windows]
    side = min(max(map(len, labels), default=0), _LABEL_WIDTH, max(1, width - _SMALLEST_WIDTH))
    points = shown.end - shown.start + 1
    columns = max(1, width - side - 1)
    per_column = -(-points // columns)
    wide = min(_WIDEST_POINT, max(1, columns // points))
    columns = -(-points // per_column)
    axis = Axis(shown.start, shown.end, shown.times)
    yield _line("", side, axis.line(columns, per_column, wide), "dim" if people else "")
    for lane in shown.lanes:
        draw = _curve if lane.curve else _cells
        cells = _widened(draw(lane, shown, columns, per_column), wide)
        colour = "cyan" if lane.origin is Origin.FACT else "green"
        yield _line(lane.label, side, cells, colour if people else "")
    for span in shown.windows:
        end = shown.end if span.end is None else span.end
        lane = Lane(span.text, Origin.DERIVED, ((span.start, end),) if span.start <= end else ())
        cells = _cells(lane, shown, columns, per_column).replace("━", "░").replace("╍", "░")
        yield _line(span.text, side, _widened(cells, wide), "yellow" if people else "")
    notes = [axis.title()] if axis.clock else []
    notes += [f"one column is {per_column} time points"] if per_column > 1 else []
    if notes:
        yield _line("", side, " · ".join(notes), "dim" if people else "")


def _line(name: str, side: int, cells: str, colour: str) -> str:
    name = printable(name)
    name = (name if len(name) <= side else f"{name[: side - 1]}…").ljust(side)
    text = f"{name} {cells}".rstrip()
    if not colour:
        return text
    return f"{escape(name)} [{colour}]{escape(cells.rstrip())}[/]"


def _widened(cells: str, wide: int) -> str:
    """Every time point drawn with several columns: a dot in the first, a bar in all of them."""
    return "".join(cell.ljust(wide) if cell == "•" else cell * wide for cell in cells)


def _curve(lane: Lane, shown: Timeline, columns: int, per_column: int) -> str:
    """One character for each column: how high is the largest number there?"""
    values = [value for _, _, value in lane.curve]
    low, high = min(values), max(values)
    largest: dict[int, int | float] = {}
    for begin, stop, value in lane.curve:
        first = (max(begin, shown.start) - shown.start) // per_column
        last = (min(stop, shown.end) - shown.start) // per_column
        for column in range(first, last + 1):
            largest[column] = max(value, largest.get(column, value))
    steps = len(_HEIGHTS) - 1
    heights = {
        column: steps // 2 if low == high else round((value - low) / (high - low) * steps)
        for column, value in largest.items()
    }
    return "".join(
        _HEIGHTS[heights[column]] if column in heights else " " for column in range(columns)
    )


def _cells(lane: Lane, shown: Timeline, columns: int, per_column: int) -> str:
    """One character for each column: how many of its time points does the lane cover?"""
    covered = [0] * columns
    for begin, stop in lane.intervals:
        low = (max(begin, shown.start) - shown.start) // per_column
        high = (min(stop, shown.end) - shown.start) // per_column
        for column in range(low, high + 1):
            column_start = shown.start + column * per_column
            column_end = column_start + per_column - 1
            covered[column] += min(stop, column_end) - max(begin, column_start) + 1
    last = (shown.end - shown.start) % per_column + 1
    sizes = [per_column] * (columns - 1) + [last]
    if lane.origin is Origin.FACT:
        return "".join("•" if count else " " for count in covered)
    return "".join(
        " " if not count else "━" if count == size else "╍"
        for count, size in zip(covered, sizes, strict=True)
    )

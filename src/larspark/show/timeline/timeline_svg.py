"""Timelines as SVG."""

from collections.abc import Iterator

from larspark.show.explain.proof import WindowSpan
from larspark.show.svg import CHARACTER, label, line, picture
from larspark.show.time_text import Axis
from larspark.show.timeline.lanes import Lane, Origin
from larspark.show.timeline.timeline_text import Timeline

WIDTH = 900
LANE_HEIGHT = 24
MARGIN = 14
LABEL_LENGTH = 32
# How high a curve is at most.
CURVE = 16
# Facts are dots where there is room for them.
DOT = 9

_FACT = "#0e7490"
_DERIVED = "#15803d"
_INK = "#111827"
_GREY = "#9ca3af"
_WINDOW = "#fef3c7"
_FRAME = "#d97706"


class _Scale:
    """The x coordinates of time points, which all have the same width."""

    def __init__(self, shown: Timeline, left: float) -> None:
        self.left = left
        self.start = shown.start
        self.points = shown.end - shown.start + 1
        self.step = (WIDTH - MARGIN - left) / self.points

    def x(self, t: float) -> float:
        return self.left + (t - self.start) * self.step


def timeline_svg(shown: Timeline) -> str:
    """The timeline as an SVG document."""
    names = [lane.label for lane in shown.lanes] + [span.text for span in shown.windows]
    longest = max(map(len, names), default=0)
    scale = _Scale(shown, 2 * MARGIN + CHARACTER * min(longest, LABEL_LENGTH))
    rows = len(shown.lanes) + len(shown.windows)
    height = 2 * MARGIN + LANE_HEIGHT * (rows + 1)
    axis = Axis(shown.start, shown.end, shown.times)
    parts = [
        *_axis(axis, scale, height),
        *(part for n, lane in enumerate(shown.lanes) for part in _lane(lane, n, scale)),
        *(
            part
            for n, span in enumerate(shown.windows, len(shown.lanes))
            for part in _window(span, n, shown, scale)
        ),
    ]
    return picture(WIDTH, height, f"timeline from {axis.title()}", parts)


def _window(span: WindowSpan, number: int, shown: Timeline, scale: _Scale) -> Iterator[str]:
    """A window is a frame over the time points that it covers."""
    y = MARGIN + LANE_HEIGHT * (number + 0.5)
    yield label(MARGIN, y + 4, span.text, _GREY, "", LABEL_LENGTH)
    start = max(span.start, shown.start)
    end = shown.end if span.end is None else min(span.end, shown.end)
    if start <= end:
        x, width = scale.x(start), scale.x(end + 1) - scale.x(start)
        yield (
            f'<rect x="{x:g}" y="{y - 6:g}" width="{width:g}" height="12" rx="2" '
            f'fill="{_WINDOW}" stroke="{_FRAME}"/>'
        )


def _axis(axis: Axis, scale: _Scale, height: float) -> Iterator[str]:
    """Marks at round time points, at most about ten of them."""
    for t in axis.round_times(scale.points / 10):
        x = scale.x(t + 0.5)
        yield line(x, MARGIN + 6, x, height - MARGIN - LANE_HEIGHT + 4, _GREY, 'stroke-width="0.5"')
        name = axis.name(t)
        yield label(x, height - MARGIN, name, _INK, 'text-anchor="middle" font-size="11"')


def _lane(lane: Lane, number: int, scale: _Scale) -> Iterator[str]:
    y = MARGIN + LANE_HEIGHT * (number + 0.5)
    yield label(MARGIN, y + 4, lane.label, _INK, "", LABEL_LENGTH)
    if lane.curve:
        yield _curve(lane, y, scale)
        return
    colour = _FACT if lane.origin is Origin.FACT else _DERIVED
    drawn: tuple[int, int] | None = None
    for begin, stop in lane.intervals:
        if lane.origin is Origin.FACT and scale.step >= DOT:
            for t in range(begin, stop + 1):
                yield f'<circle cx="{scale.x(t + 0.5):g}" cy="{y:g}" r="4" fill="{colour}"/>'
            continue
        place = (round(scale.x(begin)), round(scale.x(stop + 1)))
        # In a long stream many intervals fall on the same place of the picture.
        if place != drawn:
            width = max(2, place[1] - place[0])
            yield (
                f'<rect x="{place[0]}" y="{y - 5:g}" width="{width}" height="10" rx="2" '
                f'fill="{colour}"/>'
            )
        drawn = place


def _curve(lane: Lane, y: float, scale: _Scale) -> str:
    """The numbers of a lane as one stepped line, broken where there is none."""
    values = [value for _, _, value in lane.curve]
    low, high = min(values), max(values)
    path: list[str] = []
    drawn: tuple[int, int] | None = None
    end: int | None = None
    for begin, stop, value in lane.curve:
        place = (round(scale.x(begin)), round(scale.x(stop + 1)))
        # In a long stream many steps fall on the same place of the picture.
        if place == drawn:
            end = stop
            continue
        share = 0.5 if low == high else (value - low) / (high - low)
        top = y + CURVE / 2 - share * CURVE
        path.append(f"V{top:g}" if end == begin - 1 else f"M{place[0]} {top:g}")
        path.append(f"H{max(place[1], place[0] + 1)}")
        drawn, end = place, stop
    return f'<path d="{"".join(path)}" fill="none" stroke="{_DERIVED}" stroke-width="2"/>'

"""What a run derives, with what it may come to derive beside it."""

from collections.abc import Iterable, Iterator

from rich.markup import escape

from larspark.base.atoms import Atom
from larspark.run.hypothetical import Announcement, ChangeKind, Monitor, announcement_line
from larspark.run.protocol import Change, Point
from larspark.show.lines import change_lines, point_lines

_COLOURS = {ChangeKind.CONFIRMED: "green", ChangeKind.REFUTED: "red"}


def announced_points(
    points: Iterable[Point], monitor: Monitor, limit: int | None, people: bool
) -> Iterator[str]:
    """Every time point, followed by what may come to hold, as it looks then."""
    for point in points:
        yield from point_lines((point,), people)
        monitor.advance(point.t)
        for announcement in monitor.pending(limit):
            yield _line(announcement, people)


def announced_changes(
    points: Iterable[Point], monitor: Monitor, at: int | None, people: bool
) -> Iterator[str]:
    """What begins and ends to hold, followed by what happens to hypothetical answers."""
    before: frozenset[Atom] = frozenset()
    for point in points:
        now = point.atoms or frozenset()
        if now != before and at in (None, point.t):
            change = Change(point.t, tuple(now - before), tuple(before - now))
            yield from change_lines((change,), people)
        before = now
        for announcement in monitor.advance(point.t):
            if at in (None, announcement.t):
                yield _line(announcement, people)


def _line(announcement: Announcement, people: bool) -> str:
    if not people:
        return announcement_line(announcement)
    t, holds, answer, change = announcement
    text = f"[cyan]{t:>6}[/]  [bold]{escape(str(holds))}[/]"
    if change is not None:
        text += f"  [{_COLOURS.get(change, 'yellow')}]{change.value}[/]"
    if answer.certain or change is ChangeKind.REFUTED:
        return text
    missing = escape(", ".join(map(str, (*answer.hypotheses, *answer.where))))
    until = "" if answer.deadline is None else f"  [dim]decided by {answer.deadline}[/]"
    return f"{text}  [yellow]if[/] {missing}{until}"

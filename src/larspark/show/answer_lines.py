"""Answers as lines of text: JSON Lines for pipes, columns and colours for a terminal."""

from collections.abc import Iterable, Iterator

from rich.markup import escape

from larspark.base.atoms import Atom, atom_text
from larspark.feeds import change_line, interval_line, point_line
from larspark.run.hypothetical import (
    Announcement,
    ChangeKind,
    HypotheticalAnswer,
    Monitor,
    announcement_line,
)
from larspark.run.protocol import Change, Point


def point_lines(points: Iterable[Point], people: bool) -> Iterator[str]:
    """One line for every time point, also when nothing holds."""
    for point in points:
        if not people:
            yield point_line(*point)
        elif point.atoms is None:
            yield f"[cyan]{point.t:>6}[/]  [red]no answer stream[/]"
        else:
            yield f"[cyan]{point.t:>6}[/]  {_listed(point.atoms)}"


def change_lines(changes: Iterable[Change], people: bool) -> Iterator[str]:
    """One line for every time point at which something begins or ends."""
    for t, added, removed in changes:
        if not people:
            yield change_line(t, added, removed)
            continue
        signed = [f"[green]+ {escape(text)}[/]" for text in sorted(map(atom_text, added))]
        signed += [f"[red]- {escape(text)}[/]" for text in sorted(map(atom_text, removed))]
        yield f"[cyan]{t:>6}[/]  {'  '.join(signed)}"


def interval_lines(rows: Iterable[tuple[Atom, int, int]], people: bool) -> Iterator[str]:
    """One line for every maximal interval."""
    for atom, begin, end in rows:
        if people:
            yield f"[cyan]{begin:>6} to {end:<6}[/]  {escape(atom_text(atom))}"
        else:
            yield interval_line(atom, begin, end)


def hypothetical_line(answer: HypotheticalAnswer) -> str:
    """A hypothetical answer for a terminal: its values, its evidence, and what is missing."""
    values = "  ".join(f"{name} = [bold]{escape(str(v))}[/]" for name, v in answer.answer.items())
    evidence = escape(", ".join(map(str, answer.evidence))) or "nothing yet"
    if answer.certain:
        return f"[cyan]{answer.t:>6}[/]  {values}  [green]certain[/] by {evidence}"
    missing = escape(", ".join(map(str, answer.hypotheses)))
    return f"[cyan]{answer.t:>6}[/]  {values}  [yellow]if[/] {missing}  [dim]seen {evidence}[/]"


def _listed(atoms: Iterable[Atom]) -> str:
    return "  ".join(escape(text) for text in sorted(map(atom_text, atoms)))


_COLOURS = {ChangeKind.CONFIRMED: "green", ChangeKind.REFUTED: "red"}


def announced_points(
    points: Iterable[Point], monitor: Monitor, limit: int | None, people: bool
) -> Iterator[str]:
    """Every time point, followed by the hypothetical answers at that time point."""
    for point in points:
        yield from point_lines((point,), people)
        monitor.advance(point.t)
        for announcement in monitor.pending(limit):
            yield _line(announcement, people)


def announced_changes(
    points: Iterable[Point], monitor: Monitor, at: int | None, people: bool
) -> Iterator[str]:
    """What begins and what ends to hold, followed by the changes of hypothetical answers."""
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

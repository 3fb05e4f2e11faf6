"""Answers as lines of text: JSON Lines for pipes, columns and colours for a terminal."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.markup import escape

from larspark.base.atoms import Atom, atom_text
from larspark.feeds import change_line, interval_line, point_line
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.feeds.write import bindings_line
from larspark.run.hypothetical import (
    Announcement,
    ChangeKind,
    HypotheticalAnswer,
    Monitor,
    Precondition,
    TimedAtom,
    announcement_line,
)
from larspark.run.protocol import Change, Point


def point_lines(points: Iterable[Point], people: bool, times: TimeFormat = POINTS) -> Iterator[str]:
    """One line for every time point, also when nothing holds."""
    for point in points:
        if not people:
            yield point_line(*point, times)
        elif point.atoms is None:
            yield f"[cyan]{times.text(point.t):>6}[/]  [red]no answer stream[/]"
        else:
            yield f"[cyan]{times.text(point.t):>6}[/]  {_listed(point.atoms)}"


def stream_lines(stream: Mapping[int, frozenset[Atom]], last: int, people: bool) -> Iterator[str]:
    """A line for each time point with atoms, and for the last one, where the timeline ends."""
    points = sorted({**stream, last: stream.get(last, frozenset())}.items())
    return point_lines((Point(t, atoms) for t, atoms in points), people)


def event_lines(points: Iterable[Point], people: bool, times: TimeFormat = POINTS) -> Iterator[str]:
    """One line for every event, at its end; an atom's last two arguments are its interval."""
    for point in points:
        found = [
            (atom_text(Atom(atom.predicate, atom.args[:-2])), *atom.args[-2:])
            for atom in point.atoms or ()
        ]
        for event, *ends in sorted(found, key=str):
            first, last = (end for end in ends if isinstance(end, int))
            if people:
                span = f"from {times.text(first)} to {times.text(last)}"
                yield f"[cyan]{times.text(point.t):>6}[/]  {escape(str(event))}  [dim]{span}[/]"
            else:
                name = json.dumps(event, ensure_ascii=False)
                span = f'"from": {times.json(first)}, "to": {times.json(last)}'
                yield f'{{"t": {times.json(point.t)}, "event": {name}, {span}}}'


def change_lines(
    changes: Iterable[Change], people: bool, times: TimeFormat = POINTS, why: str = ""
) -> Iterator[str]:
    """One line for every time point at which something begins or ends; for people also why."""
    for t, added, removed in changes:
        if not people:
            yield change_line(t, added, removed, times)
            continue
        signed = [f"[green]+ {escape(text)}[/]" for text in sorted(map(atom_text, added))]
        signed += [f"[red]- {escape(text)}[/]" for text in sorted(map(atom_text, removed))]
        yield f"[cyan]{times.text(t):>6}[/]  {'  '.join([why, *signed] if why else signed)}"


def interval_lines(
    rows: Iterable[tuple[Atom, int, int]], people: bool, times: TimeFormat = POINTS
) -> Iterator[str]:
    """One line for every maximal interval."""
    for atom, begin, end in rows:
        if people:
            name = escape(atom_text(atom))
            yield f"[cyan]{times.text(begin):>6} to {times.text(end):<6}[/]  {name}"
        else:
            yield interval_line(atom, begin, end, times)


def binding_lines(
    points: Iterable[Point], names: Sequence[str], people: bool, times: TimeFormat = POINTS
) -> Iterator[str]:
    """One line for every report of a query: the values of its variables for each answer."""
    for point in points:
        atoms = point.atoms or frozenset()
        if not any(atom.predicate == "report" and not atom.args for atom in atoms):
            continue
        found = [atom for atom in atoms if atom.predicate == "answer"]
        rows = [
            {name: value for name, value in zip(names, atom.args, strict=True) if value != "undef"}
            for atom in sorted(found, key=atom_text)
        ]
        if people:
            shown = [
                "  ".join(f"{n} = [bold]{escape(str(v))}[/]" for n, v in r.items()) for r in rows
            ]
            yield f"[cyan]{times.text(point.t):>6}[/]  " + "\n        ".join(shown)
        else:
            yield bindings_line(point.t, rows, times)


def hypothetical_line(answer: HypotheticalAnswer, times: TimeFormat = POINTS) -> str:
    """A hypothetical answer for a terminal: its values, its evidence, and what is missing."""
    values = "  ".join(f"{name} = [bold]{escape(str(v))}[/]" for name, v in answer.answer.items())
    head = f"[cyan]{times.text(answer.t):>6}[/]  {values}"
    evidence = escape(_timed(answer.evidence, times)) or "nothing yet"
    if answer.certain:
        return f"{head}  [green]certain[/] by {evidence}"
    missing = escape(_timed(answer.hypotheses, times))
    return f"{head}  [yellow]if[/] {missing}  [dim]seen {evidence}[/]"


def precondition_line(one: Precondition) -> str:
    """A precondition for a terminal: the answer, what has to come first, and what then."""
    values = "  ".join(f"{name} = [bold]{escape(str(v))}[/]" for name, v in one.answer.items())
    parts = [f"[yellow]if[/] {escape(_timed(one.first, POINTS))}"]
    if one.then:
        parts.append(f"[yellow]then[/] {escape(_timed(one.then, POINTS))}")
    if one.where:
        parts.append(f"[dim]where {escape(', '.join(one.where))}[/]")
    return "  ".join([values, *parts])


def _timed(elements: Iterable[TimedAtom], times: TimeFormat) -> str:
    return ", ".join(element.text(times) for element in elements)


def _listed(atoms: Iterable[Atom]) -> str:
    return "  ".join(escape(text) for text in sorted(map(atom_text, atoms)))


_COLOURS = {ChangeKind.CONFIRMED: "green", ChangeKind.REFUTED: "red"}


def announced_points(
    points: Iterable[Point],
    monitor: Monitor,
    limit: int | None,
    people: bool,
    times: TimeFormat = POINTS,
) -> Iterator[str]:
    """Every time point, followed by the hypothetical answers at that time point."""
    for point in points:
        yield from point_lines((point,), people, times)
        monitor.advance(point.t)
        for announcement in monitor.pending(limit):
            yield _line(announcement, people, times)


def announced_changes(
    points: Iterable[Point],
    monitor: Monitor,
    at: int | None,
    people: bool,
    times: TimeFormat = POINTS,
) -> Iterator[str]:
    """What begins and what ends to hold, followed by the changes of hypothetical answers."""
    before: frozenset[Atom] = frozenset()
    for point in points:
        now = point.atoms or frozenset()
        if now != before and at in (None, point.t):
            change = Change(point.t, tuple(now - before), tuple(before - now))
            yield from change_lines((change,), people, times)
        before = now
        for announcement in monitor.advance(point.t):
            if at in (None, announcement.t):
                yield _line(announcement, people, times)


def _line(announcement: Announcement, people: bool, times: TimeFormat) -> str:
    if not people:
        return announcement_line(announcement, times)
    t, holds, answer, change = announcement
    text = f"[cyan]{times.text(t):>6}[/]  [bold]{escape(holds.text(times))}[/]"
    if change is not None:
        text += f"  [{_COLOURS.get(change, 'yellow')}]{change.value}[/]"
    if answer.certain or change is ChangeKind.REFUTED:
        return text
    missing = escape(", ".join([_timed(answer.hypotheses, times), *answer.where]))
    until = "" if answer.deadline is None else f"  [dim]decided by {times.text(answer.deadline)}[/]"
    return f"{text}  [yellow]if[/] {missing}{until}"

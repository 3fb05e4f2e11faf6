"""Lines of output for the answers of a run, in the chosen format."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from larspark import api
from larspark.cli.options import Form
from larspark.feeds import change_line
from larspark.feeds.time_format import TimeFormat
from larspark.feeds.write import interval_texts
from larspark.run.answers import JoinedChanges, JoinedIntervals
from larspark.run.emit_policy import EmitPolicy
from larspark.run.joined_tables import JoinedTables
from larspark.run.new_rules import RuleChange
from larspark.run.protocol import Answers, Change, Point
from larspark.run.replay import without_jumps
from larspark.run.state import atom_fields, atom_of, time_of
from larspark.show.answer_lines import (
    announced_changes,
    announced_points,
    binding_lines,
    change_lines,
    event_lines,
    interval_lines,
    point_lines,
)


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """The format of the answers, the time points to write, and when to write.

    With a monitor, hypothetical answers are written beside the atoms that hold.
    """

    form: Form
    at: int | None
    policy: EmitPolicy | None
    monitor: api.Monitor | None
    limit: int | None
    times: TimeFormat
    # The variables of a query, for bindings.
    names: tuple[str, ...] = ()
    # Whether the pieces are large, so that intervals are joined and written in columns.
    in_columns: bool = False
    joined_changes: JoinedChanges = field(default_factory=JoinedChanges)
    joined_intervals: JoinedIntervals = field(default_factory=JoinedIntervals)
    # What other rules changed since the last line.
    new_rules: list[Change] = field(default_factory=list)

    def lines(self, pieces: Iterable[Answers], people: bool) -> Iterator[str]:
        """The lines of the answers, each preceded by the changes of replaced rules.

        In columns there are many lines in each text.
        """
        if self.in_columns and self.form is Form.INTERVALS and not people:
            yield from self._interval_texts(pieces)
            return
        for line in self._lines(pieces, people):
            if not self.new_rules:
                yield line
                continue
            if people:
                yield from change_lines(self.new_rules, people, self.times, "new rules")
                yield line
            elif self.form in (Form.POINTS, Form.CHANGES):
                [change] = self.new_rules
                yield f'{line[:-1]}, "rules": {change_line(*change, self.times)}}}'
            else:
                yield line
            self.new_rules.clear()

    def rules_changed(self, change: RuleChange) -> None:
        """The rules were replaced after a time point: the next line says what changed there."""
        t, added, removed, *_ = change
        for earlier in self.new_rules:
            was, now = set(earlier.added), set(earlier.removed)
            added, removed = (added - now) | (was - removed), (removed - was) | (now - added)
        self.new_rules.clear()
        if t is not None and (added or removed):
            self.new_rules.append(Change(t, tuple(added), tuple(removed)))

    def _lines(self, pieces: Iterable[Answers], people: bool) -> Iterator[str]:
        if self.form is Form.INTERVALS:
            found = self.joined_intervals.of(pieces)
            return interval_lines(
                (row for row in found if self._within(*row[1:])), people, self.times
            )
        if self.form is Form.BINDINGS:
            points = (point for point in self._points(pieces) if self._within(point.t, point.t))
            return binding_lines(points, self.names, people, self.times)
        if self.form in (Form.POINTS, Form.EVENTS):
            points = (point for point in self._points(pieces) if self._within(point.t, point.t))
            if self.form is Form.EVENTS:
                return event_lines(points, people, self.times)
            if self.monitor is None:
                return point_lines(points, people, self.times)
            return announced_points(points, self.monitor, self.limit, people, self.times)
        if self.monitor is None:
            changed = (c for c in self._changes(pieces) if self._within(c.t, c.t))
            return change_lines(changed, people, self.times)
        return announced_changes(self._points(pieces), self.monitor, self.at, people, self.times)

    def _interval_texts(self, pieces: Iterable[Answers]) -> Iterator[str]:
        for table in JoinedTables().of(pieces):
            within = table
            if self.at is not None:
                within = table.filter((pc.field("from") <= self.at) & (pc.field("to") >= self.at))
            yield from interval_texts(within, self.times)

    def _points(self, pieces: Iterable[Answers]) -> Iterator[Point]:
        if self.policy is None:
            return (point for piece in without_jumps(pieces) for point in piece.points())
        return self.policy.chosen(point for piece in pieces for point in piece.points())

    def _changes(self, pieces: Iterable[Answers]) -> Iterator[Change]:
        if self.policy is None:
            return self.joined_changes.of(pieces)
        return self.policy.changes(point for piece in pieces for point in piece.points())

    def save(self) -> Any:
        """What later lines depend on, as JSON values."""
        policy = None if self.policy is None else self.policy.save()
        rules = [
            [t, *(list(map(atom_fields, atoms)) for atoms in both)] for t, *both in self.new_rules
        ]
        return [policy, self.joined_changes.save(), self.joined_intervals.save(), rules]

    def restore(self, saved: Any) -> None:
        """Continue after the lines written before `save`."""
        policy, changes, intervals, *rules = saved
        if self.policy is not None:
            self.policy.restore(policy)
        self.joined_changes.restore(changes)
        self.joined_intervals.restore(intervals)
        for t, added, removed in rules[0] if rules else ():
            change = Change(time_of(t), tuple(map(atom_of, added)), tuple(map(atom_of, removed)))
            self.new_rules.append(change)

    def _within(self, first: int, last: int) -> bool:
        return self.at is None or first <= self.at <= last

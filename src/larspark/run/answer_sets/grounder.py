"""Grounding on the fly: ground rules come and go as rows of given relations do.

This is the incremental program of the Ticker paper (Algorithms 2 and 3), turned around. Instead of
rules with an expiry tick there are given rows that enter and leave, and every ground rule holds on
to the given rows that it needs. A row that can come back suspends its rules when it leaves; a row
with a time in it never comes back, and takes its rules along.

No guard is asked of the user: an instance is made as soon as all its positive atoms can hold, and a
derived atom can hold as long as some instance has it as a head. Atoms that only support
each other, and rules suspended forever, are garbage; `wasteful` says when it outgrows the rest.
"""

import math
import time
from collections.abc import Iterable, Iterator

from larspark.base.problems import LarsparkError, Problem
from larspark.run.answer_sets.encoding import AlwaysRule, AtomFeed, Core, CoreRule
from larspark.run.answer_sets.given_relations import GivenRelations, Row
from larspark.run.answer_sets.ground_rules import (
    AlwaysWindow,
    DerivedAtom,
    GivenRow,
    GroundRules,
    Instance,
    Moment,
)
from larspark.run.answer_sets.join_plans import Plan, Shape, Table, plan, shape
from larspark.run.answer_sets.plain_rules import Mode, Windows
from larspark.run.answer_sets.solver import TimeLimitError
from larspark.run.answer_sets.stream_views import View

# More ground rules than this are refused: `p(X+1) :- p(X)` would never end.
INSTANCE_LIMIT = 500_000

# The deadline is checked after so many new ground rules.
_CLOCK_EVERY = 500

# With less garbage than this the grounder never starts anew.
_PATIENCE = 2_000


class Grounder:
    """The ground rules of a core program, kept up to date."""

    def __init__(self, core: Core, relations: GivenRelations, rules: GroundRules) -> None:
        self._core = core
        self._relations = relations
        self._rules = rules
        self._tables = [Table() for _ in core.arities]
        self._shapes: list[Shape] = []
        self._plans: list[list[Plan]] = [[] for _ in core.arities]
        self._given: list[dict[Row, GivenRow]] = [{} for _ in core.arities]
        self._within: dict[Windows, dict[int, Moment]] = {}
        self._numbers: list[dict[Row, int]] = [{} for _ in core.arities]
        self._atoms: dict[int, DerivedAtom] = {}
        self._instances: dict[tuple[int, Row], Instance] = {}
        self._every: dict[int, list[AlwaysWindow]] = {}
        self._new: list[int] = []
        self._fading: list[int] = []
        # Instances whose time point is now in the timeline.
        self._due: list[tuple[int, Row]] = []
        self._next_atom = 1
        # How many ground rules there were after the first tick, when nothing was garbage.
        self._at_start: int | None = None
        self._deadline: float | None = None
        self._interrupted = False
        self._bounds: dict[Windows, tuple[float, float]] = {}
        # Rules without a positive literal: their instances are there from the first tick on.
        self._unconditional = [n for rule in core.rules if (n := self._register(rule)) is not None]
        relations.restart()

    @property
    def wasteful(self) -> bool:
        """Is a new start worth it? Then most ground rules are new since the last one, or garbage.

        What a deadline interrupted has to start anew.
        """
        if self._interrupted:
            return True
        return self._at_start is not None and len(self) > 2 * self._at_start + _PATIENCE

    def __len__(self) -> int:
        """How many ground rules are kept, suspended ones included."""
        return len(self._instances)

    def atoms(self) -> Iterator[tuple[int, int, Row]]:
        """The derived atoms that can hold: number, relation and row."""
        for number, atom in self._atoms.items():
            if atom.derivations:
                yield number, atom.relation, atom.row

    def atom(self, number: int) -> tuple[int, Row]:
        """The relation and the row of an atom."""
        atom = self._atoms[number]
        return atom.relation, atom.row

    def number(self, relation: int, row: Row) -> int | None:
        """The number of an atom that can hold."""
        return self._numbers[relation].get(row)

    def rows(self, relation: int) -> Iterable[tuple[Row, int]]:
        """The rows of a derived relation that can hold, with the numbers of their atoms."""
        numbers = self._numbers[relation]
        return ((row, numbers[row]) for row in self._tables[relation].rows)

    def tick(self, deadline: float | None = None) -> None:
        """Bring the ground rules up to date with the given rows."""
        self._deadline = deadline
        while self._unconditional:
            number = self._unconditional.pop()
            start = plan(number, self._shapes[number], None, self._tables)
            for binding in start.bindings(()):
                self._instantiate(number, binding)
        changes = [(relation, *self._relations.changes(relation)) for relation in self._core.given]
        for relation, _, gone in changes:
            for row in gone:
                self._row_leaves(relation, row)
        for windows in self._within:
            self._move_window(windows)
        for watching in self._every.values():
            for every in watching:
                self._move_every(every)
        self._propagate()
        due, self._due = self._due, []
        for number, binding in due:
            self._instantiate(number, binding)
        for relation, new, _ in changes:
            for row in new:
                self._row_enters(relation, row)
        self._propagate()
        if self._at_start is None:
            self._at_start = len(self)

    def _register(self, rule: CoreRule | AlwaysRule) -> int | None:
        """Prepare for a rule; gives its number if it has no positive literal to start from."""
        if isinstance(rule, AlwaysRule):
            self._every.setdefault(rule.moments, []).append(AlwaysWindow(rule))
            return None
        number = len(self._shapes)
        self._shapes.append(shape(rule))
        for windows, _ in self._shapes[number].within:
            self._within.setdefault(windows, {})
        for occurrence, atom in enumerate(rule.positive):
            found = plan(number, self._shapes[number], occurrence, self._tables)
            self._plans[atom.relation].append(found)
        return None if rule.positive else number

    def _propagate(self) -> None:
        """Propagate the atoms and rows that can newly hold, and those that no longer can."""
        while self._new or self._fading:
            while self._new:
                atom = self._atoms.get(self._new.pop())
                if atom is None or not atom.derivations:
                    continue
                if atom.row not in self._tables[atom.relation].rows:
                    self._tables[atom.relation].add(atom.row)
                    self._join(atom.relation, atom.row)
            while self._fading:
                self._fade(self._fading.pop())

    def _join(self, relation: int, row: Row) -> None:
        for found in self._plans[relation]:
            for binding in found.bindings(row):
                self._instantiate(found.shape, binding)
        for every in self._every.get(relation, ()):
            complete = every.enter(row)
            if complete is not None:
                self._instantiate_every(every, complete)

    def _instantiate(self, number: int, binding: Row) -> None:
        key = (number, binding)
        if key in self._instances:
            return
        of = self._shapes[number]
        given: list[GivenRow] = []
        for windows, point_of in of.within:
            (point,) = point_of(binding)
            moment = self._moment(windows, point) if isinstance(point, int) else None
            if moment is None:
                return
            if not moment.holds:
                moment.waiting[key] = None
                return
            given.append(moment)
        positive: list[int] = []
        for relation, row_of in of.positive:
            row = row_of(binding)
            if row not in self._tables[relation].rows:
                # One of its rows left while it waited for its time point.
                return
            if relation in self._core.given:
                given.append(self._given[relation][row])
            else:
                positive.append(self._numbers[relation][row])
        denied: list[GivenRow] = []
        negative: list[int] = []
        for relation, row_of in of.negative:
            row = row_of(binding)
            if relation in self._core.given:
                denied.append(self._given_row(relation, row))
            else:
                negative.append(self._atom(relation, row))
        heads = tuple(self._atom(relation, row_of(binding)) for relation, row_of in of.heads)
        instance = Instance(key, heads, tuple(positive), tuple(negative))
        instance.given, instance.denied = given, denied
        self._start(instance)

    def _look_at_the_clock(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            self._interrupted = True
            raise TimeLimitError

    def _instantiate_every(self, every: AlwaysWindow, row: Row) -> None:
        key = (-1 - every.head, row)
        if key in self._instances:
            return
        head = self._atom(every.head, row)
        moments = self._numbers[every.moments]
        positive = tuple(moments[(*row, point)] for point in every.points)
        self._start(Instance(key, (head,), positive, ()))

    def _start(self, instance: Instance) -> None:
        self._instances[instance.key] = instance
        if len(self._instances) > INSTANCE_LIMIT:
            message = f"the program has more than {INSTANCE_LIMIT} ground rules"
            hint = "does a rule combine everything with everything, or count without end?"
            raise LarsparkError(Problem("L410", message, hint=hint))
        if self._deadline is not None and not len(self._instances) % _CLOCK_EVERY:
            self._look_at_the_clock(self._deadline)
        for row in instance.given:
            row.uses[instance] = None
            instance.obstacles += not row.holds
        for row in instance.denied:
            row.denials[instance] = None
            instance.obstacles += row.holds
        for number in instance.positive:
            self._atoms[number].uses[instance] = None
        for number in instance.negative:
            self._atoms[number].mentions += 1
        for number in instance.heads:
            atom = self._atoms[number]
            atom.derivations += 1
            if atom.derivations == 1:
                self._new.append(number)
        if not instance.obstacles:
            self._activate(instance)

    def _activate(self, instance: Instance) -> None:
        if instance.rule is None:
            lasting = not instance.given and not instance.denied and instance.key[0] >= 0
            instance.rule = self._rules.add(
                instance.heads, instance.positive, instance.negative, lasting=lasting
            )
        else:
            self._rules.resume(instance.rule)

    def _drop(self, instance: Instance) -> None:
        if self._instances.pop(instance.key, None) is None:
            return
        if instance.rule is not None:
            self._rules.drop(instance.rule)
        for row in instance.given:
            row.uses.pop(instance, None)
            self._discard_unused(row)
        for row in instance.denied:
            row.denials.pop(instance, None)
            self._discard_unused(row)
        for number in instance.positive:
            self._atoms[number].uses.pop(instance, None)
        for number in instance.negative:
            self._atoms[number].mentions -= 1
            self._fading.append(number)
        for number in instance.heads:
            self._atoms[number].derivations -= 1
            self._fading.append(number)

    def _fade(self, number: int) -> None:
        """Remove an atom that no instance derives, with the instances that need it."""
        atom = self._atoms.get(number)
        if atom is None or atom.derivations:
            return
        table = self._tables[atom.relation]
        if atom.row in table.rows:
            table.remove(atom.row)
            for every in self._every.get(atom.relation, ()):
                every.leave(atom.row)
        for instance in list(atom.uses):
            self._drop(instance)
        if not atom.mentions:
            del self._atoms[number]
            del self._numbers[atom.relation][atom.row]
            self._rules.forget(number)

    def _atom(self, relation: int, row: Row) -> int:
        known = self._numbers[relation].get(row)
        if known is None:
            known = self._numbers[relation][row] = self._next_atom
            self._next_atom += 1
            self._atoms[known] = DerivedAtom(relation, row)
        return known

    def _given_row(self, relation: int, row: Row) -> GivenRow:
        known = self._given[relation].get(row)
        if known is None:
            known = self._given[relation][row] = GivenRow(relation, row)
        return known

    def _row_enters(self, relation: int, row: Row) -> None:
        self._hold(self._given_row(relation, row))
        if row not in self._tables[relation].rows:
            self._tables[relation].add(row)
            self._join(relation, row)

    def _row_leaves(self, relation: int, row: Row) -> None:
        given = self._given[relation][row]
        self._release(given)
        if not _comes_back(self._core, relation):
            for instance in list(given.uses):
                self._drop(instance)
        self._discard_unused(given)

    def _discard_unused(self, given: GivenRow) -> None:
        if given.relation is None or given.holds or given.uses:
            return
        if given.row in self._tables[given.relation].rows:
            self._tables[given.relation].remove(given.row)
        if not given.denials:
            self._given[given.relation].pop(given.row, None)

    def _hold(self, given: GivenRow) -> None:
        given.holds = True
        for instance in given.uses:
            self._clear(instance)
        for instance in given.denials:
            self._obstruct(instance)

    def _release(self, given: GivenRow) -> None:
        given.holds = False
        for instance in given.uses:
            self._obstruct(instance)
        for instance in given.denials:
            self._clear(instance)

    def _obstruct(self, instance: Instance) -> None:
        instance.obstacles += 1
        if instance.obstacles == 1 and instance.rule is not None:
            self._rules.suspend(instance.rule)

    def _clear(self, instance: Instance) -> None:
        instance.obstacles -= 1
        if not instance.obstacles:
            self._activate(instance)

    def _moment(self, windows: Windows, point: int) -> Moment | None:
        """A time point of the timeline that windows leave; None if windows have passed it."""
        known = self._within[windows].get(point)
        if known is None:
            view = self._relations.view(windows)
            if point < view.start:
                return None
            known = self._within[windows][point] = Moment(view.has_time(point))
        return known

    def _move_window(self, windows: Windows) -> None:
        view = self._relations.view(windows)
        moments = self._within[windows]
        for point in self._crossed(windows, view):
            moment = moments[point]
            if point < view.start:
                # Time windows only move forward.
                for instance in list(moment.uses):
                    self._drop(instance)
                del moments[point]
            elif view.has_time(point) and not moment.holds:
                moment.holds = True
                self._due.extend(moment.waiting)
                moment.waiting.clear()

    def _crossed(self, windows: Windows, view: View) -> list[int]:
        """The known time points that the bounds of a window may have passed."""
        end = math.inf if view.end is None else view.end
        before_start, before_end = self._bounds.get(windows, (-math.inf, -math.inf))
        self._bounds[windows] = (view.start, end)
        moments = self._within[windows]
        if math.isinf(before_start) or math.isinf(before_end) or math.isinf(end):
            return [p for p in moments if p < view.start or before_end < p <= end]
        passed = (
            *range(int(before_start), view.start),
            *range(int(before_end) + 1, int(end) + 1),
        )
        return [point for point in dict.fromkeys(passed) if point in moments]

    def _move_every(self, every: AlwaysWindow) -> None:
        view = self._relations.view(every.windows)
        if (view.start, view.end) == every.bounds:
            return
        for row in every.complete:
            instance = self._instances.get((-1 - every.head, row))
            if instance is not None:
                self._drop(instance)
        for row in every.move(view):
            self._instantiate_every(every, row)


def _comes_back(core: Core, relation: int) -> bool:
    """Can a row of a given relation enter again after it left?"""
    feed = core.given[relation]
    return isinstance(feed, AtomFeed) and feed.mode is not Mode.AT

"""The online step: facts extend candidates.

A candidate does not change while time passes. It is indexed by the premises that it expects next,
and expires after the last time point at which one of these could have been met. So the cost of a
time point depends on the candidates that its facts extend, and on those that expire.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from math import inf

from larspark.base.atoms import Signature
from larspark.base.terms import Constant
from larspark.run.hypothetical.candidate import (
    Candidate,
    Key,
    Part,
    Recogniser,
    Run,
    Table,
    Test,
    accepted,
)
from larspark.run.hypothetical.clause import Clause, Ends, Premise, Values
from larspark.run.hypothetical.dataset import Background, Row, Undecided, solutions
from larspark.run.hypothetical.patterns import Pattern


class _Entry:
    """A premise of a clause, with the candidates that expect it and its runs."""

    __slots__ = ("clause", "order", "premise", "runs", "waiting")

    def __init__(self, clause: Clause, premise: Premise, order: tuple[int, int]) -> None:
        self.clause = clause
        self.premise = premise
        self.order = order
        # For each set of bound variables: their positions in a fact, and candidates by values.
        self.waiting: dict[tuple[int, ...], tuple[tuple[int, ...], Table]] = {}
        self.runs: dict[Row, Run] = {}


class Candidates:
    """All candidates of a query, updated time point by time point."""

    def __init__(self, clauses: Sequence[Clause], background: Background) -> None:
        self._background = background
        # By predicate: the tests of a fact, and the premises that it meets if it passes.
        self._premises: dict[Signature, list[tuple[list[Test], list[_Entry]]]] = {}
        self._entries: dict[Clause, list[_Entry]] = {}
        self._add_entries(clauses)
        # Candidates by the values they give to the variables of the query.
        self.groups: dict[Key, dict[Candidate, None]] = {}
        # The groups of answers that still have object variables.
        self.general: set[Key] = set()
        # The candidates added, changed or removed since the last reset; None: not recorded.
        self.journal: dict[Candidate, None] | None = None
        self._expiring: dict[int, list[Candidate]] = {}
        self._expiries: list[int] = []
        self._growing: list[tuple[_Entry, Run]] = []
        for clause in clauses:
            if not clause.premises:
                self._add_standing(clause)

    def _add_entries(self, clauses: Sequence[Clause]) -> None:
        alike: dict[object, list[_Entry]] = {}
        for number, clause in enumerate(clauses):
            self._entries[clause] = []
            for premise in clause.premises:
                entry = _Entry(clause, premise, (premise.rank, number))
                self._entries[clause].append(entry)
                recogniser = Recogniser(premise.occurrence)
                if recogniser.key not in alike:
                    alike[recogniser.key] = []
                    tests = recogniser.tests(self._background)
                    known = self._premises.setdefault(premise.signature, [])
                    known.append((tests, alike[recogniser.key]))
                alike[recogniser.key].append(entry)

    def _add_standing(self, clause: Clause) -> None:
        """Add the candidate of a clause without premises: it depends on absences only."""
        for candidate in self.unmet(clause):
            self._group(candidate)

    def unmet(self, clause: Clause) -> Iterator[Candidate]:
        """The candidates of a clause before any of its premises is met."""
        ends = (clause.low, clause.high)
        values: list[Constant | None] = [None] * len(clause.names)
        parts = (None,) * len(clause.premises)
        for solved in self._solved(clause, values, ends, clause.rigid, clause.checks):
            yield Candidate(clause, 0, *solved[:3], parts, solved[3])

    @property
    def size(self) -> int:
        return sum(map(len, self.groups.values()))

    def next_change(self, t: int) -> float:
        """The first time point after t at which a candidate or run ends without new facts."""
        if self._growing:
            return t + 1
        return max(t + 1, self._expiries[0]) if self._expiries else inf

    def step(self, t: int, facts: Mapping[Signature, Sequence[Row]]) -> None:
        """Process all facts of a time point, and drop the candidates that expire."""
        arrivals: list[tuple[_Entry, Sequence[Row]]] = []
        grown: list[tuple[_Entry, Run]] = []
        for signature, rows in facts.items():
            for tests, entries in self._premises.get(signature, ()):
                met = accepted(rows, tests)
                if met:
                    arrivals += [(entry, met) for entry in entries]
        # Runs are continued before anything is matched with them.
        started = {
            entry: self._grow(entry, t, rows, grown)
            for entry, rows in arrivals
            if entry.premise.is_span
        }
        arrivals.sort(key=_order)
        for entry, rows in arrivals:
            if entry in started:
                for row, run in started[entry]:
                    self._arrive(entry, t, row, run)
            else:
                for row in rows:
                    self._arrive(entry, t, row, (t, row))
        self._break(t)
        self._growing = grown
        self._expire(t)

    def _grow(
        self, entry: _Entry, t: int, rows: Sequence[Row], grown: list[tuple[_Entry, Run]]
    ) -> list[tuple[Row, Run]]:
        """Continue the runs of a premise, and return those that start."""
        started = []
        premise = entry.premise
        for row in rows:
            key = tuple([row[position] for position in premise.fixed])
            run = entry.runs.get(key)
            if run is None or run.last < t - 1:
                run = entry.runs[key] = Run(key, t)
                started.append((row, run))
                grown.append((entry, run))
            elif run.last == t - 1:
                grown.append((entry, run))
            run.add(t, row, premise)
        return started

    def _arrive(self, entry: _Entry, t: int, row: Row, part: tuple[int, Row] | Run) -> None:
        for positions, table in entry.waiting.values():
            waiting = table.get(tuple([row[position] for position in positions]))
            if waiting:
                for candidate in waiting:
                    self._extend(entry, t, row, part, candidate)
        if entry.premise.starts or t <= entry.clause.floor:
            self._extend(entry, t, row, part, None)

    def _extend(
        self,
        entry: _Entry,
        t: int,
        row: Row,
        part: tuple[int, Row] | Run,
        candidate: Candidate | None,
    ) -> None:
        """Extend a candidate (None: a new one) by this fact or run."""
        clause, premise = entry.clause, entry.premise
        if candidate is None:
            mask = 1 << premise.number
            low, high = clause.low, clause.high
            values: list[Constant | None] = [None] * len(clause.names)
            parts: tuple[Part, ...] = (None,) * len(clause.premises)
            undecided: tuple[Undecided, ...] = clause.checks
        else:
            mask = candidate.mask | 1 << premise.number
            low, high = candidate.low, candidate.high
            values = list(candidate.values)
            parts = candidate.parts
            undecided = candidate.undecided
        ends = self._ends(clause, premise, t, row, part, low, high)
        if ends is not None and candidate is not None:
            ends = _unbroken(candidate, t, ends)
        if ends is None or not self._has_chance(clause, premise, mask, t, ends[1]):
            return
        for position, variable in premise.variables:
            values[variable] = row[position]
        number = premise.number
        parts = (*parts[:number], part, *parts[number + 1 :])
        if undecided or (candidate is None and clause.rigid):
            rigid = clause.rigid if candidate is None else ()
            for solved in self._solved(clause, values, ends, rigid, undecided):
                self._add(Candidate(clause, mask, *solved[:3], parts, solved[3]), t)
        else:
            self._add(Candidate(clause, mask, tuple(values), *ends, parts, undecided), t)

    def _ends(
        self,
        clause: Clause,
        premise: Premise,
        t: int,
        row: Row,
        part: tuple[int, Row] | Run,
        low: Ends,
        high: Ends,
    ) -> tuple[Ends, Ends] | None:
        ends: tuple[Ends, Ends] | None
        if not isinstance(part, Run):
            ends = clause.pinned(low, high, premise.time, t - premise.first)
        elif premise.floor is not None and t <= premise.floor:
            ends = (low, high)
        else:
            ends = clause.narrowed(low, high, premise.time, t - premise.first, inf)
        for position, time, offset in premise.times:
            moment = row[position]
            if ends is None or not isinstance(moment, int):
                return None
            ends = clause.pinned(*ends, time, moment - offset)
        return ends

    def _has_chance(self, clause: Clause, premise: Premise, mask: int, t: int, high: Ends) -> bool:
        """Can all other premises still be met, at this time point or later?"""
        for other in clause.unmet(mask):
            latest = high[other.time] + other.first
            if other.floor is not None and latest < other.floor:
                latest = other.floor
            if latest < t or (latest == t and other.rank < premise.rank):
                return False
        return True

    def _solved(
        self,
        clause: Clause,
        values: list[Constant | None],
        ends: tuple[Ends, Ends],
        rigid: tuple[Pattern, ...],
        undecided: tuple[Undecided, ...],
    ) -> Iterator[tuple[Values, Ends, Ends, tuple[Undecided, ...]]]:
        known = {n: v for n, v in zip(clause.names, values, strict=True) if v is not None}
        for name, low, high in zip(clause.times, *ends, strict=True):
            if low == high:
                known[name] = int(low)
        for solved, left in solutions(rigid, undecided, known, self._background):
            narrowed: tuple[Ends, Ends] | None = ends
            for number, name in enumerate(clause.times):
                moment = solved.get(name)
                if narrowed is not None and isinstance(moment, int) and name not in known:
                    narrowed = clause.pinned(*narrowed, number, moment)
            if narrowed is not None:
                found = tuple([solved.get(name) for name in clause.names])
                yield found, *narrowed, left

    def _add(self, candidate: Candidate, t: int) -> None:
        clause = candidate.clause
        for premise, bound in clause.frontier(candidate.mask, candidate.values):
            entry = self._entries[clause][premise.number]
            place = entry.waiting.get(bound)
            if place is None:
                at = {variable: position for position, variable in premise.variables}
                place = entry.waiting[bound] = (tuple(at[variable] for variable in bound), {})
            key = tuple([candidate.values[variable] for variable in bound])
            table = place[1]
            table.setdefault(key, {})[candidate] = None
            candidate.places.append((table, key))
        self._group(candidate)
        for _, run in candidate.runs():
            run.candidates[candidate] = None
        self._schedule(candidate, t)

    def _group(self, candidate: Candidate) -> None:
        self.groups.setdefault(candidate.key, {})[candidate] = None
        if candidate.is_general:
            self.general.add(candidate.key)
        if self.journal is not None:
            self.journal[candidate] = None

    def _schedule(self, candidate: Candidate, t: int) -> None:
        candidate.expiry = max(t, candidate.last_chance())
        if candidate.expiry < inf:
            moment = int(candidate.expiry)
            if moment not in self._expiring:
                self._expiring[moment] = []
                heappush(self._expiries, moment)
            self._expiring[moment].append(candidate)

    def _break(self, t: int) -> None:
        """End the runs that did not continue, and narrow their candidates."""
        for entry, run in self._growing:
            if run.last == t:
                continue
            if entry.runs.get(run.key) is run:
                del entry.runs[run.key]
            premise = entry.premise
            for candidate in tuple(run.candidates):
                ends = entry.clause.narrowed(
                    candidate.low, candidate.high, premise.time, -inf, run.last - premise.last
                )
                if ends is None:
                    self._drop(candidate)
                else:
                    candidate.low, candidate.high = ends
                    self._schedule(candidate, t)
                    if self.journal is not None:
                        self.journal[candidate] = None

    def _expire(self, t: int) -> None:
        while self._expiries and self._expiries[0] <= t:
            for candidate in self._expiring.pop(heappop(self._expiries)):
                if candidate.alive and candidate.expiry <= t:
                    self._drop(candidate)

    def _drop(self, candidate: Candidate) -> None:
        candidate.alive = False
        for table, key in candidate.places:
            waiting = table[key]
            del waiting[candidate]
            if not waiting:
                del table[key]
        group = self.groups[candidate.key]
        del group[candidate]
        if not group:
            del self.groups[candidate.key]
            self.general.discard(candidate.key)
        if self.journal is not None:
            self.journal[candidate] = None
        for _, run in candidate.runs():
            run.candidates.pop(candidate, None)


def _order(arrival: tuple[_Entry, Sequence[Row]]) -> tuple[int, int]:
    return arrival[0].order


def _unbroken(candidate: Candidate, t: int, ends: tuple[Ends, Ends]) -> tuple[Ends, Ends] | None:
    """The bounds narrowed by runs that have ended before t."""
    narrowed: tuple[Ends, Ends] | None = ends
    for premise, run in candidate.runs():
        if narrowed is not None and run.last < t:
            narrowed = candidate.clause.narrowed(
                *narrowed, premise.time, -inf, run.last - premise.last
            )
    return narrowed

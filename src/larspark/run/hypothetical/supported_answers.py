"""Supported answers of a candidate: every time variable gets a value.

A time variable without an upper bound stays a variable: that answer can wait without bound.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from math import inf
from typing import NamedTuple, Protocol

from larspark.base.atoms import Signature
from larspark.base.terms import Variable
from larspark.run.hypothetical.candidate import Candidate, Run
from larspark.run.hypothetical.clause import Ends, Moments, Premise
from larspark.run.hypothetical.dataset import Background, Row, Undecided, solutions
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Condition,
    Denied,
    Instance,
    Literal,
    Pattern,
    Prospect,
    Restriction,
    Slot,
    Time,
    substitute,
    substitute_condition,
    substitute_pattern,
    substitute_time,
    time_names,
)


class Absences(Protocol):
    """Decides which atoms are absent."""

    def prospect(self, denied: Denied, t: int) -> Prospect:
        """Can the atom still come to hold, given the facts up to t?"""

    def consistent(self, denied: Sequence[Denied], expected: frozenset[Literal], t: int) -> bool:
        """Can the atoms stay absent if the expected facts arrive?"""


def _current(candidate: Candidate, t: int) -> Iterator[tuple[Ends, Ends]]:
    """The bounds of the times at t: unmet premises lie after t, continuing runs have started."""
    clause = candidate.clause
    ends: tuple[Ends, Ends] | None = (candidate.low, candidate.high)
    for premise, part in zip(clause.premises, candidate.parts, strict=True):
        started = premise.floor is None or premise.floor <= t
        if ends is not None and part is None and started:
            ends = clause.narrowed(*ends, premise.time, t + 1 - premise.first, inf)
        elif ends is not None and isinstance(part, Run) and part.last >= t:
            latest = t - premise.first if started else -inf
            ends = clause.narrowed(*ends, premise.time, -inf, latest)
    if not clause.unmet(candidate.mask):
        for time, more in clause.kept:
            ends = ends and clause.narrowed(*ends, time, t - more, inf)
    if ends is None:
        return
    if clause.premises or not clause.denials:
        yield ends
        return
    # Only absences are needed: some of them have to be known already.
    for denial in clause.denials:
        number = clause.times.index(denial.occurrence.variable)
        begun = clause.narrowed(*ends, number, -inf, t - denial.occurrence.first)
        if begun is not None:
            yield begun


class _Expected(NamedTuple):
    """An expected fact at one time point, and the restrictions on its variables."""

    literal: Literal
    where: tuple[Restriction, ...]


class Grounding:
    """A candidate at a time point: all its answers, given the facts up to t.

    Work that is common to its choices of times is done once.
    """

    def __init__(
        self, candidate: Candidate, t: int, background: Background, absences: Absences
    ) -> None:
        self._candidate = candidate
        self.is_general = candidate.is_general
        self._clause = candidate.clause
        self._t = t
        self._background = background
        self._absences = absences
        self._bindings: dict[str, Slot] = {
            name: value
            for name, value in zip(candidate.clause.names, candidate.values, strict=True)
            if value is not None
        }
        self._expected_at: dict[tuple[int, int | Time], _Expected | None] = {}
        self._prospects: dict[tuple[int, int | Time, int | None], tuple[Prospect, Denied]] = {}

    def choices(self) -> Iterator[tuple[int, Moments]]:
        """All values of the times, each with the number of missing facts."""
        found = dict.fromkeys(
            moments
            for ends in _current(self._candidate, self._t)
            for moments in self._clause.moments(*ends)
        )
        for moments in found:
            yield self._missing(moments), moments

    def open_choices(self) -> Iterator[Moments]:
        """The same, where a time stays open only if nothing that is asked for it has passed."""
        for ends in _current(self._candidate, self._t):
            yield from self._settled(*ends)

    def _settled(self, low: Ends, high: Ends) -> Iterator[Moments]:
        clause = self._clause
        for number, name in enumerate(clause.times):
            if high[number] < inf:
                continue
            asked = [*clause.goal.body.occurrences, *(d.occurrence for d in clause.denials)]
            first = min((o.first for o in asked if o.variable == name), default=0)
            least, later = int(low[number]), self._t - first + 1
            for value in range(least, later):
                ends = clause.narrowed(low, high, number, value, value)
                if ends is not None:
                    yield from self._settled(*ends)
            ends = clause.narrowed(low, high, number, max(least, later), inf)
            if ends is None:
                return
            low, high = ends
        yield from clause.moments(low, high)

    def _missing(self, moments: Moments) -> int:
        """A lower bound on the missing facts: one fact can meet several premises."""
        asked: set[tuple[Signature, int | Time]] = set()
        for premise, part in zip(self._clause.premises, self._candidate.parts, strict=True):
            if isinstance(part, tuple):
                continue
            for point in self._points(premise, moments):
                if part is None or isinstance(point, Time) or point > self._t:
                    asked.add((premise.signature, point))
        return len(asked)

    def at(self, moments: Moments) -> Iterator[Instance]:
        """The instances for one choice of times: several if several facts met a premise."""
        bindings = self._clause.timed(self._bindings, moments)
        where = self._undecided(bindings)
        if where is None:
            return
        seen: list[list[Literal]] = []
        expected: dict[Literal, None] = {}
        for premise, part in zip(self._clause.premises, self._candidate.parts, strict=True):
            if isinstance(part, tuple):
                seen.append([_fact(premise, *part)])
                continue
            for point in self._points(premise, moments):
                if part is not None and isinstance(point, int) and point <= self._t:
                    seen.append([_fact(premise, point, row) for row in part.rows(point)])
                    continue
                needed = self._expected(premise, point, bindings)
                if needed is None:
                    return
                expected[needed.literal] = None
                where.update(needed.where)
        absent: list[Literal] = []
        if self._clause.denials:
            split = self._split(moments, bindings, frozenset(expected))
            if split is None:
                return
            absent, hoped = split
            expected.update(dict.fromkeys(hoped))
        answer = tuple(substitute(slot, bindings) for slot in self._clause.goal.answer)
        hypotheses, restrictions = frozenset(expected), frozenset(where)
        for choice in product(*seen):
            yield Instance(answer, frozenset((*absent, *choice)), hypotheses, restrictions)

    def _undecided(self, bindings: dict[str, Slot]) -> set[Restriction] | None:
        """The restrictions on unbound variables; None when a check is false."""
        if not self._candidate.undecided:
            return set()
        checks: list[Undecided] = [
            substitute_pattern(check, bindings)
            if isinstance(check, Pattern)
            else substitute_condition(check, bindings)
            for check in self._candidate.undecided
        ]
        for _, left in solutions((), checks, {}, self._background):
            return {Restriction(check, isinstance(check, Pattern)) for check in left}
        return None

    def _split(
        self, moments: Moments, bindings: dict[str, Slot], expected: frozenset[Literal]
    ) -> tuple[list[Literal], list[Literal]] | None:
        """The known and the assumed absences; None when a denied atom is certain."""
        absent: list[Literal] = []
        undecided: list[Denied] = []
        for prospect, denied in self._denied(moments, bindings):
            if prospect is Prospect.CERTAIN:
                return None
            if prospect is Prospect.IMPOSSIBLE:
                absent.append(denied.literal)
            else:
                undecided.append(denied)
        if not self._clause.premises and not absent:
            return None
        if undecided and not self._absences.consistent(undecided, expected, self._t):
            return None
        return absent, [denied.literal for denied in undecided]

    def _denied(
        self, moments: Moments, bindings: dict[str, Slot]
    ) -> Iterator[tuple[Prospect, Denied]]:
        """All denied atoms with their prospects; cached, because windows overlap."""
        for number, denial in enumerate(self._clause.denials):
            pattern = denial.occurrence.pattern
            varies = any(time_names(pattern.args))
            now = None
            if denial.now is not None:
                seen_from = substitute_time(denial.now, bindings)
                now = seen_from.offset if seen_from.variable == ORIGIN else None
            for point in self._clause.denied_points(denial, moments):
                key = (number, point, now)
                found = None if varies else self._prospects.get(key)
                if found is None:
                    denied = Denied(substitute_pattern(pattern, bindings), point, now)
                    found = (self._absences.prospect(denied, self._t), denied)
                    self._prospects[key] = found
                yield found

    def _points(self, premise: Premise, moments: Moments) -> Iterator[int | Time]:
        moment = moments[premise.time]
        if moment is None:
            name = self._clause.times[premise.time]
            yield from (Time(name, offset) for offset in range(premise.first, premise.last + 1))
        else:
            yield from range(premise.first_point(moment), moment + premise.last + 1)

    def _expected(
        self, premise: Premise, point: int | Time, bindings: dict[str, Slot]
    ) -> _Expected | None:
        """The expected atom; None when background data leaves no value for it."""
        if premise.times:
            return self._made(premise, point, bindings)
        key = (premise.number, point)
        if key not in self._expected_at:
            self._expected_at[key] = self._made(premise, point, bindings)
        return self._expected_at[key]

    def _made(
        self, premise: Premise, point: int | Time, bindings: dict[str, Slot]
    ) -> _Expected | None:
        occurrence = premise.occurrence
        # Local variables may differ from time point to time point, so they get distinct names.
        own: dict[str, Slot] = {
            name: Variable(_local_name(name.partition(".")[0], point, premise.kind))
            for name in occurrence.local
        }
        all_bindings = bindings | own
        pattern = substitute_pattern(occurrence.pattern, all_bindings)
        if not premise.filtered:
            return _Expected(Literal(point, pattern), ())
        conditions = tuple(substitute_condition(c, all_bindings) for c in occurrence.conditions)
        rigid = tuple(substitute_pattern(p, all_bindings) for p in occurrence.rigid)
        ways = list(islice(solutions(rigid, conditions, {}, self._background), 2))
        if not ways:
            return None
        if len(ways) > 1:
            where = (*map(Restriction, rigid), *map(Restriction, conditions))
            return _Expected(Literal(point, pattern), where)
        known, left = ways[0]
        decided = [
            substitute_condition(check, known) for check in left if isinstance(check, Condition)
        ]
        literal = Literal(point, substitute_pattern(pattern, known))
        return _Expected(literal, tuple(map(Restriction, decided)))


def _local_name(name: str, point: int | Time, kind: int) -> str:
    """A name for each time point; what follows a dot is not shown."""
    return f"{name}.{point}.{kind}" if isinstance(point, Time) else f"{name}{point}.{kind}"


def _fact(premise: Premise, t: int, row: Row) -> Literal:
    return Literal(t, Pattern(premise.signature.predicate, row))

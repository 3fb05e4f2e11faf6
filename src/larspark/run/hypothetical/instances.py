"""From candidates to supported answers: every time variable gets a value.

A time variable without an upper end stays a variable: that answer waits without bound.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from math import inf
from typing import Protocol

from larspark.base.terms import Variable
from larspark.run.hypothetical.candidates import Candidate, Run
from larspark.run.hypothetical.clause import Ends, Premise
from larspark.run.hypothetical.dataset import Background, Row
from larspark.run.hypothetical.literals import Denied, Instance, Literal, Prospect, Restriction
from larspark.run.hypothetical.patterns import (
    Condition,
    Pattern,
    Slot,
    Time,
    put,
    put_condition,
    put_pattern,
)
from larspark.run.hypothetical.solving import solutions


class Absences(Protocol):
    """Knows which atoms are absent."""

    def prospect(self, denied: Denied, t: int) -> Prospect:
        """Can the atom still come to hold, given the facts up to t?"""

    def consistent(self, denied: Sequence[Denied], expected: frozenset[Literal], t: int) -> bool:
        """Can the atoms stay absent if the expected facts come?"""


def instances(
    candidate: Candidate, t: int, background: Background, absences: Absences
) -> Iterator[Instance]:
    """All answers that a candidate stands for, given the facts up to t."""
    clause = candidate.clause
    bindings: dict[str, Slot] = {
        name: value
        for name, value in zip(clause.names, candidate.values, strict=True)
        if value is not None
    }
    found = dict.fromkeys(
        moments for ends in _current(candidate, t) for moments in clause.moments(*ends)
    )
    for moments in found:
        grounding = _Grounding(candidate, moments, clause.timed(bindings, moments), t, background)
        yield from grounding.run(absences)


def _current(candidate: Candidate, t: int) -> Iterator[tuple[Ends, Ends]]:
    """The ends of the times at t: what is lacking lies after t, a run that goes on has begun."""
    clause = candidate.clause
    ends: tuple[Ends, Ends] | None = (candidate.low, candidate.high)
    for premise, part in zip(clause.premises, candidate.parts, strict=True):
        started = premise.floor is None or premise.floor <= t
        if ends is not None and part is None and started:
            ends = clause.narrowed(*ends, premise.time, t + 1 - premise.first, inf)
        elif ends is not None and isinstance(part, Run) and part.last >= t:
            latest = t - premise.first if started else -inf
            ends = clause.narrowed(*ends, premise.time, -inf, latest)
    if not clause.lacking(candidate.mask):
        for time, more in clause.kept:
            ends = ends and clause.narrowed(*ends, time, t - more, inf)
    if ends is None:
        return
    if clause.premises or not clause.denials:
        yield ends
        return
    # Only absence is asked for: some of it has to be known already.
    for denial in clause.denials:
        where = denial.occurrence
        number = clause.times.index(where.variable)
        begun = clause.narrowed(*ends, number, -inf, t - where.first)
        if begun is not None:
            yield begun


class _Grounding:
    """One choice of time points for a candidate."""

    def __init__(
        self,
        candidate: Candidate,
        moments: tuple[int | None, ...],
        bindings: dict[str, Slot],
        t: int,
        background: Background,
    ) -> None:
        self._candidate = candidate
        self._clause = candidate.clause
        self._moments = moments
        self._bindings = bindings
        self._t = t
        self._background = background
        self._where: set[Restriction] = set()

    def run(self, absences: Absences) -> Iterator[Instance]:
        if not self._conditions_hold():
            return
        seen: list[list[Literal]] = []
        expected: set[Literal] = set()
        for premise, part in zip(self._clause.premises, self._candidate.parts, strict=True):
            if isinstance(part, tuple):
                seen.append([_fact(premise, *part)])
                continue
            for point in self._points(premise):
                if part is not None and isinstance(point, int) and point <= self._t:
                    seen.append([_fact(premise, point, row) for row in part.rows(point)])
                    continue
                pattern = self._expected(premise, point)
                if pattern is None:
                    return
                expected.add(Literal(point, pattern))
        undecided: list[Denied] = []
        absent: list[Literal] = []
        for denied in self._clause.denied(self._bindings):
            match absences.prospect(denied, self._t):
                case Prospect.CERTAIN:
                    return
                case Prospect.IMPOSSIBLE:
                    absent.append(denied.literal)
                case Prospect.OPEN:
                    undecided.append(denied)
        if undecided and not absences.consistent(undecided, frozenset(expected), self._t):
            return
        if not self._clause.premises and self._clause.denials and not absent:
            return
        expected.update(denied.literal for denied in undecided)
        answer = tuple(put(slot, self._bindings) for slot in self._clause.goal.answer)
        hypotheses, where = frozenset(expected), frozenset(self._where)
        for choice in product(*seen):
            yield Instance(answer, frozenset((*absent, *choice)), hypotheses, where)

    def _conditions_hold(self) -> bool:
        checks = tuple(
            put_pattern(check, self._bindings)
            if isinstance(check, Pattern)
            else put_condition(check, self._bindings)
            for check in self._candidate.undecided
        )
        if not checks:
            return True
        for _, left in solutions((), checks, {}, self._background):
            self._where.update(Restriction(check, isinstance(check, Pattern)) for check in left)
            return True
        return False

    def _points(self, premise: Premise) -> Iterator[int | Time]:
        moment = self._moments[premise.time]
        if moment is None:
            name = self._clause.times[premise.time]
            yield from (Time(name, offset) for offset in range(premise.first, premise.last + 1))
        else:
            yield from range(premise.first_point(moment), moment + premise.last + 1)

    def _expected(self, premise: Premise, point: int | Time) -> Pattern | None:
        """The atom that has to come; its own variables are named after the time point.

        None when background data leaves no value for them.
        """
        occurrence = premise.occurrence
        own: dict[str, Slot] = {
            name: Variable(f"{name.partition('.')[0]}{point}") for name in occurrence.local
        }
        bindings = self._bindings | own
        pattern = put_pattern(occurrence.pattern, bindings)
        if not premise.filtered:
            return pattern
        conditions = tuple(put_condition(c, bindings) for c in occurrence.conditions)
        rigid = tuple(put_pattern(p, bindings) for p in occurrence.rigid)
        ways = list(islice(solutions(rigid, conditions, {}, self._background), 2))
        if not ways:
            return None
        known, left = ways[0]
        if len(ways) > 1:
            self._where.update(map(Restriction, rigid))
            self._where.update(map(Restriction, conditions))
            return pattern
        for check in left:
            if isinstance(check, Condition):
                self._where.add(Restriction(put_condition(check, known)))
        return put_pattern(pattern, known)


def _fact(premise: Premise, t: int, row: Row) -> Literal:
    return Literal(t, Pattern(premise.signature.predicate, row))

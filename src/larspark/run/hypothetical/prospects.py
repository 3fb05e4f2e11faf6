"""Prospects of denied atoms: impossible, open or certain, given the facts so far and assumptions.

An assumption takes the hypotheses of an answer as given: expected facts and absent atoms. Variables
become unknown values, so that conclusions from the assumption hold for all values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import inf

from larspark.base.atoms import Signature
from larspark.base.terms import Constant, Variable, Wildcard
from larspark.run.hypothetical.clause import Clause, Ends, Premise
from larspark.run.hypothetical.dataset import (
    Background,
    History,
    Known,
    Row,
    Undecided,
    Unknown,
    matched,
    solutions,
)
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Denied,
    Literal,
    Pattern,
    Prospect,
    Slot,
    Time,
)


class Assumption:
    """Facts by predicate and time point, and the atoms that are absent."""

    def __init__(self, expected: Iterable[Literal] = (), denied: Iterable[Denied] = ()) -> None:
        self._unknown: dict[str, Unknown] = {}
        self._rows: dict[Signature, dict[int, list[Row]]] = {}
        anonymous = count()
        for t, pattern, _ in expected:
            if isinstance(t, int) and not any(isinstance(arg, Time) for arg in pattern.args):
                row = tuple(self._value(arg, f"_{next(anonymous)}") for arg in pattern.args)
                self._rows.setdefault(pattern.signature, {}).setdefault(t, []).append(row)
        self.absent = frozenset(map(self.substitute, denied))

    def substitute(self, denied: Denied) -> Denied:
        """The atom with unknown values for its variables."""
        pattern = denied.pattern
        if not any(isinstance(arg, Variable) for arg in pattern.args):
            return denied
        args: list[Slot] = [
            self._value(arg, "") if isinstance(arg, Variable) else arg for arg in pattern.args
        ]
        return denied._replace(pattern=Pattern(pattern.predicate, tuple(args)))

    def _value(self, slot: Slot, anonymous: str) -> Constant:
        match slot:
            case Variable(name):
                return self._unknown.setdefault(name, Unknown(name))
            case Wildcard() | Time():
                return Unknown(anonymous)
            case _:
                return slot

    def at(self, signature: Signature, t: int) -> Sequence[Row]:
        return self._rows.get(signature, {}).get(t, ())

    def times(self, signature: Signature) -> Iterable[int]:
        """The time points at which facts of a predicate are assumed."""
        return self._rows.get(signature, {})


NOTHING = Assumption()


# The number of decisions that are cached.
DECIDED_LIMIT = 100_000


class Prospects:
    """The prospects of all denied atoms of a program."""

    def __init__(
        self,
        queries: Mapping[Signature, Sequence[Clause]],
        background: Background,
        history: History,
    ) -> None:
        self.queries = queries
        self.background = background
        self.history = history
        self._decided: dict[Denied, Prospect] = {}
        self._open: set[Denied] = set()
        self._t: int | None = None

    def prospect(self, denied: Denied, t: int) -> Prospect:
        if t != self._t:
            self._t = t
            self._open.clear()
        # Atoms may depend on others to any depth: an explicit stack instead of recursion.
        waiting = [denied]
        while True:
            known = self.known(waiting[-1])
            if known is None:
                try:
                    known = _Search(self, t).prospect(waiting[-1])
                except _NeededError as needed:
                    waiting.append(needed.denied)
                    continue
                if known is Prospect.OPEN:
                    self._open.add(waiting[-1])
                else:
                    self._decided[waiting[-1]] = known
            waiting.pop()
            if not waiting:
                return known

    def known(self, denied: Denied) -> Prospect | None:
        if denied in self._open:
            return Prospect.OPEN
        return self._decided.get(denied)

    def consistent(self, denied: Sequence[Denied], expected: frozenset[Literal], t: int) -> bool:
        """Can all these atoms stay underived if the expected facts arrive?"""
        asked = {(literal.t, literal.pattern.predicate) for literal in expected}
        doubtful = [
            one
            for one in denied
            if isinstance(one.t, int)
            and (one.pattern.signature in self.queries or (one.t, one.pattern.predicate) in asked)
        ]
        if not doubtful:
            return True
        assumed = Assumption(expected, denied)
        return not any(
            self.settled(assumed.substitute(one), assumed, t) is Prospect.CERTAIN
            for one in doubtful
        )

    def is_input(self, signature: Signature) -> bool:
        return signature not in self.queries

    def settled(self, denied: Denied, assumed: Assumption, t: int) -> Prospect:
        while True:
            try:
                return _Search(self, t, assumed).prospect(denied)
            except _NeededError as needed:
                self.prospect(needed.denied, t)

    def forget(self, t: int) -> None:
        """Drop facts that are not needed after t; decisions are only cached."""
        self.history.forget(t)
        if len(self._decided) > DECIDED_LIMIT:
            self._decided.clear()


class _NeededError(Exception):
    """Another atom has to be decided first."""

    def __init__(self, denied: Denied) -> None:
        self.denied = denied


class _Search:
    """Finds the most certain derivation of an atom, from facts up to t and assumptions after it."""

    def __init__(self, prospects: Prospects, t: int, assumed: Assumption = NOTHING) -> None:
        self._prospects = prospects
        self._background = prospects.background
        self._history = prospects.history
        self._t = t
        self._assumed = assumed

    def prospect(self, denied: Denied) -> Prospect:
        pattern, point, now = denied
        if not isinstance(point, int):
            return Prospect.OPEN
        clauses = self._prospects.queries.get(pattern.signature)
        if clauses is None:
            return self._input(pattern, point)
        best = Prospect.IMPOSSIBLE
        for clause in clauses:
            best = max(best, self._derived(clause, pattern, point, now))
            if best is Prospect.CERTAIN:
                break
        return best

    def _input(self, pattern: Pattern, point: int) -> Prospect:
        if point > self._t:
            rows = self._assumed.at(pattern.signature, point)
            return (
                Prospect.CERTAIN
                if any(matched(pattern, row, {}) == {} for row in rows)
                else Prospect.OPEN
            )
        best = Prospect.IMPOSSIBLE
        for row in self._history.at(pattern.signature, point):
            known = matched(pattern, row, {})
            if known is not None:
                best = max(best, Prospect.OPEN if known else Prospect.CERTAIN)
        return best

    def _derived(self, clause: Clause, pattern: Pattern, point: int, now: int | None) -> Prospect:
        """The most certain derivation by one clause, whose answer ends with its time and now."""
        *args, at, seen_from = clause.goal.answer
        wanted: list[tuple[Slot, Slot]] = [*zip(args, pattern.args, strict=True), (at, point)]
        if now is not None:
            wanted.append((seen_from, now))
        known: dict[str, Constant] = {}
        ends: tuple[Ends, Ends] | None = (clause.low, clause.high)
        sure = Prospect.CERTAIN
        for slot, given in wanted:
            if isinstance(given, Wildcard):
                continue
            if isinstance(given, Variable | Time):
                # Whether it is this atom shows when the value is known.
                sure = Prospect.OPEN
            elif isinstance(slot, Variable):
                if known.setdefault(slot.name, given) != given:
                    return Prospect.IMPOSSIBLE
            elif isinstance(slot, Time):
                if ends is None or not isinstance(given, int):
                    return Prospect.IMPOSSIBLE
                ends = clause.pinned(*ends, clause.times.index(slot.variable), given - slot.offset)
            elif slot != given:
                return Prospect.IMPOSSIBLE
        if ends is None:
            return Prospect.IMPOSSIBLE
        best = Prospect.IMPOSSIBLE
        start = known | _fixed_times(clause, ends)
        for solved, left in solutions(clause.rigid, clause.checks, start, self._background):
            narrowed = _with_times(clause, solved, ends)
            if narrowed is not None and best < sure:
                best = max(best, self._premises(clause, 0, solved, narrowed, left, sure))
        return best

    def _premises(
        self,
        clause: Clause,
        number: int,
        known: Known,
        ends: tuple[Ends, Ends],
        left: tuple[Undecided, ...],
        sure: Prospect,
    ) -> Prospect:
        """The most certain way to meet the premises from this number on."""
        if number == len(clause.premises):
            return self._absences(clause, known, ends, min(sure, Prospect.OPEN) if left else sure)
        best = Prospect.IMPOSSIBLE
        for met, then, how_sure in self._ways(clause, clause.premises[number], known, ends):
            checked = solutions((), left, met, self._background)
            for more, undecided in checked:
                surest = min(sure, how_sure)
                found = self._premises(clause, number + 1, more, then, undecided, surest)
                best = max(best, found)
                if best is sure:
                    return best
        return best

    def _ways(
        self, clause: Clause, premise: Premise, known: Known, ends: tuple[Ends, Ends]
    ) -> Iterator[tuple[Known, tuple[Ends, Ends], Prospect]]:
        """The facts that meet a premise, and the possibility that future facts meet it."""
        least, most = ends[0][premise.time], ends[1][premise.time]
        for moment in self._begins(premise, int(least), most):
            pinned = clause.pinned(*ends, premise.time, moment)
            if pinned is None:
                continue
            points = range(premise.first_point(moment), moment + premise.last + 1)
            for row in self._rows(premise, points[0]):
                met = self._met(clause, premise, row, known, pinned)
                if met is not None and (sure := self._continues(clause, premise, points[1:], *met)):
                    yield *met, sure
        if premise.floor is None or premise.floor <= self._t:
            ahead = clause.narrowed(*ends, premise.time, self._t + 1 - premise.first, inf)
        else:
            ahead = ends
        if ahead is not None:
            yield known, ahead, Prospect.OPEN

    def _begins(self, premise: Premise, least: int, most: float) -> Iterator[int]:
        """The values of the time variable for which the premise starts at a fact."""
        if premise.is_span:
            latest = max([self._t, *self._assumed.times(premise.signature)])
            for moment in range(least, int(min(most, latest - premise.first)) + 1):
                if premise.first_point(moment) <= latest:
                    yield moment
            return
        last = min(most + premise.first, self._t)
        for t in self._history.times(premise.signature, least + premise.first, last):
            yield t - premise.first
        for t in self._assumed.times(premise.signature):
            if least <= t - premise.first <= most:
                yield t - premise.first

    def _rows(self, premise: Premise, t: int) -> Sequence[Row]:
        if t <= self._t:
            return self._history.at(premise.signature, t)
        return self._assumed.at(premise.signature, t)

    def _met(
        self,
        clause: Clause,
        premise: Premise,
        row: Row,
        known: Known,
        ends: tuple[Ends, Ends],
    ) -> tuple[Known, tuple[Ends, Ends]] | None:
        """The bindings when a fact meets the premise; None when it does not."""
        occurrence = premise.occurrence
        met = matched(occurrence.pattern, row, dict(known) | _fixed_times(clause, ends))
        if met is None:
            return None
        ways = solutions(occurrence.rigid, occurrence.conditions, met, self._background)
        if all(undecided for _, undecided in ways):
            return None
        narrowed = _with_times(clause, met, ends)
        if narrowed is None:
            return None
        return {name: met[name] for name in met if name not in occurrence.local}, narrowed

    def _continues(
        self,
        clause: Clause,
        premise: Premise,
        points: range,
        known: Known,
        ends: tuple[Ends, Ends],
    ) -> Prospect:
        """Is the premise also met at these time points?"""
        sure = Prospect.CERTAIN
        for point in points:
            rows = self._rows(premise, point)
            if not any(self._met(clause, premise, row, known, ends) for row in rows):
                if point <= self._t:
                    return Prospect.IMPOSSIBLE
                sure = Prospect.OPEN
        return sure

    def _absences(
        self, clause: Clause, known: Known, ends: tuple[Ends, Ends], sure: Prospect
    ) -> Prospect:
        if not clause.denials:
            return sure
        best = Prospect.IMPOSSIBLE
        values = {name: value for name, value in known.items() if name not in clause.times}
        for moments in clause.moments(*ends):
            outcome = sure
            for denied in clause.denied(clause.timed(values, moments)):
                if denied not in self._assumed.absent:
                    # A certain atom makes its absence impossible, and vice versa.
                    outcome = min(outcome, Prospect(2 - self._looked_up(denied)))
            best = max(best, outcome)
            if best is sure:
                break
        return best

    def _looked_up(self, denied: Denied) -> Prospect:
        if any(isinstance(arg, Unknown) for arg in denied.pattern.args):
            return Prospect.OPEN
        if denied.pattern.signature not in self._prospects.queries or not isinstance(denied.t, int):
            return self.prospect(denied)
        known = self._prospects.known(denied)
        if known is None:
            raise _NeededError(denied)
        return known


def _fixed_times(clause: Clause, ends: tuple[Ends, Ends]) -> dict[str, Constant]:
    return {
        name: int(low)
        for name, low, high in zip(clause.times, *ends, strict=True)
        if low == high and name != ORIGIN
    }


def _with_times(clause: Clause, known: Known, ends: tuple[Ends, Ends]) -> tuple[Ends, Ends] | None:
    """The bounds narrowed to the known values of the time variables."""
    narrowed: tuple[Ends, Ends] | None = ends
    for number, name in enumerate(clause.times):
        moment = known.get(name)
        if narrowed is not None and isinstance(moment, int):
            narrowed = clause.pinned(*narrowed, number, moment)
    return narrowed

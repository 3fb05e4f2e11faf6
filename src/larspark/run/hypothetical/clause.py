"""A clause: one set of premises of the query, compiled for the online step.

Variables are numbered. An environment is a tuple of values, None for unbound variables. Time
variables have lower and upper bounds; a table of distances propagates a bound of one of them to the
others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from larspark.base.atoms import Signature
from larspark.base.terms import Constant, Variable, Wildcard
from larspark.run.hypothetical.dataset import Undecided
from larspark.run.hypothetical.goals import Goal
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Denied,
    Pattern,
    Slot,
    Time,
    object_names,
    substitute_time,
)
from larspark.run.hypothetical.temporal_rules import Denial, Occurrence

Values: TypeAlias = tuple[Constant | None, ...]
# One bound for each time variable; an upper bound may be infinite.
Ends: TypeAlias = tuple[float, ...]
# One value for each time variable; None for those without an upper bound.
Moments: TypeAlias = tuple[int | None, ...]


@dataclass(slots=True)
class Premise:
    """An atom that facts have to match, at one time point or at all time points of a span."""

    number: int
    signature: Signature
    occurrence: Occurrence
    # The time variable, and the distances from it to the first and last time point.
    time: int
    first: int
    last: int
    floor: int | None
    constants: tuple[tuple[int, Constant], ...]
    variables: tuple[tuple[int, int], ...]
    times: tuple[tuple[int, int, int], ...]
    repeats: tuple[tuple[int, int], ...]
    # The positions that are the same for all facts of a span.
    fixed: tuple[int, ...]
    # Equal for premises that the same facts meet.
    kind: int = 0
    # Premises are tried in the order of their ranks within a time point.
    rank: int = 0
    # Whether a candidate can start with this premise.
    starts: bool = True
    filtered: bool = False
    # Whether several facts can meet it at one time point.
    leaves_open: bool = False
    is_span: bool = False
    # For how many time points a fact of a run is kept.
    kept: float = inf

    def first_point(self, value: int) -> int:
        """The first time point of the span that counts, for a value of the time variable."""
        point = value + self.first
        return point if self.floor is None else max(point, self.floor)


# Premises that can be met next, each with those of its variables that are bound.
Frontier: TypeAlias = tuple[tuple[Premise, tuple[int, ...]], ...]


@dataclass(slots=True, eq=False)
class Clause:
    """One set of premises that gives the answer."""

    goal: Goal
    names: tuple[str, ...]
    times: tuple[str, ...]
    # distance[i][j] is the largest value of time i - time j.
    distance: tuple[tuple[float, ...], ...]
    low: Ends
    high: Ends
    premises: tuple[Premise, ...]
    full: int
    # Answer variables by position, None for those that are not object variables.
    key: tuple[int | None, ...]
    # Up to this time point a span may be clipped at the start, and any premise may come first.
    floor: float
    # A complete match is kept until one of these times is this many time points ago.
    kept: tuple[tuple[int, float], ...] = ()
    _unmet: dict[int, tuple[Premise, ...]] = field(default_factory=dict)
    _frontiers: dict[int, Frontier] = field(default_factory=dict)

    @property
    def denials(self) -> tuple[Denial, ...]:
        return self.goal.body.denials

    @property
    def rigid(self) -> tuple[Pattern, ...]:
        return self.goal.body.rigid

    @property
    def checks(self) -> tuple[Undecided, ...]:
        """The conditions that are decided as soon as their variables are bound."""
        return self.goal.body.conditions + self.goal.body.missing

    def ahead(self, left: Premise, right: Premise) -> float:
        """By how much the left premise can start later than the right one."""
        return self.distance[left.time][right.time] + left.first - right.first

    def unmet(self, mask: int) -> tuple[Premise, ...]:
        """The premises that are not met yet."""
        known = self._unmet.get(mask)
        if known is None:
            known = tuple(p for p in self.premises if not mask >> p.number & 1)
            self._unmet[mask] = known
        return known

    def frontier(self, mask: int, values: Values) -> Frontier:
        """The premises that can be met next.

        Which variables are bound depends only on the met premises, so it is computed once.
        """
        known = self._frontiers.get(mask)
        if known is None:
            unmet = self.unmet(mask)
            known = tuple(
                (premise, tuple(v for _, v in premise.variables if values[v] is not None))
                for premise in unmet
                # A run may have started long before the time points of the span.
                if premise.is_span or not any(self.ahead(other, premise) < 0 for other in unmet)
            )
            self._frontiers[mask] = known
        return known

    def pinned(self, low: Ends, high: Ends, time: int, value: float) -> tuple[Ends, Ends] | None:
        """The bounds when one time variable has this value; None when it cannot."""
        if not low[time] <= value <= high[time]:
            return None
        if len(low) == 1:
            return (value,), (value,)
        return self.narrowed(low, high, time, value, value)

    def narrowed(
        self, low: Ends, high: Ends, time: int, least: float, most: float
    ) -> tuple[Ends, Ends] | None:
        """The bounds when one time variable lies between two values; None when it cannot."""
        lower, upper = list(low), list(high)
        for number, away in enumerate(self.distance[time]):
            if least - away > lower[number]:
                lower[number] = least - away
            ahead = most + self.distance[number][time]
            if ahead < upper[number]:
                upper[number] = ahead
            if lower[number] > upper[number]:
                return None
        return tuple(lower), tuple(upper)

    def moments(self, low: Ends, high: Ends) -> Iterator[Moments]:
        """All values of the time variables; None for those without an upper bound."""
        for number, (least, most) in enumerate(zip(low, high, strict=True)):
            if least < most < inf:
                for value in range(int(least), int(most) + 1):
                    ends = self.narrowed(low, high, number, value, value)
                    if ends is not None:
                        yield from self.moments(*ends)
                return
        yield tuple(None if most == inf else int(most) for most in high)

    def timed(self, bindings: Mapping[str, Slot], moments: Moments) -> dict[str, Slot]:
        """The bindings with the time variables added; those without a value stay variables."""
        return dict(bindings) | {
            name: Time(name) if moment is None else Time(ORIGIN, moment)
            for name, moment in zip(self.times, moments, strict=True)
        }

    def denied_points(self, denial: Denial, moments: Moments) -> Sequence[int | Time]:
        """The time points of a denial."""
        where = denial.occurrence
        moment = moments[self.times.index(where.variable)]
        if moment is None:
            return [Time(where.variable, o) for o in range(where.first, where.last + 1)]
        first = moment + where.first
        if where.floor is not None and where.floor > first:
            first = where.floor
        return range(first, moment + where.last + 1)

    def denied(self, bindings: Mapping[str, Slot]) -> Iterator[Denied]:
        """The atoms that must not hold."""
        for denial in self.denials:
            where = denial.occurrence.substitute(bindings)
            now = None if denial.now is None else substitute_time(denial.now, bindings)
            seen_from = now.offset if now is not None and now.variable == ORIGIN else None
            for offset in range(where.first, where.last + 1):
                if where.variable != ORIGIN:
                    yield Denied(where.pattern, Time(where.variable, offset), seen_from)
                elif where.floor is None or offset >= where.floor:
                    yield Denied(where.pattern, offset, seen_from)


def compiled(goal: Goal) -> Clause:
    """Compile a goal in normal form: number its variables and tabulate its distances."""
    times = sorted(set(goal.time_names()) or {ORIGIN})
    names = tuple(dict.fromkeys((*object_names(goal.answer), *_shared_names(goal))))
    bounds = goal.body.bounds

    def distance(left: str, right: str) -> float:
        bound = bounds.upper(left, right)
        return inf if bound is None else bound

    premises = tuple(
        _premise(number, occurrence, names, times)
        for number, occurrence in enumerate(goal.body.occurrences)
    )
    clause = Clause(
        goal,
        names,
        tuple(times),
        tuple(tuple(distance(left, right) for right in times) for left in times),
        tuple(-distance(ORIGIN, name) for name in times),
        tuple(distance(name, ORIGIN) for name in times),
        premises,
        (1 << len(premises)) - 1,
        tuple(
            names.index(slot.name) if isinstance(slot, Variable) else None for slot in goal.answer
        ),
        max((p.floor for p in premises if p.floor is not None), default=-inf),
    )
    _rank(clause)
    kinds: dict[object, int] = {}
    for premise in premises:
        where = premise.occurrence
        same = (where.pattern, where.local, where.rigid, where.conditions)
        premise.kind = kinds.setdefault(same, len(kinds))
    return clause


def _shared_names(goal: Goal) -> Iterator[str]:
    body = goal.body
    for occurrence in body.occurrences:
        for name in occurrence.object_names():
            if name not in occurrence.local:
                yield name
    for denial in body.denials:
        yield from denial.occurrence.object_names()
    for pattern in body.rigid + body.missing:
        yield from object_names(pattern.args)
    for condition in body.conditions:
        yield from object_names((condition.left, condition.right))


def _premise(
    number: int, occurrence: Occurrence, names: tuple[str, ...], times: list[str]
) -> Premise:
    constants: list[tuple[int, Constant]] = []
    variables: list[tuple[int, int]] = []
    time_args: list[tuple[int, int, int]] = []
    repeats: list[tuple[int, int]] = []
    fixed: list[int] = []
    seen: dict[str, int] = {}
    for position, arg in enumerate(occurrence.pattern.args):
        match arg:
            case Wildcard():
                pass
            case Variable(name) if name in seen:
                repeats.append((seen[name], position))
            case Variable(name):
                seen[name] = position
                if name not in occurrence.local:
                    variables.append((position, names.index(name)))
                    fixed.append(position)
            case Time(name, offset):
                time_args.append((position, times.index(name), offset))
                fixed.append(position)
            case _:
                constants.append((position, arg))
    return Premise(
        number,
        occurrence.pattern.signature,
        occurrence,
        times.index(occurrence.variable),
        occurrence.first,
        occurrence.last,
        occurrence.floor,
        tuple(constants),
        tuple(variables),
        tuple(time_args),
        tuple(repeats),
        tuple(fixed),
        filtered=bool(occurrence.rigid or occurrence.conditions),
        leaves_open=bool(occurrence.local) or Wildcard() in occurrence.pattern.args,
        is_span=not occurrence.is_point,
    )


def _rank(clause: Clause) -> None:
    """Rank the premises: one that is never later than another gets the lower rank."""
    left = list(clause.premises)
    rank = 0
    while left:
        first = next(
            premise
            for premise in left
            if not any(
                clause.ahead(other, premise) <= 0 < clause.ahead(premise, other)
                for other in left
                if other is not premise
            )
        )
        first.rank = rank
        left.remove(first)
        rank += 1
    for premise in clause.premises:
        premise.starts = premise.is_span or all(
            clause.ahead(other, premise) > (0 if other.rank < premise.rank else -1)
            for other in clause.premises
            if other is not premise
        )


def distance(clause: Clause, later: Time, earlier: Time) -> float:
    """The largest distance by which one time point can be later than another."""
    offset = later.offset - earlier.offset
    if ORIGIN == earlier.variable != later.variable:
        return clause.high[clause.times.index(later.variable)] + offset
    if ORIGIN == later.variable != earlier.variable:
        return offset - clause.low[clause.times.index(earlier.variable)]
    if later.variable == earlier.variable:
        return offset
    one, other = clause.times.index(later.variable), clause.times.index(earlier.variable)
    return clause.distance[one][other] + offset

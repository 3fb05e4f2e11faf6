"""Rules over time points: Temporal Datalog with negation, the result of unfolding windows.

Time points of a rule are related by differences only: `T` lies in the window of `N`, `S` is one
later than `T`. These relations are a table of upper bounds on `left - right` (`Bounds`). The table
is kept closed - every implied bound is in it - so that a contradiction shows at once, and a
variable can be projected out without losing relations between the others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from larspark.language.tree import Rule
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Bindings,
    Condition,
    Pattern,
    Time,
    object_names,
    substitute_condition,
    substitute_pattern,
    substitute_time,
    time_names,
)


class Bounds:
    """A closed, satisfiable table of upper bounds on differences of time variables.

    >>> bounds = Bounds().at_most(Time("S"), Time("N")).at_most(Time("N"), Time("S", 5))
    >>> bounds.upper("N", "S"), bounds.upper("S", "N")
    (5, 0)
    >>> bounds.at_most(Time("N", 1), Time("S")) is None
    True
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: dict[str, dict[str, int]] | None = None) -> None:
        self._rows = rows or {}

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(self._rows) - {ORIGIN}

    def upper(self, left: str, right: str) -> int | None:
        """The largest value of `left - right`; None when there is none."""
        if left == right:
            return 0
        return self._rows.get(left, {}).get(right)

    def at_most(self, left: Time, right: Time) -> "Bounds | None":
        """Add `left <= right`; None when that contradicts the bounds."""
        slack = right.offset - left.offset
        if left.variable == right.variable:
            return self if slack >= 0 else None
        known = self.upper(left.variable, right.variable)
        if known is not None and known <= slack:
            return self
        back = self.upper(right.variable, left.variable)
        if back is not None and back + slack < 0:
            return None
        return self._with(left.variable, right.variable, slack)

    def _with(self, left: str, right: str, slack: int) -> "Bounds":
        rows = {name: dict(row) for name, row in self._rows.items()}
        sources = [(left, 0)] + [
            (name, row[left]) for name, row in rows.items() if left in row and name != left
        ]
        targets = [(right, 0), *rows.get(right, {}).items()]
        rows.setdefault(right, {})
        for source, before in sources:
            row = rows.setdefault(source, {})
            for target, after in targets:
                if source == target:
                    continue
                bound = before + slack + after
                if target not in row or row[target] > bound:
                    row[target] = bound
        return Bounds(rows)

    def implies(self, left: Time, right: Time) -> bool:
        """Does `left <= right` follow?"""
        slack = right.offset - left.offset
        known = self.upper(left.variable, right.variable)
        return known is not None and known <= slack

    def merged(self, other: "Bounds") -> "Bounds | None":
        bounds: Bounds | None = self
        for left, row in other._rows.items():
            for right, bound in row.items():
                if bounds is None:
                    return None
                bounds = bounds.at_most(Time(left), Time(right, bound))
        return bounds

    def substitute(self, bindings: "dict[str, Time]") -> "Bounds | None":
        """Replace variables by other time points."""
        moved: Bounds | None = Bounds()
        for left, row in self._rows.items():
            for right, bound in row.items():
                if moved is None:
                    return None
                one = bindings[left] if left in bindings else Time(left)
                two = bindings[right] if right in bindings else Time(right)
                moved = moved.at_most(one, two.shifted(bound))
        return moved

    def projected(self, variables: Iterable[str]) -> "Bounds":
        """Project out all other variables: exact, because the table is closed."""
        kept = {*variables, ORIGIN}
        rows = {
            name: {other: bound for other, bound in row.items() if other in kept}
            for name, row in self._rows.items()
            if name in kept
        }
        return Bounds(rows)

    def entries(self) -> Iterable[tuple[str, str, int]]:
        for left, row in self._rows.items():
            for right, bound in row.items():
                yield left, right, bound

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bounds):
            return NotImplemented
        return sorted(self.entries()) == sorted(other.entries())

    def __hash__(self) -> int:
        return hash(frozenset(self.entries()))


# The variable of the evaluation time.
NOW = "now"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A pattern at every time point from `variable + first` to `variable + last`.

    With a `floor`, the time points before it do not count: a window is clipped where the stream
    starts. The variables in `local` (and wildcards) may have another value at each time point, as
    long as `rigid` and `conditions` hold for them; all other variables have one value throughout.
    """

    pattern: Pattern
    variable: str
    first: int
    last: int
    floor: int | None = None
    local: frozenset[str] = frozenset()
    rigid: tuple[Pattern, ...] = ()
    conditions: tuple[Condition, ...] = ()

    @property
    def is_point(self) -> bool:
        return self.first == self.last and self.floor is None

    @property
    def time(self) -> Time:
        """The time point, or the first one of several."""
        return Time(self.variable, self.first)

    def substitute(self, bindings: Bindings) -> "Occurrence":
        moved = substitute_time(Time(self.variable), bindings)
        return Occurrence(
            substitute_pattern(self.pattern, bindings),
            moved.variable,
            self.first + moved.offset,
            self.last + moved.offset,
            self.floor,
            self.local,
            tuple(substitute_pattern(pattern, bindings) for pattern in self.rigid),
            tuple(substitute_condition(condition, bindings) for condition in self.conditions),
        )

    def at(self, offset: int) -> "Occurrence":
        """The same pattern at one time point only."""
        return replace(self, first=offset, last=offset, floor=None)

    def object_names(self) -> Iterator[str]:
        yield from object_names(self.pattern.args)
        for pattern in self.rigid:
            yield from object_names(pattern.args)
        for condition in self.conditions:
            yield from object_names((condition.left, condition.right))

    def time_names(self) -> Iterator[str]:
        yield self.variable
        yield from time_names(self.pattern.args)

    def __str__(self) -> str:
        if self.is_point:
            return f"@{self.time} {self.pattern}"
        return f"@{self.time}..{Time(self.variable, self.last)} {self.pattern}"


@dataclass(frozen=True, slots=True)
class Denial:
    """No instance of the pattern at any time point of the occurrence, evaluated at `now`.

    Without `now` the denial does not depend on the evaluation time.
    """

    occurrence: Occurrence
    now: Time | None

    def substitute(self, bindings: Bindings) -> "Denial":
        now = None if self.now is None else substitute_time(self.now, bindings)
        return Denial(self.occurrence.substitute(bindings), now)

    def __str__(self) -> str:
        return f"not {self.occurrence}"


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A rule body: atoms over time, their absence, background data, comparisons."""

    occurrences: tuple[Occurrence, ...] = ()
    denials: tuple[Denial, ...] = ()
    rigid: tuple[Pattern, ...] = ()
    missing: tuple[Pattern, ...] = ()
    conditions: tuple[Condition, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)

    def joined(self, other: "Conjunction") -> "Conjunction | None":
        """Both together; None when their times contradict each other."""
        bounds = self.bounds.merged(other.bounds)
        if bounds is None:
            return None
        return Conjunction(
            self.occurrences + other.occurrences,
            self.denials + other.denials,
            self.rigid + other.rigid,
            self.missing + other.missing,
            self.conditions + other.conditions,
            bounds,
        )

    def substitute(self, bindings: Bindings) -> "Conjunction | None":
        times = {name: slot for name, slot in bindings.items() if isinstance(slot, Time)}
        bounds = self.bounds.substitute(times) if times else self.bounds
        if bounds is None:
            return None
        return Conjunction(
            tuple(item.substitute(bindings) for item in self.occurrences),
            tuple(item.substitute(bindings) for item in self.denials),
            tuple(substitute_pattern(pattern, bindings) for pattern in self.rigid),
            tuple(substitute_pattern(pattern, bindings) for pattern in self.missing),
            tuple(substitute_condition(condition, bindings) for condition in self.conditions),
            bounds,
        )

    def object_names(self) -> Iterator[str]:
        for occurrence in self.occurrences:
            yield from occurrence.object_names()
        for denial in self.denials:
            yield from denial.occurrence.object_names()
        for pattern in self.rigid + self.missing:
            yield from object_names(pattern.args)
        for condition in self.conditions:
            yield from object_names((condition.left, condition.right))

    def time_names(self) -> Iterator[str]:
        yield from self.asked_times()
        yield from (denial.now.variable for denial in self.denials if denial.now is not None)

    def asked_times(self) -> Iterator[str]:
        """The time variables of the body, without the evaluation times of denials."""
        for occurrence in self.occurrences:
            yield from occurrence.time_names()
        for denial in self.denials:
            yield from denial.occurrence.time_names()
        for pattern in self.rigid + self.missing:
            yield from time_names(pattern.args)
        for condition in self.conditions:
            yield from time_names((condition.left, condition.right))

    def texts(self) -> Iterator[str]:
        yield from map(str, self.occurrences)
        yield from map(str, self.denials)
        yield from map(str, self.rigid)
        yield from (f"not {pattern}" for pattern in self.missing)
        yield from map(str, self.conditions)


@dataclass(frozen=True, slots=True)
class TemporalRule:
    """`@time head :- body`, evaluated at `NOW`, which may occur in it like any time variable."""

    head: Pattern
    time: Time
    body: Conjunction
    source: Rule

    @property
    def depends_on_now(self) -> bool:
        """Does the rule depend on the evaluation time?"""
        return NOW in {self.time.variable, *self.body.bounds.variables, *self.body.asked_times()}

    def __str__(self) -> str:
        body = ", ".join(self.body.texts())
        return f"@{self.time} {self.head}" + (f" :- {body}" if body else "")

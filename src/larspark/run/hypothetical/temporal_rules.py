"""Rules over time points: Temporal Datalog with negation, the form that windows unfold into."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from larspark.language.tree import Rule
from larspark.run.hypothetical.patterns import (
    Bindings,
    Condition,
    Pattern,
    Time,
    object_names,
    put_condition,
    put_pattern,
    put_time,
    time_names,
)
from larspark.run.hypothetical.time_bounds import Bounds

# The evaluation time: every rule body is seen from it.
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

    def put(self, bindings: Bindings) -> "Occurrence":
        moved = put_time(Time(self.variable), bindings)
        return Occurrence(
            put_pattern(self.pattern, bindings),
            moved.variable,
            self.first + moved.offset,
            self.last + moved.offset,
            self.floor,
            self.local,
            tuple(put_pattern(pattern, bindings) for pattern in self.rigid),
            tuple(put_condition(condition, bindings) for condition in self.conditions),
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
    """No instance of the pattern at any time point of the occurrence, seen from `now`.

    Without `now` it does not matter from when one looks.
    """

    occurrence: Occurrence
    now: Time | None

    def put(self, bindings: Bindings) -> "Denial":
        now = None if self.now is None else put_time(self.now, bindings)
        return Denial(self.occurrence.put(bindings), now)

    def __str__(self) -> str:
        return f"not {self.occurrence}"


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What a rule asks for: atoms over time, their absence, background data, comparisons."""

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

    def put(self, bindings: Bindings) -> "Conjunction | None":
        times = {name: slot for name, slot in bindings.items() if isinstance(slot, Time)}
        bounds = self.bounds.put(times) if times else self.bounds
        if bounds is None:
            return None
        return Conjunction(
            tuple(item.put(bindings) for item in self.occurrences),
            tuple(item.put(bindings) for item in self.denials),
            tuple(put_pattern(pattern, bindings) for pattern in self.rigid),
            tuple(put_pattern(pattern, bindings) for pattern in self.missing),
            tuple(put_condition(condition, bindings) for condition in self.conditions),
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
        """The time variables of all that is asked, not those from which denials are seen."""
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
    """`@time head :- body`, seen from `NOW`, which may occur in it like any time variable."""

    head: Pattern
    time: Time
    body: Conjunction
    source: Rule

    @property
    def depends_on_now(self) -> bool:
        """Does it matter from when the rule is seen?"""
        return NOW in {self.time.variable, *self.body.bounds.variables, *self.body.asked_times()}

    def __str__(self) -> str:
        body = ", ".join(self.body.texts())
        return f"@{self.time} {self.head}" + (f" :- {body}" if body else "")

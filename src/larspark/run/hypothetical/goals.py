"""Goals of resolution: what an answer still needs, and which of two goals asks for no more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from larspark.base.terms import Variable, Wildcard
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Bindings,
    Calculation,
    Condition,
    Expression,
    Pattern,
    Slot,
    Time,
    holds,
    object_names,
    substitute,
    substitute_pattern,
    substitute_time,
    time_names,
)
from larspark.run.hypothetical.temporal_rules import (
    NOW,
    Conjunction,
    Denial,
    Occurrence,
    TemporalRule,
)
from larspark.run.hypothetical.window_scope import time_pairs


@dataclass(frozen=True, slots=True)
class Goal:
    """`answer` holds, seen from `now`, if the derived atoms in `open` and all of `body` hold.

    The occurrences of the body are of input predicates: premises.
    """

    answer: tuple[Slot, ...]
    now: Time
    open: tuple[Occurrence, ...]
    body: Conjunction

    def substitute(self, bindings: Bindings) -> "Goal | None":
        if not bindings:
            return self
        body = self.body.substitute(bindings)
        if body is None:
            return None
        return Goal(
            tuple(substitute(slot, bindings) for slot in self.answer),
            substitute_time(self.now, bindings),
            tuple(occurrence.substitute(bindings) for occurrence in self.open),
            body,
        )

    def joined(self, body: Conjunction) -> "Goal | None":
        joined = self.body.joined(body)
        return None if joined is None else replace(self, body=joined)

    def at_most(self, left: Time, right: Time) -> "Goal | None":
        bounds = self.body.bounds.at_most(left, right)
        return None if bounds is None else replace(self, body=replace(self.body, bounds=bounds))

    def equal(self, left: Time, right: Time) -> "Goal | None":
        """The goal with two time points equated, which eliminates a time variable."""
        if left.variable == right.variable:
            return self if left.offset == right.offset else None
        if right.variable == ORIGIN:
            left, right = right, left
        return self.substitute({right.variable: left.shifted(-right.offset)})

    def time_names(self) -> Iterator[str]:
        """The time variables of the answer, the open atoms and the body."""
        yield from time_names(self.answer)
        for occurrence in self.open:
            yield from occurrence.time_names()
        yield from self.body.time_names()

    def __str__(self) -> str:
        return ", ".join([*map(str, self.open), *self.body.texts()])


def simplified(goal: Goal) -> Goal | None:
    """Evaluate ground conditions and apply equalities; None when a condition is false."""
    undecided: list[Condition] = []
    waiting = list(goal.body.conditions)
    current: Goal | None = replace(goal, body=replace(goal.body, conditions=()))
    while waiting and current is not None:
        condition = waiting.pop()
        bindings: dict[str, Slot] = {}
        match _timed(condition):
            case Condition(
                "=", Variable(name), int() | float() | str() | Variable() | Time() as slot
            ):
                bindings = {name: slot}
            case Condition("=", int() | float() | str() | Time() as slot, Variable(name)):
                bindings = {name: slot}
            case Condition(relation, Time() as left, Time() as right) if relation != "!=":
                for lower, upper in time_pairs(relation, left, right):
                    current = current and current.at_most(lower, upper)
            case Condition() as other if any(_names(other)):
                undecided.append(condition)
            case Condition() as other:
                current = current if holds(other, lambda _: None) else None
        if bindings and current is not None:
            moved = replace(goal, body=Conjunction(conditions=(*undecided, *waiting)))
            moved_conditions = moved.substitute(bindings)
            current = current.substitute(bindings)
            if moved_conditions is not None:
                undecided, waiting = [], list(moved_conditions.body.conditions)
    if current is None:
        return None
    return replace(current, body=replace(current.body, conditions=tuple(undecided)))


def _names(condition: Condition) -> Iterator[str]:
    sides = (condition.left, condition.right)
    yield from object_names(sides)
    yield from time_names(sides)


def _timed(condition: Condition) -> Condition:
    """A number compared with a time point is a time point."""
    relation, left, right = condition
    if isinstance(left, Time) and isinstance(right, int):
        return Condition(relation, left, Time(ORIGIN, right))
    if isinstance(right, Time) and isinstance(left, int):
        return Condition(relation, Time(ORIGIN, left), right)
    return condition


def renamed(rule: TemporalRule, now: Time, number: int) -> TemporalRule | None:
    """The rule with fresh variables, evaluated at `now`; None when its time bounds exclude that."""
    bindings: dict[str, Slot] = {}
    for name in (*object_names(rule.head.args), *rule.body.object_names()):
        bindings[name] = Variable(fresh(name, number))
    times = {rule.time.variable, *time_names(rule.head.args), *rule.body.time_names()}
    for name in (times | rule.body.bounds.variables) - {ORIGIN}:
        bindings[name] = Time(fresh(name, number))
    bindings[NOW] = now
    body = rule.body.substitute(bindings)
    if body is None:
        return None
    head, time = substitute_pattern(rule.head, bindings), substitute_time(rule.time, bindings)
    return TemporalRule(head, time, body, rule.source)


def fresh(name: str, number: int) -> str:
    """A fresh variable name; the text before the dot is the name in the program."""
    return f"{name}.{number}"


# Exponential in the worst case: beyond this number of steps the result is "no", which is safe.
_EFFORT = 2_000


def subsumes(general: Goal, special: Goal) -> bool:
    """Does every instance of `special` contain an instance of `general` with the same answer?"""
    wanted = {occurrence.pattern.predicate for occurrence in general.body.occurrences}
    if not wanted <= {occurrence.pattern.predicate for occurrence in special.body.occurrences}:
        return False
    try:
        return any(_Matching(general, special).matches())
    except _EffortExceededError:
        return False


class _EffortExceededError(Exception):
    pass


class _Matching:
    """Searches bindings of the general goal's variables that make it part of the special one."""

    def __init__(self, general: Goal, special: Goal) -> None:
        self._general = general
        self._special = special
        self._effort = _EFFORT

    def matches(self) -> Iterator[dict[str, Slot]]:
        bindings: dict[str, Slot] | None = {ORIGIN: Time(ORIGIN)}
        for one, two in zip(self._general.answer, self._special.answer, strict=True):
            bindings = bindings and _match_slot(one, two, bindings)
        if bindings is not None and self._general.open:
            bindings = _match_time(self._general.now, self._special.now, bindings)
        if bindings is None:
            return
        body = self._general.body
        wanted: list[Occurrence | Denial | Pattern | Condition] = [
            *self._general.open,
            *body.occurrences,
            *body.denials,
            *body.rigid,
            *body.missing,
            *body.conditions,
        ]
        yield from self._search(wanted, bindings)

    def _search(
        self, wanted: Sequence[Occurrence | Denial | Pattern | Condition], bindings: dict[str, Slot]
    ) -> Iterator[dict[str, Slot]]:
        if not wanted:
            if self._bounds_follow(bindings):
                yield bindings
            return
        for more in self._ways(wanted[0], bindings):
            self._effort -= 1
            if self._effort < 0:
                raise _EffortExceededError
            yield from self._search(wanted[1:], more)

    def _ways(
        self, item: Occurrence | Denial | Pattern | Condition, bindings: dict[str, Slot]
    ) -> Iterator[dict[str, Slot]]:
        special = self._special
        match item:
            case Occurrence():
                derived = item in self._general.open
                for other in special.open if derived else special.body.occurrences:
                    yield from _match_occurrence(item, other, bindings)
            case Denial():
                for denial in special.body.denials:
                    one, other = item.occurrence, denial.occurrence
                    with_now = _match_now(item, denial, bindings)
                    # Denying less asks for less, so the spans match as for atoms. But a wildcard
                    # in a denial asks for more than a single value.
                    if with_now is not None and _wildcards(one) <= _wildcards(other):
                        yield from _match_occurrence(one, other, with_now)
            case Pattern():
                fixed = item in self._general.body.rigid
                for pattern in special.body.rigid if fixed else special.body.missing:
                    yield from _some(_match_pattern(item, pattern, bindings))
            case Condition():
                for condition in special.body.conditions:
                    if condition.relation == item.relation:
                        left = _match_expression(item.left, condition.left, bindings)
                        if left is not None:
                            yield from _some(_match_expression(item.right, condition.right, left))

    def _bounds_follow(self, bindings: dict[str, Slot]) -> bool:
        used = {*self._general.time_names(), ORIGIN}
        bounds = self._special.body.bounds
        return all(
            bounds.implies(
                substitute_time(Time(left), bindings), substitute_time(Time(right, slack), bindings)
            )
            for left, right, slack in self._general.body.bounds.projected(used).entries()
        )


def _match_now(
    general: Denial, special: Denial, bindings: dict[str, Slot]
) -> dict[str, Slot] | None:
    if general.now is None or special.now is None:
        return bindings if general.now == special.now else None
    return _match_time(general.now, special.now, bindings)


def _wildcards(occurrence: Occurrence) -> set[int]:
    args = occurrence.pattern.args
    return {position for position, arg in enumerate(args) if isinstance(arg, Wildcard)}


def _some(bindings: dict[str, Slot] | None) -> Iterator[dict[str, Slot]]:
    if bindings is not None:
        yield bindings


def _match_occurrence(
    general: Occurrence, special: Occurrence, bindings: dict[str, Slot]
) -> Iterator[dict[str, Slot]]:
    filters = (general.rigid, general.conditions)
    if general.floor != special.floor or (
        any(filters)
        and (general.local, *filters) != (special.local, special.rigid, special.conditions)
    ):
        return
    # A local variable without restrictions matches any value.
    anything = general.local if not any(filters) else frozenset()
    for one, two in zip(general.pattern.args, special.pattern.args, strict=False):
        # A variable with one value throughout the span does not match a local one.
        shared = isinstance(one, Variable) and one.name not in general.local
        if shared and isinstance(two, Variable) and two.name in special.local:
            return
    matched = _match_pattern(general.pattern, special.pattern, bindings, anything, general.local)
    if matched is None:
        return
    slack = (special.last - special.first) - (general.last - general.first)
    for shift in range(slack + 1):
        inner = Time(special.variable, special.first + shift)
        yield from _some(_match_time(general.time, inner, matched))


def _match_pattern(
    general: Pattern,
    special: Pattern,
    bindings: dict[str, Slot],
    anything: frozenset[str] = frozenset(),
    local: frozenset[str] = frozenset(),
) -> dict[str, Slot] | None:
    if general.signature != special.signature:
        return None
    matched: dict[str, Slot] | None = bindings
    own: dict[str, Slot] = {}
    for one, two in zip(general.args, special.args, strict=True):
        if matched is None:
            return None
        if isinstance(one, Variable) and one.name in anything:
            matched = matched if own.setdefault(one.name, two) == two else None
        elif isinstance(one, Variable) and one.name in local:
            matched = matched if one == two else None
        elif not isinstance(one, Wildcard):
            matched = _match_slot(one, two, matched)
    return matched


def _match_slot(general: Slot, special: Slot, bindings: dict[str, Slot]) -> dict[str, Slot] | None:
    if isinstance(general, Time):
        known = Time(ORIGIN, special) if isinstance(special, int) else special
        return _match_time(general, known, bindings) if isinstance(known, Time) else None
    if isinstance(general, Variable):
        if isinstance(special, Wildcard):
            return None
        if general.name in bindings:
            return bindings if bindings[general.name] == special else None
        return bindings | {general.name: special}
    return bindings if general == special else None


def _match_time(general: Time, special: Time, bindings: dict[str, Slot]) -> dict[str, Slot] | None:
    moved = special.shifted(-general.offset)
    known = bindings.get(general.variable)
    if known is None:
        return bindings | {general.variable: moved}
    return bindings if known == moved else None


def _match_expression(
    general: Expression, special: Expression, bindings: dict[str, Slot]
) -> dict[str, Slot] | None:
    if isinstance(general, Calculation):
        if not isinstance(special, Calculation) or general.operation != special.operation:
            return None
        matched: dict[str, Slot] | None = bindings
        for one, two in zip(general.args, special.args, strict=True):
            matched = None if matched is None else _match_expression(one, two, matched)
        return matched
    if isinstance(special, Calculation):
        return None
    return _match_slot(general, special, bindings)

"""Goals of resolution: the atoms and conditions that an answer still needs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from larspark.base.terms import Variable
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Bindings,
    Condition,
    Slot,
    Time,
    holds,
    object_names,
    substitute,
    substitute_pattern,
    substitute_time,
    time_names,
)
from larspark.run.hypothetical.temporal_rules import NOW, Conjunction, Occurrence, TemporalRule
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

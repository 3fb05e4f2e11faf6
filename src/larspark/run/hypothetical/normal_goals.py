"""The normal form of a resolved goal: relevant times, local variables, spans.

Facts at consecutive time points are one premise over a span, so that a run of facts costs no more
than a single one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from larspark.base.atoms import Signature
from larspark.base.terms import Variable
from larspark.run.hypothetical.goals import Goal, subsumes
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Condition,
    Pattern,
    Slot,
    Time,
    object_names,
    time_names,
)
from larspark.run.hypothetical.temporal_rules import Conjunction, Denial, Occurrence


def minimal(goals: Iterable[Goal]) -> list[Goal]:
    """The goals in normal form, without those that another one subsumes."""
    kept: list[Goal] = []
    for goal in sorted((_condensed(normal(goal)) for goal in goals), key=_size):
        if not any(subsumes(other, goal) for other in kept):
            kept = [other for other in kept if not subsumes(goal, other)]
            kept.append(goal)
    return kept


def _condensed(goal: Goal) -> Goal:
    """The goal without premises that its other premises imply."""
    for occurrence in goal.body.occurrences:
        smaller = _without(goal, occurrence)
        if subsumes(goal, smaller):
            return _condensed(smaller)
    return goal


def _without(goal: Goal, occurrence: Occurrence) -> Goal:
    """The goal without a premise and without the conditions on its variables only."""
    body = goal.body
    rest = tuple(other for other in body.occurrences if other is not occurrence)
    bound = {*object_names(goal.answer)}
    bound.update(name for other in rest for name in other.object_names())
    bound.update(name for pattern in body.rigid for name in object_names(pattern.args))
    gone = set(occurrence.object_names()) - bound
    smaller = replace(
        body,
        occurrences=rest,
        denials=tuple(d for d in body.denials if not gone & set(d.occurrence.object_names())),
        missing=tuple(p for p in body.missing if not gone & set(object_names(p.args))),
        conditions=tuple(c for c in body.conditions if not gone & set(object_names(c[1:]))),
    )
    return replace(goal, body=smaller)


def _size(goal: Goal) -> int:
    return len(goal.body.occurrences) + len(goal.body.denials)


def normal(goal: Goal) -> Goal:
    """Drop irrelevant times, make private variables local, and merge premises into spans."""
    goal = _with_fewer_times(goal)
    once = tuple(dict.fromkeys(goal.body.occurrences))
    goal = replace(goal, body=replace(goal.body, occurrences=once))
    body = _with_locals(goal)
    merged = replace(
        body,
        occurrences=tuple(_merged(body.occurrences)),
        denials=tuple(dict.fromkeys(body.denials)),
        rigid=tuple(dict.fromkeys(body.rigid)),
        missing=tuple(dict.fromkeys(body.missing)),
        conditions=tuple(dict.fromkeys(body.conditions)),
    )
    trimmed = replace(goal, body=merged)
    bounds = merged.bounds.projected(trimmed.time_names())
    return replace(trimmed, body=replace(merged, bounds=bounds))


def _with_fewer_times(goal: Goal) -> Goal:
    """One variable for time points at a fixed distance from each other."""
    bounds = goal.body.bounds
    for left, right, most in bounds.entries():
        if right != ORIGIN and bounds.upper(right, left) == -most:
            fewer = goal.equal(Time(left), Time(right, most))
            return goal if fewer is None else _with_fewer_times(fewer)
    return goal


def _with_locals(goal: Goal) -> Conjunction:
    """Move conditions on the private variables of a premise into that premise."""
    body = goal.body
    owners = _owners(goal)
    private: dict[int, list[Pattern | Condition]] = {}
    rigid: list[Pattern] = []
    conditions: list[Condition] = []
    for pattern in body.rigid:
        owner = _owner(object_names(pattern.args), owners)
        if owner is None:
            rigid.append(pattern)
        else:
            private.setdefault(owner, []).append(pattern)
    for condition in body.conditions:
        owner = _owner(object_names((condition.left, condition.right)), owners)
        if owner is None:
            conditions.append(condition)
        else:
            private.setdefault(owner, []).append(condition)
    occurrences = []
    for number, occurrence in enumerate(body.occurrences):
        mine = private.get(number, [])
        own = {name for name, owner in owners.items() if owner == number}
        occurrences.append(
            _canonical(
                replace(
                    occurrence,
                    local=occurrence.local | own,
                    rigid=occurrence.rigid + tuple(p for p in mine if isinstance(p, Pattern)),
                    conditions=occurrence.conditions
                    + tuple(c for c in mine if isinstance(c, Condition)),
                )
            )
        )
    return replace(
        body, occurrences=tuple(occurrences), rigid=tuple(rigid), conditions=tuple(conditions)
    )


def _owner(names: Iterable[str], owners: dict[str, int]) -> int | None:
    return next((owners[name] for name in names if name in owners), None)


def _owners(goal: Goal) -> dict[str, int]:
    """The variables that occur in one point premise only, with its number.

    Variables linked by background data or comparisons are treated together: they are private if all
    of them are, and if the premise binds every other variable of the links.
    """
    body = goal.body
    holders: dict[str, set[int]] = {}
    for number, occurrence in enumerate(body.occurrences):
        for name in occurrence.object_names():
            if name not in occurrence.local:
                holders.setdefault(name, set()).add(number)
    points = {number for number, occurrence in enumerate(body.occurrences) if occurrence.is_point}
    shared = {name for name, where in holders.items() if len(where) > 1 or not where <= points}
    shared |= set(object_names(goal.answer))
    shared |= {name for denial in body.denials for name in denial.occurrence.object_names()}
    shared |= {name for pattern in body.missing for name in object_names(pattern.args)}
    links = [list(object_names(pattern.args)) for pattern in body.rigid]
    links += [list(object_names((c.left, c.right))) for c in body.conditions]
    timed = [c for c in body.conditions if any(time_names((c.left, c.right)))]
    shared |= {name for c in timed for name in object_names((c.left, c.right))}
    shared |= {
        name
        for pattern in body.rigid
        if any(time_names(pattern.args))
        for name in object_names(pattern.args)
    }
    owners: dict[str, int] = {}
    for component in _components(
        holders.keys() | {n for link in links for n in link}, links, shared
    ):
        where = set().union(*(holders.get(name, set()) for name in component))
        if len(where) != 1:
            continue
        number = where.pop()
        known = set(object_names(body.occurrences[number].pattern.args)) | component
        if all(set(link) <= known for link in links if component & set(link)):
            owners.update(dict.fromkeys(component, number))
    return owners


def _components(
    names: Iterable[str], links: list[list[str]], shared: set[str]
) -> Iterator[set[str]]:
    """The variables that are not shared, grouped by links."""
    left = set(names) - shared
    while left:
        component = {left.pop()}
        grown = True
        while grown:
            grown = False
            for link in links:
                more = (set(link) - shared) - component
                if more and component & set(link):
                    component |= more
                    grown = True
        left -= component
        yield component


def _canonical(occurrence: Occurrence) -> Occurrence:
    """Name local variables by their order, so that equal premises are equal."""
    names = dict.fromkeys(name for name in occurrence.object_names() if name in occurrence.local)
    new: dict[str, Slot] = {
        name: Variable(f"{name.partition('.')[0]}.local{number}")
        for number, name in enumerate(names)
    }
    local = frozenset(slot.name for slot in new.values() if isinstance(slot, Variable))
    return replace(occurrence.substitute(new), local=local)


def _merged(occurrences: Iterable[Occurrence]) -> Iterator[Occurrence]:
    """Merge premises of the same kind whose time points are adjacent or overlap."""
    groups: dict[Occurrence, list[Occurrence]] = {}
    for occurrence in occurrences:
        groups.setdefault(replace(occurrence, first=0, last=0), []).append(occurrence)
    for group in groups.values():
        group.sort(key=lambda occurrence: occurrence.first)
        current = group[0]
        for occurrence in group[1:]:
            if occurrence.first <= current.last + 1:
                current = replace(current, last=max(current.last, occurrence.last))
            else:
                yield current
                current = occurrence
        yield current


def without_now(goal: Goal, depends: frozenset[Signature]) -> Goal:
    """Remove the evaluation time from denials of predicates that do not depend on it."""
    denials = tuple(
        denial
        if denial.occurrence.pattern.signature in depends
        else Denial(denial.occurrence, None)
        for denial in goal.body.denials
    )
    return replace(goal, body=replace(goal.body, denials=denials))

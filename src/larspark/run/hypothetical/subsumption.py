"""Subsumption between goals: one asks for no more than another."""

from collections.abc import Iterator, Sequence

from larspark.base.terms import Variable, Wildcard
from larspark.run.hypothetical.goals import Goal
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Calculation,
    Condition,
    Expression,
    Pattern,
    Slot,
    Time,
    substitute_time,
)
from larspark.run.hypothetical.temporal_rules import Denial, Occurrence

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

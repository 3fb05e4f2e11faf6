"""How far back the output at a time point can see the stream.

What counts is the output: the atoms that hold at the evaluation time. So the need for derived atoms
is passed down from the shown predicates, rule by rule, and each rule is charged for the data that
it reads to give what is needed. A rule is evaluated at the evaluation time, whichever chain of
rules asks for it: chains do not add up, except through `#remember`, whose atoms were derived by
an earlier evaluation.
"""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from larspark.analysis.checked import Lookback
from larspark.analysis.frames import (
    ALL,
    EVERYTHING,
    NONE,
    NOW,
    SOME_DATA,
    Floor,
    Offset,
    Range,
    first_frame,
    frames,
)
from larspark.analysis.reach import Reach, pins_times, placements, variable_times
from larspark.analysis.signatures import Roles, head_predicates
from larspark.base.atoms import Signature
from larspark.language.tree import Aggregate, At, AtomFormula, Comparison, Rule, Truth, Windowed
from larspark.logic.binding import linear
from larspark.logic.traversal import formulas

# After so many changes the need for a predicate's atoms counts as reaching back forever.
_PATIENCE = 16


class Cost(NamedTuple):
    """So many time points back, and so many tuples before them; `inf` is without bound."""

    time: Offset
    tuples: Offset

    def join(self, other: "Cost") -> "Cost":
        return Cost(max(self.time, other.time), max(self.tuples, other.tuples))


_FREE = Cost(0, 0)
_UNBOUNDED = Cost(math.inf, 0)


class Reading(NamedTuple):
    """What a rule reads: data down to a cost, and maybe atoms of a derived predicate."""

    cost: Cost
    predicate: Signature | None = None
    times: Range = NOW


def lookback(
    rules: Sequence[Rule],
    order: Sequence[frozenset[Signature]],
    parts: Roles,
    remembered: frozenset[Signature],
    every_atom_counts: bool,
) -> Lookback:
    """How far back the output can see; `order` groups the derived predicates bottom-up.

    `every_atom_counts` when a choice at any time point can decide about the output.
    """
    # In hindsight there is input after the evaluation time too; what it leads to counts.
    known = placements(rules, order, parts, remembered, end=math.inf, input_end=math.inf)
    groups = _by_group(rules, order)
    need = dict.fromkeys(parts.derived, ALL if every_atom_counts else NONE)
    for predicate in parts.shown:
        need[predicate] = need[predicate].join(NOW)
    readings = _Readings(need, known)
    _pass_down([rule for group in reversed(groups) for rule in group], need, remembered, readings)
    total = _FREE
    costs: dict[Signature, Cost] = {}
    for members, group in zip(groups, (*order, frozenset[Signature]()), strict=True):
        cost = _FREE
        for rule in members:
            for reading in readings.of(rule):
                cost = cost.join(_price(reading, costs, group, remembered))
        costs.update(dict.fromkeys(group, cost))
        total = total.join(cost)
    return Lookback(_finite(total.time), _finite(total.tuples))


def evaluation_lookback(rules: Iterable[Rule]) -> Lookback:
    """How far back formulas see, evaluated for all that they derive and not for the output alone.

    Derived atoms are not followed: an evaluation derives all of them anew.
    """
    total = _FREE
    for rule in rules:
        for formula in formulas(rule):
            start = first_frame(math.inf, in_head=formula is rule.head)
            for part, frame in frames(formula, start, {}):
                if isinstance(part, AtomFormula | Comparison | Truth):
                    total = total.join(_cost(frame.now.floor))
                elif isinstance(part, Windowed) and not part.window.is_known:
                    total = total.join(_cost(frame.timeline.floor))
    return Lookback(_finite(total.time), _finite(total.tuples))


def _by_group(rules: Sequence[Rule], order: Sequence[frozenset[Signature]]) -> list[list[Rule]]:
    """The rules by the group that they derive, and last those that derive nothing."""
    home = {predicate: number for number, group in enumerate(order) for predicate in group}
    groups: list[list[Rule]] = [[] for _ in range(len(order) + 1)]
    for rule in rules:
        numbers = {home[predicate] for predicate in head_predicates(rule.head)}
        for number in sorted(numbers or {len(order)}):
            groups[number].append(rule)
    return groups


def _pass_down(
    rules: Sequence[Rule],
    need: dict[Signature, Range],
    remembered: frozenset[Signature],
    readings: "_Readings",
) -> None:
    """Enlarge what is needed of each predicate until every rule has what it reads."""
    derivers: dict[Signature, list[int]] = {}
    for number, rule in enumerate(rules):
        for head in head_predicates(rule.head):
            derivers.setdefault(head, []).append(number)
    changes = dict.fromkeys(need, 0)
    pending = dict.fromkeys(range(len(rules)))
    while pending:
        number = next(iter(pending))
        del pending[number]
        for _, predicate, times in readings.of(rules[number]):
            if predicate is None or predicate not in need:
                continue
            before = need[predicate]
            after = before.join(times.join(NOW) if predicate in remembered else times)
            if after != before:
                changes[predicate] += 1
                need[predicate] = after if changes[predicate] <= _PATIENCE else ALL
                pending.update(dict.fromkeys(derivers[predicate]))


class _Readings:
    """What rules read to give the atoms that are needed of them."""

    def __init__(self, need: Mapping[Signature, Range], known: Reach) -> None:
        self._need = need
        self._known = known
        # Of rules that read the same, wherever their heads are needed.
        self._kept: dict[int, tuple[Reading, ...]] = {}

    def of(self, rule: Rule) -> Iterable[Reading]:
        """What a rule reads, as far as is known now what is needed."""
        heads = head_predicates(rule.head)
        wanted = NONE if heads else ALL
        for predicate in heads:
            wanted = wanted.join(self._need[predicate])
        if wanted.empty or (isinstance(rule.head, AtomFormula) and wanted.meet(NOW).empty):
            return ()
        found = self._kept.get(id(rule))
        if found is None:
            within = wanted if isinstance(rule.head, At) else ALL
            found = tuple(_readings(rule, within, self._need.keys(), self._known))
            if not isinstance(rule.head, At):
                self._kept[id(rule)] = found
        return found


def _readings(
    rule: Rule, within: Range, derived: Container[Signature], known: Reach
) -> Iterator[Reading]:
    """What a rule reads for its head in a range."""
    times = variable_times(rule, known, within)
    if times is None:
        return
    # Time variables range over the timeline, so it must reach back to where they can lie.
    for each in (rule, *_elements_as_rules(rule)) if pins_times(rule) else ():
        for floor in _variable_floors(each, variable_times(each, known, within), known).values():
            yield Reading(_cost(floor))
    for formula in rule.body:
        for part, frame in frames(formula, first_frame(known.end), times):
            match part:
                case AtomFormula(atom) if atom.signature in derived:
                    floor = frame.now.floor
                    if frame.monotone:
                        # No atom is missed if the timeline reaches back to where atoms can be.
                        lowest = max(frame.now.times.low, known.placed[atom.signature].low)
                        floor = Floor(min(0, lowest))
                    yield Reading(_cost(floor), atom.signature, frame.now.times)
                case AtomFormula() | Comparison() | Truth():
                    yield Reading(_cost(frame.now.floor))
                case Windowed(window) if not window.is_known:
                    yield Reading(_cost(frame.timeline.floor))
                case _:
                    pass
    for part, frame in frames(rule.head, first_frame(known.end, in_head=True), times):
        if isinstance(part, AtomFormula) and not frame.positive:
            yield Reading(_cost(frame.now.floor), part.atom.signature, frame.now.times)


def _variable_floors(
    rule: Rule, times: Mapping[str, Range] | None, known: Reach
) -> dict[str, Floor]:
    """How far back the variables that stand in time pins, as in `@T` and `@T+3`, can lie."""
    floors: dict[str, Floor] = {}
    if times is None:
        return floors
    for formula in formulas(rule):
        if isinstance(formula, Aggregate):
            continue
        for part, frame in frames(formula, first_frame(known.end), times):
            if not isinstance(part, At) or (pin := linear(part.time)) is None:
                continue
            name, offset = pin
            lowest = times.get(name, SOME_DATA).low
            floor = floors.get(name, EVERYTHING)
            if lowest > -math.inf:
                floors[name] = Floor(min(0, lowest))
            elif formula is not rule.head and frame.certain and offset <= 0 and floor == EVERYTHING:
                # The pin lies among tuples that are counted, and the variable not before it.
                floors[name] = frame.timeline.floor
            else:
                floors[name] = floor
    return floors


def _elements_as_rules(rule: Rule) -> Iterator[Rule]:
    """For each element of an aggregate the rule with its conditions instead of the aggregate."""
    others = tuple(part for part in rule.body if not isinstance(part, Aggregate))
    for part in rule.body:
        if isinstance(part, Aggregate):
            for element in part.elements:
                yield Rule(rule.head, (*others, *element.conditions), rule.span)


def _price(
    reading: Reading,
    costs: dict[Signature, Cost],
    group: frozenset[Signature],
    remembered: frozenset[Signature],
) -> Cost:
    """What a reading costs, the rules behind it included."""
    predicate = reading.predicate
    earlier = predicate in remembered and reading.times.low < 0
    if predicate in group:
        return _UNBOUNDED if earlier else reading.cost
    if predicate not in costs:
        return reading.cost
    behind = costs[predicate]
    if earlier:
        behind = Cost(behind.time - reading.times.low, behind.tuples)
    return reading.cost.join(behind)


def _cost(floor: Floor) -> Cost:
    return Cost(max(0, -floor.time), math.inf if floor.tuples is None else floor.tuples)


def _finite(amount: Offset) -> int | None:
    return None if amount == math.inf else int(amount)

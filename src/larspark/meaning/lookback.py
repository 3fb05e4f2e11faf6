"""How far back the output at a time point can see the stream.

What counts is the output: the atoms that hold at the evaluation time. So the need for derived atoms
is passed down from the shown predicates, rule by rule, and each rule is charged for the data that
it reads to give what is needed. A rule is evaluated at the evaluation time, whichever chain of
rules asks for it: chains do not add up, except through `#remember`, whose atoms were derived by
an earlier evaluation.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from larspark.base.atoms import Signature
from larspark.language.tree import At, AtomFormula, Comparison, NamedWindow, Rule, Truth, Windowed
from larspark.meaning.checked import Lookback
from larspark.meaning.frames import ALL, NONE, NOW, Floor, Offset, Range, first_frame, frames
from larspark.meaning.reach import Reach, placements, variable_times
from larspark.meaning.signatures import Roles, head_predicates

# After so many changes the need for a predicate's atoms counts as reaching back forever.
_PATIENCE = 32


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
    need = dict.fromkeys(parts.derived, ALL if every_atom_counts else NONE)
    for predicate in parts.shown:
        need[predicate] = need[predicate].join(NOW)
    readers = _by_group(rules, order)
    for reader in readers[-1]:
        _pass_down(reader, need, remembered, known)
    for number in reversed(range(len(order))):
        _pass_down_group(readers[number], order[number], need, remembered, known)
    total = _FREE
    costs: dict[Signature, Cost] = {}
    for number, group in enumerate((*order, frozenset())):
        cost = _FREE
        for rule in readers[number]:
            for reading in _readings(rule, need, known):
                cost = cost.join(_price(reading, costs, group, remembered))
        costs.update(dict.fromkeys(group, cost))
        total = total.join(cost)
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


def _pass_down_group(
    rules: Sequence[Rule],
    group: frozenset[Signature],
    need: dict[Signature, Range],
    remembered: frozenset[Signature],
    known: Reach,
) -> None:
    for changes in range(2 * _PATIENCE):
        before = {predicate: need[predicate] for predicate in group}
        for rule in rules:
            _pass_down(rule, need, remembered, known)
        if all(need[predicate] == before[predicate] for predicate in group):
            break
        if changes >= _PATIENCE:
            need.update({p: ALL for p in group if need[p] != before[p]})


def _pass_down(
    rule: Rule,
    need: dict[Signature, Range],
    remembered: frozenset[Signature],
    known: Reach,
) -> None:
    for reading in _readings(rule, need, known):
        if reading.predicate in need:
            times = reading.times.join(NOW) if reading.predicate in remembered else reading.times
            need[reading.predicate] = need[reading.predicate].join(times)


def _readings(rule: Rule, need: dict[Signature, Range], known: Reach) -> Iterator[Reading]:
    """What a rule reads to give the atoms that are needed of it."""
    heads = head_predicates(rule.head)
    wanted = NONE if heads else ALL
    for predicate in heads:
        wanted = wanted.join(need[predicate])
    if wanted.empty or (isinstance(rule.head, AtomFormula) and wanted.meet(NOW).empty):
        return
    within = wanted if isinstance(rule.head, At) else ALL
    times = variable_times(rule, known, within)
    if times is None:
        return
    for formula in rule.body:
        for part, frame in frames(formula, first_frame(known.end), times):
            match part:
                case AtomFormula(atom) if atom.signature in need:
                    # Whether more derived atoms are seen is up to the rules that derive them;
                    # that there are none can also be due to the start of the timeline.
                    cost = _FREE if frame.monotone else _cost(frame.now.floor)
                    yield Reading(cost, atom.signature, frame.now.times)
                case AtomFormula() | Comparison() | Truth():
                    yield Reading(_cost(frame.now.floor))
                case Windowed(NamedWindow()):
                    yield Reading(_cost(frame.timeline.floor))
                case _:
                    pass
    for part, frame in frames(rule.head, first_frame(known.end, in_head=True), times):
        if isinstance(part, AtomFormula) and not frame.positive:
            yield Reading(_cost(frame.now.floor), part.atom.signature, frame.now.times)


def _price(
    reading: Reading,
    costs: dict[Signature, Cost],
    group: frozenset[Signature],
    remembered: frozenset[Signature],
) -> Cost:
    """What a reading costs, the rules behind a remembered predicate included."""
    predicate = reading.predicate
    if predicate not in remembered or reading.times.low >= 0:
        return reading.cost
    if predicate in group or reading.cost.tuples:
        return _UNBOUNDED
    behind = costs.get(predicate, _FREE)
    return reading.cost.join(Cost(behind.time - reading.times.low, behind.tuples))


def _cost(floor: Floor) -> Cost:
    return Cost(max(0, -floor.time), math.inf if floor.tuples is None else floor.tuples)


def _finite(amount: Offset) -> int | None:
    return None if amount == math.inf else int(amount)

"""How far ahead: where in time rules place their atoms, and how far an open timeline matters.

The placement of a predicate is the range of offsets at which it can hold, seen from the evaluation
time. It is computed bottom-up, on a timeline that ends with the evaluation time; if an atom can lie
after that, the timeline is open to the right, and the computation is repeated on an open one.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from larspark.analysis.frames import (
    ALL,
    NONE,
    SOME_DATA,
    UNKNOWN,
    Offset,
    Range,
    first_frame,
    frames,
    holds,
    time_range,
)
from larspark.analysis.signatures import Roles, head_predicates
from larspark.base.atoms import Signature
from larspark.base.terms import Term, Variable
from larspark.language.nodes import children, term_variables, walk
from larspark.language.tree import (
    Always,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Rule,
    Some,
    Windowed,
)
from larspark.logic.binding import linear
from larspark.logic.traversal import formulas, occurrences

# After so many changes a placement counts as growing forever; narrowing undoes that
# where a window bounds the growth.
_PATIENCE = 16
_NARROWINGS = 3


class Reach(NamedTuple):
    """Where every predicate can hold, and where the timeline ends, as offsets."""

    placed: dict[Signature, Range]
    end: Offset
    # What facts give: its arguments are finitely many values.
    given: frozenset[Signature]

    def future(self, derived: Iterable[Signature]) -> int | None:
        """How far after the evaluation time an atom can lie; None when only the data knows."""
        highest = max((self.placed[p].high for p in derived), default=0)
        return None if highest >= UNKNOWN // 2 else int(max(0, highest))

    def endless(self, derived: Iterable[Signature]) -> bool:
        """Can atoms be placed ever further into the future?"""
        return any(self.placed[p].high == math.inf for p in derived)


def reach(
    rules: Sequence[Rule],
    order: Sequence[frozenset[Signature]],
    parts: Roles,
    remembered: frozenset[Signature],
) -> Reach:
    """Where the rules place their atoms; `order` groups the derived predicates bottom-up."""
    closed = placements(rules, order, parts, remembered, end=0)
    if all(closed.placed[predicate].high <= 0 for predicate in parts.derived):
        return closed
    return placements(rules, order, parts, remembered, end=math.inf)


def placements(
    rules: Sequence[Rule],
    order: Sequence[frozenset[Signature]],
    parts: Roles,
    remembered: frozenset[Signature],
    *,
    end: Offset,
    input_end: Offset = 0,
) -> Reach:
    """Where predicates can hold when the timeline ends at `end`, and the stream at `input_end`."""
    placed = dict.fromkeys(parts.derived, NONE)
    placed.update(dict.fromkeys(parts.inputs - parts.derived, Range(-math.inf, input_end)))
    placed.update(dict.fromkeys(parts.background - parts.derived, ALL))
    known = Reach(placed, end, (parts.inputs | parts.background) - parts.derived)
    by_head: dict[Signature, list[Rule]] = {}
    for rule in rules:
        for predicate in head_predicates(rule.head):
            by_head.setdefault(predicate, []).append(rule)
    for group in order:
        members = list({id(rule): rule for p in sorted(group) for rule in by_head[p]}.values())
        _grow(members, group, remembered, known)
        for _ in range(_NARROWINGS):
            tighter = dict.fromkeys(group, NONE)
            for rule in members:
                for predicate, times in _placed_by(rule, group, remembered, known):
                    tighter[predicate] = tighter[predicate].join(times)
            if all(placed[predicate] == tighter[predicate] for predicate in group):
                break
            placed.update(tighter)
    return known


def _grow(
    rules: Sequence[Rule],
    group: frozenset[Signature],
    remembered: frozenset[Signature],
    known: Reach,
) -> None:
    """Enlarge the placements of one group until no rule asks for more."""
    readers: dict[Signature, list[int]] = {}
    for number, rule in enumerate(rules):
        read = {atom.formula.atom.signature for part in rule.body for atom in occurrences(part)}
        for predicate in read & group:
            readers.setdefault(predicate, []).append(number)
    changes = dict.fromkeys(group, 0)
    pending = dict.fromkeys(range(len(rules)))
    while pending:
        number = next(iter(pending))
        del pending[number]
        for predicate, times in _placed_by(rules[number], group, remembered, known):
            before = known.placed[predicate]
            after = before.join(times)
            if after == before:
                continue
            changes[predicate] += 1
            if changes[predicate] > _PATIENCE:
                low = after.low if after.low == before.low else -math.inf
                after = Range(low, after.high if after.high == before.high else math.inf)
            known.placed[predicate] = after
            pending.update(dict.fromkeys(readers.get(predicate, ())))


def _placed_by(
    rule: Rule, group: frozenset[Signature], remembered: frozenset[Signature], known: Reach
) -> Iterator[tuple[Signature, Range]]:
    """Where a rule places predicates of a group, as far as is known where it looks."""
    if any(holds(formula, known.placed).empty for formula in rule.body):
        return
    times = variable_times(rule, known)
    if times is None:
        return
    for part, frame in frames(rule.head, first_frame(known.end, in_head=True), times):
        match part:
            case AtomFormula(atom) if frame.positive and atom.signature in group:
                low, high = frame.now.times
                yield (
                    atom.signature,
                    Range(-math.inf if atom.signature in remembered else low, high),
                )
            case _:
                pass


def pins_times(rule: Rule) -> bool:
    """Does `@` stand anywhere in a rule?"""
    return any(isinstance(part, At) for formula in formulas(rule) for part in walk(formula))


def variable_times(rule: Rule, known: Reach, head_within: Range = ALL) -> dict[str, Range] | None:
    """Bounds for the time variables of a rule with its head in a range; None if it cannot fire."""
    if not pins_times(rule):
        return {}
    frame = first_frame(known.end)
    times = {
        pin[0]: ALL
        for formula in rule.body
        for part, inner in frames(formula, frame, {})
        if isinstance(part, At) and inner.certain and (pin := linear(part.time)) is not None
    }
    match rule.head:
        case At(time) if (pin := linear(time)) is not None:
            name, offset = pin
            times[name] = times.get(name, SOME_DATA).meet(head_within.shift(-offset))
        case _:
            pass
    if not times:
        return times
    # Three rounds carry a bound through every rule that people write; more would only tighten.
    for _ in range(3):
        before = dict(times)
        for formula in rule.body:
            for name, bounds in _demands(formula, known, times):
                times[name] = times.get(name, ALL).meet(bounds)
                # Empty bounds cannot be narrowed further.
                if times[name].empty:
                    return None
        if times == before:
            break
    return times


def _demands(
    formula: Formula, known: Reach, times: Mapping[str, Range]
) -> Iterator[tuple[str, Range]]:
    """Where time variables must lie for a body element to hold."""
    for part, frame in frames(formula, first_frame(known.end), times):
        if not frame.certain:
            continue
        match part:
            case At(time, body) if (pin := linear(time)) is not None:
                allowed = frame.timeline.times.meet(holds(body, known.placed))
                yield pin[0], allowed if allowed.empty else allowed.shift(-pin[1])
            case AtomFormula(atom) if atom.signature in known.given:
                for term in atom.args:
                    if isinstance(term, Variable) and term.name in times:
                        yield term.name, SOME_DATA
            case Comparison("=", left, right):
                yield from _equate(left, right, times)
                yield from _equate(right, left, times)
            case Comparison("<" | "<=", left, right):
                yield from _order(left, right, times)
            case Comparison(">" | ">=", left, right):
                yield from _order(right, left, times)
            case _:
                pass


def _equate(term: Term, value: Term, times: Mapping[str, Range]) -> Iterator[tuple[str, Range]]:
    pin = linear(term)
    if pin is None:
        return
    name, offset = pin
    if name in times or any(variable.name in times for variable in term_variables(value)):
        yield name, time_range(value, times).shift(-offset)


def _order(smaller: Term, larger: Term, times: Mapping[str, Range]) -> Iterator[tuple[str, Range]]:
    left, right = linear(smaller), linear(larger)
    # Nothing is known about the values of a variable that is not a time variable.
    if left is None or right is None or left[0] not in times or right[0] not in times:
        return
    offset = right[1] - left[1]
    yield left[0], Range(-math.inf, times[right[0]].high + offset)
    yield right[0], Range(times[left[0]].low - offset, math.inf)


def open_timeline_reach(rules: Iterable[Rule]) -> int:
    """How far beyond the last element of an open timeline time points can still differ.

    Far from all elements time points differ only for hopping windows, with a common period. A
    window carries what is near an element as far as it is long; `some` and `always` must be able to
    stay clear of both the elements and the point at which they are evaluated.
    """
    parts = [formula for rule in rules for formula in formulas(rule)]
    hops = [
        part.window.bounds.every
        for formula in parts
        for part in walk(formula)
        if isinstance(part, Windowed) and part.window.bounds is not None
    ]
    return max((_distance(formula, math.lcm(*hops)) for formula in parts), default=0)


def _distance(formula: Formula, period: int) -> int:
    inner = max((_distance(part, period) for part in children(formula)), default=0)
    match formula:
        case Some() | Always():
            return 2 * (inner + period)
        case Windowed(window):
            return inner + window.trace
        case _:
            return inner

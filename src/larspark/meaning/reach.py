"""Where in time rules place their atoms.

The placement of a predicate is the range of offsets at which it can hold, seen from the evaluation
time. It is computed bottom-up, on a timeline that ends with the evaluation time; if an atom can lie
after that, the timeline is open to the right, and the computation is repeated on an open one.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from larspark.base.atoms import Signature
from larspark.base.terms import Term, Variable
from larspark.language.tree import At, AtomFormula, Comparison, Formula, Rule
from larspark.meaning.frames import (
    ALL,
    NONE,
    SOME_DATA,
    UNKNOWN,
    Offset,
    Range,
    first_frame,
    frames,
    holds,
    linear,
    time_range,
)
from larspark.meaning.signatures import Roles, head_predicates
from larspark.meaning.walk import term_variables

# After so many changes a placement counts as growing forever; narrowing takes back what that
# overdoes where a window bounds the growth.
_PATIENCE = 32
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
        members = sorted(group)
        _grow(members, by_head, remembered, known)
        for _ in range(_NARROWINGS):
            tighter = {p: _placement(p, by_head[p], remembered, known) for p in members}
            if all(placed[p] == tighter[p] for p in members):
                break
            placed.update(tighter)
    return known


def _grow(
    members: list[Signature],
    by_head: dict[Signature, list[Rule]],
    remembered: frozenset[Signature],
    known: Reach,
) -> None:
    """Enlarge the placements of one group until no rule asks for more."""
    placed = known.placed
    changes = dict.fromkeys(members, 0)
    changed = True
    while changed:
        changed = False
        for predicate in members:
            before = placed[predicate]
            after = before.join(_placement(predicate, by_head[predicate], remembered, known))
            if after == before:
                continue
            changed = True
            changes[predicate] += 1
            if changes[predicate] > _PATIENCE:
                low = after.low if after.low == before.low else -math.inf
                after = Range(low, after.high if after.high == before.high else math.inf)
            placed[predicate] = after


def _placement(
    predicate: Signature, rules: Iterable[Rule], remembered: frozenset[Signature], known: Reach
) -> Range:
    """Where the rules place a predicate, as far as is known where they look."""
    result = NONE
    for rule in rules:
        if any(holds(formula, known.placed).empty for formula in rule.body):
            continue
        times = variable_times(rule, known)
        if any(bounds.empty for bounds in times.values()):
            continue
        for part, frame in frames(rule.head, first_frame(known.end, in_head=True), times):
            match part:
                case AtomFormula(atom) if frame.positive and atom.signature == predicate:
                    result = result.join(frame.now.times)
                case _:
                    pass
    if predicate in remembered and not result.empty:
        return Range(-math.inf, result.high)
    return result


def variable_times(rule: Rule, known: Reach, head_within: Range = ALL) -> dict[str, Range]:
    """Bounds for the time variables of a rule whose head lies in a range.

    One of them is empty when the rule cannot fire.
    """
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
    # Three rounds carry a bound through every rule that people write; more would only tighten.
    for _ in range(3):
        before = dict(times)
        for formula in rule.body:
            # Empty bounds say all there is to say, and are no numbers to go on with.
            if any(bounds.empty for bounds in times.values()):
                return times
            _narrow(formula, known, times)
        if times == before:
            break
    return times


def _narrow(formula: Formula, known: Reach, times: dict[str, Range]) -> None:
    """Tighten the bounds of time variables by what must be so for a body element to hold."""
    for part, frame in frames(formula, first_frame(known.end), dict(times)):
        if not frame.certain:
            continue
        match part:
            case At(time, body) if (pin := linear(time)) is not None:
                allowed = frame.timeline.times.meet(holds(body, known.placed))
                if not allowed.empty:
                    allowed = allowed.shift(-pin[1])
                times[pin[0]] = times[pin[0]].meet(allowed)
            case AtomFormula(atom) if atom.signature in known.given:
                for term in atom.args:
                    if isinstance(term, Variable) and term.name in times:
                        times[term.name] = times[term.name].meet(SOME_DATA)
            case Comparison("=", left, right):
                _equate(left, right, times)
                _equate(right, left, times)
            case Comparison("<" | "<=", left, right):
                _order(left, right, times)
            case Comparison(">" | ">=", left, right):
                _order(right, left, times)
            case _:
                pass


def _equate(term: Term, value: Term, times: dict[str, Range]) -> None:
    pin = linear(term)
    if pin is None:
        return
    name, offset = pin
    if name in times or any(variable.name in times for variable in term_variables(value)):
        bounds = time_range(value, times).shift(-offset)
        times[name] = times.get(name, ALL).meet(bounds)


def _order(smaller: Term, larger: Term, times: dict[str, Range]) -> None:
    left, right = linear(smaller), linear(larger)
    # A variable that is no time may be text, which comes after every number.
    if left is None or right is None or left[0] not in times or right[0] not in times:
        return
    offset = right[1] - left[1]
    low, high = times[left[0]].low, times[right[0]].high
    times[left[0]] = times[left[0]].meet(Range(-math.inf, high + offset))
    times[right[0]] = times[right[0]].meet(Range(low - offset, math.inf))

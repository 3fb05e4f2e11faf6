"""Ground programs: the rule instances that matter, over the elements that can be derived at all.

An atom is derived only when a rule supports it (Theorem 2 of the LARS paper), and a rule only when
the positive part of its body can hold. Following that from the data, without regard to negation,
gives finitely many elements that contain every answer stream, and every rule instance whose body
can be true in one. The rest of the ground program is never looked at.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, assert_never

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.language.nodes import variables, walk
from larspark.language.tree import Aggregate, At, AtomFormula, Formula, Rule, Windowed
from larspark.logic.matching import Binding, Matcher
from larspark.logic.values import NoValueError
from larspark.meaning.grounding import (
    Ground,
    GroundAggregate,
    GroundAlways,
    GroundAnd,
    GroundAt,
    GroundAtom,
    GroundImplies,
    GroundNot,
    GroundOr,
    GroundReset,
    GroundSome,
    GroundTruth,
    GroundWindowed,
    check_depth,
    ground,
    pins_in_timeline,
    time_point,
)
from larspark.meaning.open_timeline import NO_HORIZON, time_points
from larspark.meaning.queries import ground_literal, refuse_unbound, stream_matcher
from larspark.meaning.streams import Stream, Universe
from larspark.meaning.window_functions import apply_window

# The number of elements that may be derived, and of rule instances.
SIZE_LIMIT = 50_000
# How often rules may lead to new elements, one after the other.
STEP_LIMIT = 500


class Instance(NamedTuple):
    """A ground rule."""

    head: Ground
    body: GroundAnd


class GroundProgram(NamedTuple):
    """Everything an answer stream can hold, and the rule instances that matter to it."""

    stream: Stream
    # The elements that may or may not be derived, as bits; the others are data.
    undecided: int
    instances: list[Instance]


def ground_program(
    checked: Checked,
    data: Iterable[tuple[int, Atom]],
    remembered: Iterable[tuple[int, Atom]],
    background: frozenset[Atom],
    timeline: tuple[int, int | None],
    t: int,
) -> GroundProgram:
    """Instantiate the rules for the evaluation at t."""
    for rule in checked.rules:
        refuse_rule(rule)
    start, end = timeline
    universe = Universe(element for element in data if _within(element[0], start, end))
    for point, atom in remembered:
        if _within(point, start, end):
            universe.add(point, atom)
    given = len(universe.elements)
    growing = [GrowingRule(rule, checked.derived) for rule in checked.rules]
    order = _rule_order(checked)
    waiting = set(order)
    steps = 0
    while waiting:
        number = next(number for number in order if number in waiting)
        waiting.discard(number)
        stream = universe.whole(start, end)
        matcher = stream_matcher(stream, background, _bits_from(given, universe))
        new = growing[number].grow(matcher, stream, t) - universe.numbers.keys()
        for point, atom in sorted(new, key=lambda element: (element[0], str(element[1]))):
            universe.add(point, atom)
        changed = {element.atom.signature for element in new}
        waiting |= {other for other in order if changed & growing[other].reads}
        steps += bool(new)
        instances = sum(len(rule.instances) for rule in growing)
        _refuse_size(instances + len(universe.elements) - given, steps)
    undecided = _bits_from(given, universe)
    stream = universe.whole(start, end)
    matcher = stream_matcher(stream, background, undecided)
    merged = dict.fromkeys(found for rule in growing for found in rule.finish(matcher, stream, t))
    return GroundProgram(stream, undecided, list(merged))


class GrowingRule:
    """A rule with the instances found so far, by their substitutions; None where there is none."""

    def __init__(self, rule: Rule, derived: frozenset[Signature]) -> None:
        self._rule = rule
        self._derived = derived
        self._formulas = (rule.head, *rule.body)
        self._names = [v.name for formula in self._formulas for v in variables(formula)]
        self.reads = {part.atom.signature for formula in rule.body for part in _atoms(formula)}
        self.instances: dict[frozenset[tuple[str, Constant]], Instance | None] = {}

    def grow(self, matcher: Matcher[Stream], stream: Stream, t: int) -> set[Element]:
        """Match the rule anew; the elements that the heads of new instances can ask for."""
        wanted: set[Element] = set()
        for binding in matcher.bindings(self._rule.body, t):
            key = frozenset(binding.items())
            if key in self.instances:
                continue
            refuse_unbound(self._names, binding, self._rule.head)
            instance = self.instances[key] = self._instance(binding, matcher, stream, t)
            if instance is not None:
                elements = _wanted(instance.head, stream, stream, t, True)
                wanted.update(Element(*e) for e in elements if e[1].signature in self._derived)
        return wanted

    def finish(self, matcher: Matcher[Stream], stream: Stream, t: int) -> Iterator[Instance]:
        """The instances; the sets of aggregates hold all that has been found by now."""
        for key, instance in self.instances.items():
            if instance is not None:
                aggregates = any(isinstance(part, Aggregate) for part in self._rule.body)
                final = self._instance(dict(key), matcher, stream, t) if aggregates else instance
                yield final or instance

    def _instance(
        self, binding: Binding, matcher: Matcher[Stream], stream: Stream, t: int
    ) -> Instance | None:
        """The ground rule, unless a time lies outside the timeline or a term has no value."""
        if not pins_in_timeline(self._formulas, binding, stream):
            return None
        rule = self._rule
        pins = [part.time for part in walk(rule.head) if isinstance(part, At)]
        try:
            if not all(stream.has_time(time_point(pin, binding)) for pin in pins):
                return None
            body = GroundAnd(
                tuple(ground_literal(part, binding, matcher, stream, t) for part in rule.body)
            )
            return Instance(ground(rule.head, binding), body)
        except NoValueError:
            return None


def _within(point: int, start: int, end: int | None) -> bool:
    return point >= start and (end is None or point <= end)


def _bits_from(given: int, universe: Universe) -> int:
    return (1 << len(universe.elements)) - (1 << given)


def _rule_order(checked: Checked) -> list[int]:
    """Rules of lower strata first, so that few have to be matched twice."""
    strata = checked.strata or ()
    level = {signature: i for i, stratum in enumerate(strata) for signature in stratum}

    def rank(number: int) -> int:
        heads = [part.atom.signature for part in _atoms(checked.rules[number].head)]
        return max((level.get(signature, 0) for signature in heads), default=len(strata))

    return sorted(range(len(checked.rules)), key=rank)


def _atoms(formula: Formula) -> Iterator[AtomFormula]:
    return (part for part in walk(formula) if isinstance(part, AtomFormula))


def _wanted(
    formula: Ground, whole: Stream, stream: Stream, t: int, positive: bool
) -> Iterator[tuple[int, Atom]]:
    """The elements whose presence can help the formula to hold (or to fail, if not positive)."""
    match formula:
        case GroundAtom(atom):
            if positive:
                yield t, atom
        case GroundTruth() | GroundAggregate():
            return
        case GroundNot(body):
            yield from _wanted(body, whole, stream, t, not positive)
        case GroundAnd(parts) | GroundOr(parts):
            for part in parts:
                yield from _wanted(part, whole, stream, t, positive)
        case GroundImplies(left, right):
            yield from _wanted(left, whole, stream, t, not positive)
            yield from _wanted(right, whole, stream, t, positive)
        case GroundSome(body) | GroundAlways(body):
            for point in _ending_timeline(stream):
                yield from _wanted(body, whole, stream, point, positive)
        case GroundAt(time, body):
            if stream.has_time(time):
                yield from _wanted(body, whole, stream, time, positive)
        case GroundWindowed(window, body):
            yield from _wanted(body, whole, apply_window(window, stream, t), t, positive)
        case GroundReset(body):
            yield from _wanted(body, whole, whole, t, positive)
        case _:
            assert_never(formula)


def _ending_timeline(stream: Stream) -> range:
    if stream.end is None:
        message = "a head with `some` or `always` needs a timeline that ends"
        raise LarsparkError(Problem("L253", message, hint="say where time ends with `until`"))
    return time_points(stream, NO_HORIZON)


def refuse_rule(rule: Rule) -> None:
    for formula in (rule.head, *rule.body):
        check_depth(formula)
    for part in walk(rule.head):
        if isinstance(part, Windowed) and not part.window.is_known:
            message = f"the window `{part.window.function}` cannot stand in a rule head"
            raise LarsparkError(Problem("L263", message, part.span))


def _refuse_size(size: int, steps: int) -> None:
    hint = "use another engine, a shorter stream or smaller windows"
    if size > SIZE_LIMIT:
        message = f"the ground program has more than {SIZE_LIMIT} atoms and rule instances"
        raise LarsparkError(Problem("L254", message, hint=hint))
    if steps > STEP_LIMIT:
        message = f"the program has {size} atoms and rule instances after {STEP_LIMIT} steps"
        raise LarsparkError(
            Problem("L254", f"{message} of derivation, and more to come", hint=hint)
        )

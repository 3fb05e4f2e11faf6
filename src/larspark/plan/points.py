"""Time points: where their values come from, and what keeps them in the windows above them.

A time point of its own gets its values from the atoms that are read there. If there are none, it
lies in a window around another time point, or one that has values lies in a window around it: then
it ranges over finitely many. Only if all that fails, every time point of the window is tried.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.tree import Comparison
from larspark.logic.binding import linear
from larspark.plan.bound_variables import bound_by
from larspark.plan.literals import (
    Condition,
    Literal,
    Point,
    Reading,
    cannot,
    counts_tuples,
    time_variable,
)
from larspark.plan.operators import Mode, Reach
from larspark.plan.window_chains import Around, View, is_recomputed, time_view_of

# Ranges become rows, so they must not be too long.
RANGE_LIMIT = 100_000


class Range(NamedTuple):
    """A variable takes every integer from `low` to `high`."""

    variable: Variable
    low: Term
    high: Term
    span: Span


class Inside(NamedTuple):
    """A variable is a time point of the timeline, within reach of the evaluation time."""

    variable: Variable
    reach: Reach
    span: Span


class Placement(NamedTuple):
    """The operators and bounds that give the time points of a conjunction their values."""

    readings: list[Reading]
    ranges: list[Range]
    insides: list[Inside]
    conditions: list[Condition]
    # How far from the evaluation time a time point can lie at all.
    reaches: dict[Variable, Reach]


def place(
    literals: Sequence[Literal], moment: Atom, circular: frozenset[Signature] = frozenset()
) -> Placement:
    """Place the time points of a conjunction; `moment` is an atom that always holds.

    `circular` are predicates that depend on what the conjunction derives. Where one of them gives
    a time point, such as the next one in `@T p :- @T true, @T-1 p`, it is met with the time points
    there are so far, so that a recursion does not run ahead into the future.
    """
    points = list(dict.fromkeys(literal for literal in literals if isinstance(literal, Point)))
    views = [time_view_of(point.scope, None) for point in points]
    placement = Placement([], [], [], [], _reaches(literals, points, views))
    for point in points:
        if counts_tuples(point.scope) and not _is_read_alike(point, literals):
            placement.readings.append(
                Reading(moment, Mode.AT, point.time, point.scope, False, point.span)
            )
    # Windows that a range has already taken into account, by the number of their point.
    taken: set[tuple[int, Around]] = set()
    bound = bound_by([*literals, *placement.readings])
    while True:
        pending = [n for n, point in enumerate(points) if point.variable not in bound]
        if not pending:
            break
        for number in pending:
            found = _range(number, points, views, bound)
            if found is not None:
                placement.ranges.append(found[0])
                taken.add(found[1])
                break
        else:
            number = pending[0]
            placement.readings.append(_all_moments(points[number], moment))
        known = [*literals, *placement.readings]
        bound = bound_by(known, {*bound, points[number].variable})
    readings = [*literals, *placement.readings]
    for number, (point, view) in enumerate(zip(points, views, strict=True)):
        if not _is_certain(point, view, readings, placement.reaches):
            if any(r.atom.signature in circular for r in _read_at_points(literals)):
                placement.readings.append(_all_moments(point, moment))
            else:
                placement.insides.append(Inside(point.variable, view.reach, point.span))
        for around in view.around:
            if (number, around) not in taken:
                placement.conditions.extend(_conditions(point, around))
    return placement


def _range(
    number: int, points: Sequence[Point], views: Sequence[View], bound: set[Variable]
) -> tuple[Range, tuple[int, Around]] | None:
    """A finite range for a time point, by a window in which it lies or that lies around it."""
    point = points[number]
    for around in views[number].around:
        low, high = window_of(around)
        if low is not None and high is not None and around.anchor in bound:
            _refuse_width(around, point.span)
            return Range(point.variable, low, high, point.span), (number, around)
    for other, (inner, view) in enumerate(zip(points, views, strict=True)):
        for around in view.around:
            if around.anchor == point.variable and inner.variable in bound:
                ends = seen_from(around, inner.variable)
                if ends is not None:
                    _refuse_width(around, point.span)
                    return Range(point.variable, *ends, point.span), (other, around)
    return None


def _refuse_width(around: Around, span: Span) -> None:
    if (around.past or 0) + (around.future or 0) > RANGE_LIMIT:
        message = f"go through more than {RANGE_LIMIT} time points of a window one by one"
        raise cannot(message, span, "use a smaller window, or a larger `#tick`")


def _all_moments(point: Point, moment: Atom) -> Reading:
    scope = tuple(placed for placed in point.scope if placed.position is None)
    return Reading(moment, Mode.AT, point.variable, scope, False, point.span)


def window_of(around: Around) -> tuple[Term | None, Term | None]:
    """The first and the last time point of a window around another one; None is without bound.

    >>> from larspark.base.atoms import term_text
    >>> [term_text(end) for end in window_of(Around(Variable("T"), 5, 0, 1))]
    ['T-5', 'T']
    """
    pivot: Term = around.anchor
    if around.every > 1:
        pivot = Arithmetic("-", (pivot, Arithmetic("mod", (pivot, around.every))))
    low = None if around.past is None else _plus(pivot, -around.past)
    return low, None if around.future is None else _plus(pivot, around.future)


def seen_from(around: Around, inner: Variable) -> tuple[Term, Term] | None:
    """The first and the last time point whose window has the inner one; None without bound.

    >>> from larspark.base.atoms import term_text
    >>> [term_text(end) for end in seen_from(Around(Variable("T"), 5, 1, 1), Variable("U"))]
    ['U-1', 'U+5']
    """
    if around.past is None or around.future is None:
        return None
    low, high = _plus(inner, -around.future), _plus(inner, around.past)
    hop = around.every
    if hop > 1:
        # Up to the next multiple, and down to the last one, after which the pivot stays for a hop.
        up = Arithmetic("mod", (Arithmetic("-", (around.future, inner)), hop))
        low = Arithmetic("+", (low, up))
        high = Arithmetic("-", (high, Arithmetic("mod", (high, hop))))
        high = _plus(high, hop - 1)
    return low, high


def _plus(term: Term, offset: int) -> Term:
    if not offset:
        return term
    return Arithmetic("+" if offset > 0 else "-", (term, abs(offset)))


def _conditions(point: Point, around: Around) -> Iterator[Condition]:
    if around.anchor == point.variable and around.every == 1:
        return
    low, high = window_of(around)
    if low is not None:
        yield Condition(Comparison(">=", point.variable, low, point.span), False)
    if high is not None:
        yield Condition(Comparison("<=", point.variable, high, point.span), False)


def _is_certain(
    point: Point, view: View, literals: Sequence[Literal], reaches: Mapping[Variable, Reach]
) -> bool:
    """Is an atom read at the time point, through the same windows or within smaller ones?"""
    if _is_read_alike(point, literals):
        return True
    return not counts_tuples(point.scope) and any(
        _lies_in(reach_of(literal, reaches), view.reach)
        for literal in _read_at_points(literals)
        if not literal.negated and time_variable(literal.time or 0) == point.variable
    )


def _is_read_alike(point: Point, literals: Sequence[Literal]) -> bool:
    """Is something read at the time point, or looked at from there, through the same windows?"""
    for literal in literals:
        if not isinstance(literal, Reading) or literal.negated:
            continue
        at_point = literal.mode is Mode.AT and literal.time is not None
        at_point = at_point and time_variable(literal.time or 0) == point.variable
        if at_point and literal.scope == point.scope:
            return True
        if is_recomputed(literal.scope):
            before = [placed.position for placed in literal.scope]
            if point.variable in before:
                return literal.scope[: before.index(point.variable)] == point.scope
    return False


def reach_of(reading: Reading, reaches: Mapping[Variable, Reach]) -> Reach:
    """How far from the evaluation time an atom has to be read: in its windows, and in reach."""
    reach = time_view_of(reading.scope, reading.atom).reach
    if reading.time is None or isinstance(reading.time, int):
        return reach
    return _meet(reach, reaches.get(time_variable(reading.time), reach))


def _read_at_points(literals: Sequence[Literal]) -> Iterator[Reading]:
    for literal in literals:
        if isinstance(literal, Reading) and literal.mode is Mode.AT:
            yield literal


def _lies_in(inner: Reach, outer: Reach) -> bool:
    if inner == outer or outer == Reach():
        return True
    return (
        inner.every == outer.every == 1
        and _least(inner.past, outer.past) == inner.past
        and _least(inner.future, outer.future) == inner.future
    )


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def _meet(one: Reach, other: Reach) -> Reach:
    """The reach of both, of which one may hop."""
    if one.every > 1 or other.every > 1:
        return one if one.every > 1 else other
    return Reach(_least(one.past, other.past), _least(one.future, other.future))


def _more(bound: int | None, by: int | None) -> int | None:
    return None if bound is None or by is None else max(0, bound + by)


def _sliding(reach: Reach) -> Reach:
    """A sliding window that has all time points of a hopping one."""
    past = None if reach.past is None else reach.past + reach.every - 1
    return Reach(past, reach.future)


def _reaches(
    literals: Sequence[Literal], points: Sequence[Point], views: Sequence[View]
) -> dict[Variable, Reach]:
    """Bounds on how far time points lie from the evaluation time, passed on from one to another."""
    reaches: dict[Variable, Reach] = {}
    # (U, V, d, e): U lies in [V - d, V + e].
    links: list[tuple[Variable, Variable, int | None, int | None]] = []

    def narrow(variable: Variable, reach: Reach) -> None:
        reaches[variable] = _meet(reaches.get(variable, Reach()), reach)

    def link(term: Term) -> None:
        pin = linear(term)
        if pin is not None and not isinstance(term, Variable):
            name, offset = pin
            links.append((time_variable(term), Variable(name), -offset, offset))
            links.append((Variable(name), time_variable(term), offset, -offset))

    for point, view in zip(points, views, strict=True):
        narrow(point.variable, _sliding(view.reach))
        link(point.time)
        for anchor, past, future, every in view.around:
            back = None if past is None else past + every - 1
            links.append((point.variable, anchor, back, future))
            links.append((anchor, point.variable, future, back))
    for reading in _read_at_points(literals):
        if reading.time is not None:
            link(reading.time)
            if not reading.negated:
                reach = _sliding(time_view_of(reading.scope, reading.atom).reach)
                narrow(time_variable(reading.time), reach)
    # Every round passes bounds on by one link; as many as there are links always suffice.
    for _ in links:
        known = dict(reaches)
        for variable, other, before, after in links:
            reach = reaches.get(other, Reach())
            narrow(variable, Reach(_more(reach.past, before), _more(reach.future, after)))
        if reaches == known:
            break
    return reaches

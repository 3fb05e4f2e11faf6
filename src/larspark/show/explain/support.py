"""Evaluation of a formula when only some elements may support it.

A formula is read over two streams at once. What counts positively in it is looked up in the part of
the answer stream that may be used; what counts negatively, under an odd number of negations, in
the whole answer stream. So a formula that holds over few elements still holds over more, unless it
counts tuples, and what is absent is absent from everything.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, assert_never

from larspark.base.atoms import Atom
from larspark.base.terms import Wildcard
from larspark.language.windows import Window
from larspark.logic.aggregates import Tuple, fulfils
from larspark.logic.values import matches
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
)
from larspark.meaning.open_timeline import Horizon, time_points
from larspark.meaning.streams import Stream
from larspark.meaning.window_functions import apply_window
from larspark.show.explain.knowledge import Evaluation


class Views(NamedTuple):
    """The stream that formulas read, and the one that they read below the next negation."""

    active: Stream
    passive: Stream
    # Below an odd number of negations the whole answer stream is the active one.
    negated: bool = False

    def flip(self) -> "Views":
        return Views(self.passive, self.active, not self.negated)

    def through(self, window: Window, t: int) -> "Views":
        active = apply_window(window, self.active, t)
        return Views(active, apply_window(window, self.passive, t), self.negated)

    @property
    def usable(self) -> Stream:
        """The view with the usable elements only."""
        return self.passive if self.negated else self.active

    @property
    def full(self) -> Stream:
        """The view with all elements."""
        return self.active if self.negated else self.passive


class Support:
    """Reads formulas over an answer stream of which only the elements `usable` may support them."""

    def __init__(self, evaluation: Evaluation, usable: int, horizon: Horizon) -> None:
        self.evaluation = evaluation
        self.whole = Views(evaluation.stream.with_bits(usable), evaluation.stream)
        self._horizon = horizon
        self._numbers: dict[Stream, int] = {}
        self._known: dict[tuple[int, int, int, int, bool], bool] = {}

    def holds(self, formula: Ground) -> bool:
        """Does the formula hold at the evaluation time?"""
        return self.value(formula, self.whole, self.evaluation.at)

    def value(self, formula: Ground, views: Views, t: int) -> bool:
        """Does the formula hold at t, seen in these views?"""
        if isinstance(formula, GroundAtom):
            return self._atom(formula.atom, views.active, t)
        active = self._numbers.setdefault(views.active, len(self._numbers))
        passive = self._numbers.setdefault(views.passive, len(self._numbers))
        key = (id(formula), active, passive, t, views.negated)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._evaluate(formula, views, t)
        return known

    def _evaluate(self, formula: Ground, views: Views, t: int) -> bool:
        match formula:
            case GroundAtom(atom):
                return self._atom(atom, views.active, t)
            case GroundTruth(value):
                return value
            case GroundNot(body):
                return not self.value(body, views.flip(), t)
            case GroundAnd(parts):
                return all(self.value(part, views, t) for part in parts)
            case GroundOr(parts):
                return any(self.value(part, views, t) for part in parts)
            case GroundImplies(left, right):
                return not self.value(left, views.flip(), t) or self.value(right, views, t)
            case GroundSome(GroundAtom(atom)):
                there = next(self.presences(atom, views.active), None) is not None
                return there or (not views.active.is_empty and self.background(atom) is not None)
            case GroundSome(body):
                return any(self.value(body, views, point) for point in self.points(views))
            case GroundAlways(body):
                points = self.points(views)
                return len(points) > 0 and all(self.value(body, views, p) for p in points)
            case GroundAt(time, body):
                return views.active.has_time(time) and self.value(body, views, time)
            case GroundWindowed(window, body):
                return self.value(body, views.through(window, t), t)
            case GroundReset(body):
                return self.value(body, self.reset(views), t)
            case GroundAggregate(function, _, guards, grouped):
                return fulfils(function, self.tuples(formula), guards, grouped=grouped)
            case _:
                assert_never(formula)

    def tuples(self, aggregate: GroundAggregate) -> set[Tuple]:
        """The set of an aggregate, which is always read over the whole answer stream.

        More elements can make an aggregate true or false, as they do with a negation.
        """
        full = Support(self.evaluation, self.evaluation.stream.bits, self._horizon)
        return {found for found, body in aggregate.members if full.holds(body)}

    def points(self, views: Views) -> range:
        """The time points that `some` and `always` look at."""
        return time_points(views.active, self._horizon)

    def reset(self, views: Views) -> Views:
        """The views without windows."""
        return self.whole.flip() if views.negated else self.whole

    def background(self, atom: Atom) -> Atom | None:
        """An instance of the atom that always holds, the first by text."""
        atoms = self.evaluation.background.get(atom.signature, frozenset())
        if not is_pattern(atom):
            return atom if atom in atoms else None
        return min((other for other in atoms if matches(atom, other)), key=str, default=None)

    def presences(self, atom: Atom, stream: Stream, t: int | None = None) -> Iterator[int]:
        """The elements of the stream that are instances of the atom, at t or at any time."""
        universe = stream.universe
        if t is not None and not is_pattern(atom):
            number = universe.numbers.get((t, atom))
            if number is not None and stream.bits >> number & 1:
                yield number
            return
        moments = universe.by_signature.get(atom.signature, {})
        points: Iterable[int] = moments if t is None else (t,)
        if t is None and stream.end is not None and stream.end - stream.start < len(moments):
            points = range(stream.start, stream.end + 1)
        for point in points:
            for number in moments.get(point, ()):
                if stream.bits >> number & 1 and matches(atom, universe.elements[number].atom):
                    yield number

    def _atom(self, atom: Atom, stream: Stream, t: int) -> bool:
        there = next(self.presences(atom, stream, t), None) is not None
        return there or self.background(atom) is not None


def is_pattern(atom: Atom) -> bool:
    """Has the atom wildcards, so that several atoms are instances of it?"""
    return any(isinstance(term, Wildcard) for term in atom.args)

"""Queries (Definition 10): under which substitutions, and when, does a formula hold?

The matcher looks for the substitutions in a stream of the definitions.
"""

from collections.abc import Iterable, Iterator, Sequence

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import NOW, Constant
from larspark.language.nodes import variables, walk
from larspark.language.tree import Aggregate, And, Formula, Windowed
from larspark.logic.circuit import FALSE, TRUE
from larspark.logic.matching import Binding, Matcher
from larspark.logic.values import NoValueError, Substitution, order_key, value
from larspark.meaning.entailment import Structure
from larspark.meaning.grounding import (
    Ground,
    GroundAggregate,
    GroundAnd,
    check_depth,
    ground,
    ground_window,
    pins_in_timeline,
)
from larspark.meaning.labelling import Labelling
from larspark.meaning.open_timeline import NO_HORIZON, find_horizon, refuse_length, time_points
from larspark.meaning.streams import Stream, Universe
from larspark.meaning.window_functions import apply_window

BINDING_LIMIT = 200_000


def stream_matcher(
    stream: Stream, background: Iterable[Atom], undecided: int = 0
) -> Matcher[Stream]:
    """A matcher for one stream; `undecided` are the elements that may be missing, as bits."""
    return Matcher(_StreamSource(stream, background, undecided))


def ground_literal(
    formula: Formula, binding: Substitution, matcher: Matcher[Stream], stream: Stream, t: int
) -> Ground:
    """σ(α) for a body literal at t; an aggregate gets the tuples that its set can hold.

    Raises `NoValueError` when an atom or a time pin has no value under σ.
    """
    if not isinstance(formula, Aggregate):
        return ground(formula, binding)
    members = []
    for found, element, local in matcher.members(formula, binding, t):
        body = _ground_conditions(element.conditions, local, stream)
        if body is not None:
            members.append((found, body))
    guards = tuple((guard.operator, value(guard.term, binding)) for guard in formula.guards)
    return GroundAggregate(formula.function, tuple(members), guards, bool(formula.by))


def _ground_conditions(
    conditions: Sequence[Formula], binding: Substitution, stream: Stream
) -> GroundAnd | None:
    """The conditions of an element under a substitution; None if there is no such instance."""
    if not pins_in_timeline(conditions, binding, stream):
        return None
    try:
        return GroundAnd(tuple(ground(part, binding) for part in conditions))
    except NoValueError:
        return None


class _StreamSource:
    """Answers the matcher's questions about a stream and background data."""

    def __init__(self, stream: Stream, background: Iterable[Atom], undecided: int) -> None:
        self.whole = stream
        self._atoms = frozenset(background)
        background = self._atoms
        self._undecided = undecided
        self._background: dict[Signature, list[Atom]] = {}
        for atom in background:
            self._background.setdefault(atom.signature, []).append(atom)

    def atoms(self, signature: Signature, view: Stream, t: int) -> Iterable[Atom]:
        universe = view.universe
        shown = [
            universe.elements[number].atom
            for number in universe.by_signature.get(signature, {}).get(t, ())
            if view.bits >> number & 1
        ]
        return [*self._background.get(signature, ()), *shown]

    def times(self, signature: Signature, view: Stream) -> Sequence[int] | None:
        if signature in self._background:
            return None
        times = view.universe.by_signature.get(signature, {})
        return sorted(point for point in times if view.has_time(point))

    def time_points(self, view: Stream, body: Formula) -> range:
        last = self.last_point(view, body) if view.end is None else view.end
        refuse_length(last - view.start)
        return range(view.start, last + 1)

    def last_point(self, view: Stream, body: Formula) -> int:
        """A time point so late that no window around it reaches an element."""
        latest = max(view.start, view.universe.last_time or view.start)
        for part in walk(body):
            if isinstance(part, Windowed):
                latest += part.window.trace
        return latest + 1

    def through(self, part: Windowed, view: Stream, t: int, known: Substitution) -> Stream | None:
        if not part.window.is_known and view.bits & self._undecided:
            return None
        return apply_window(ground_window(part.window, part.body, known), view, t)

    def certainty(self, conditions: Sequence[Formula], known: Substitution, t: int) -> bool | None:
        body = _ground_conditions(conditions, known, self.whole)
        if body is None:
            return False
        structure = Structure(self.whole, self._atoms, find_horizon(self.whole, t, body))
        label = Labelling(structure, self._undecided).label(body, t)
        return None if label not in (TRUE, FALSE) else label == TRUE

    def check_size(self, count: int, part: Formula) -> None:
        if count > BINDING_LIMIT:
            message = f"more than {BINDING_LIMIT} ways to match a formula with the stream"
            raise LarsparkError(Problem("L254", message, part.span))

    def refuse_open_variable(self, name: str, point: int, body: Formula) -> None:
        message = f"the time variable `{name}` can be any time point from {point} on"
        hint = "say where time ends with `until`"
        raise LarsparkError(Problem("L261", message, body.span, hint))


def query(
    formula: Formula,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    start: int | None = None,
    end: int | None = None,
    at: int | None = None,
) -> list[dict[str, Constant]]:
    """The substitutions under which the formula holds at `at`, sorted.

    A ground formula gives `[{}]` for yes and `[]` for no. Without `at` every time point of the
    timeline is asked, and each answer holds its time point as `t`. The timeline begins with the
    first element and ends with the last one, or with `at` when that is later.

    >>> from larspark.base.terms import Variable
    >>> from larspark.language.tree import AtomFormula, Some, Windowed
    >>> from larspark.language.windows import TimeWindow
    >>> recent = Windowed(TimeWindow(5), Some(AtomFormula(Atom("tram", (Variable("A"),)))))
    >>> query(recent, [(3, Atom("tram", ("a1",)))], at=8)
    [{'A': 'a1'}]
    """
    check_depth(formula)
    elements = list(elements)
    stream = _stream(elements, start, end, at)
    if stream is None:
        return []
    found = (v for part in conjuncts(formula) for v in variables(part))
    names = list(dict.fromkeys(v.name for v in found if v != NOW))
    answers: list[dict[str, Constant]] = []
    for t, binding in _answers(formula, stream, frozenset(background), at):
        moment: dict[str, Constant] = {"t": t} if at is None else {}
        answers.append({**moment, **{name: binding[name] for name in names}})
    return sorted(answers, key=lambda answer: [order_key(value) for value in answer.values()])


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction, or the formula itself."""
    return formula.parts if isinstance(formula, And) else (formula,)


def refuse_unbound(names: Iterable[str], binding: Binding, formula: Formula) -> None:
    """Refuse a formula when matching left one of its variables without a value."""
    unbound = [name for name in dict.fromkeys(names) if name not in binding]
    if unbound:
        raise LarsparkError(
            Problem(
                "L250",
                f"the variable `{name}` is bound by no positive part of the formula",
                formula.span,
                f"give `{name}` a value with an atom, or write `_` for any value",
            )
            for name in unbound
        )


def _answers(
    formula: Formula, stream: Stream, background: frozenset[Atom], at: int | None
) -> Iterator[tuple[int, Binding]]:
    """The time points and substitutions at which the formula holds."""
    parts = conjuncts(formula)
    aggregates = any(isinstance(part, Aggregate) for part in parts)
    names = [variable.name for part in parts for variable in variables(part)]
    matcher = stream_matcher(stream, background)
    labelling = Labelling(Structure(stream, background))
    # The same formula at another time point shares its labels.
    candidates: dict[tuple[int | None, frozenset[tuple[str, Constant]]], Ground | None] = {}
    for t in time_points(stream, NO_HORIZON) if at is None else (at,):
        for binding in matcher.bindings(parts, t) if names else [{}]:
            # What an aggregate is over depends on the time point.
            key = (t if aggregates else None, frozenset(binding.items()))
            if key not in candidates:
                refuse_unbound(names, binding, formula)
                candidates[key] = _ground_instance(parts, binding, matcher, stream, t)
            candidate = candidates[key]
            if candidate is not None and labelling.label(candidate, t) == TRUE:
                yield t, binding


def _ground_instance(
    parts: Sequence[Formula], binding: Binding, matcher: Matcher[Stream], stream: Stream, t: int
) -> Ground | None:
    if not pins_in_timeline(parts, binding, stream):
        return None
    try:
        return GroundAnd(tuple(ground_literal(p, binding, matcher, stream, t) for p in parts))
    except NoValueError:
        return None


def _stream(
    elements: list[tuple[int, Atom]], start: int | None, end: int | None, at: int | None
) -> Stream | None:
    """The stream a query is about; None when it has no time point to ask at."""
    times = [t for t, _ in elements]
    begins = [t for t in (start, min(times, default=None), at, end) if t is not None]
    ends = [t for t in (max(times, default=None) if end is None else end, at) if t is not None]
    if not begins or not ends:
        return None
    first, last = begins[0], max(ends)
    if at is not None and at < first:
        message = f"the time point {at} lies before the timeline, which begins with {first}"
        raise LarsparkError(Problem("L251", message))
    universe = Universe(element for element in elements if first <= element[0] <= last)
    return universe.whole(first, last)

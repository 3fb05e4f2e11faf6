"""The matcher over a stream of the definitions."""

from collections.abc import Iterable, Sequence

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.language.nodes import walk
from larspark.language.tree import Aggregate, Formula, Windowed
from larspark.logic.circuit import FALSE, TRUE
from larspark.logic.matching import Matcher
from larspark.logic.values import NoValueError, Substitution, value
from larspark.meaning.entailment import Structure
from larspark.meaning.grounding import (
    Ground,
    GroundAggregate,
    GroundAnd,
    ground,
    ground_window,
    pins_in_timeline,
)
from larspark.meaning.labelling import Labelling
from larspark.meaning.open_timeline import find_horizon, refuse_length
from larspark.meaning.streams import Stream
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

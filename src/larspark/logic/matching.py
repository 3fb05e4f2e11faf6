"""Candidate substitutions: those under which a formula can hold, found by matching its atoms.

The matcher finds every substitution under which a formula holds, and more: negation, implication
and the difference between `some` and `always` are left to the evaluation of each candidate. A
variable that no positive part binds stays unbound. The stream is behind the `Source` protocol, so
that the definitions and the engines share the matcher and nothing else.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, assert_never

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Arithmetic, Constant, Term, Variable, Wildcard
from larspark.language.nodes import variables
from larspark.language.tree import (
    Aggregate,
    AggregateElement,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Some,
    Truth,
    Windowed,
)
from larspark.logic.aggregates import Tuple, possible_values
from larspark.logic.binding import binds_all, bound_after, is_bound, linear
from larspark.logic.values import NoValueError, Substitution, compare, time_value, value

Binding: TypeAlias = dict[str, Constant]


class Timeline(Hashable, Protocol):
    """A stream seen through windows: its time points [start, end], open when `end` is None."""

    @property
    def end(self) -> int | None: ...

    def has_time(self, t: int) -> bool:
        """Is t one of the time points?"""


View = TypeVar("View", bound=Timeline)


class Source(Protocol[View]):
    """The stream and the background data that formulas are matched with."""

    @property
    def whole(self) -> View:
        """The whole stream."""

    def atoms(self, signature: Signature, view: View, t: int) -> Iterable[Atom]:
        """The atoms of a predicate that a view may show at t, and those of the background."""

    def times(self, signature: Signature, view: View) -> Sequence[int] | None:
        """The time points of a view at which a predicate may have atoms, None for all of them."""

    def time_points(self, view: View, body: Formula) -> Sequence[int]:
        """The time points of a view; of an open one as many as can differ for the body."""

    def last_point(self, view: View, body: Formula) -> int:
        """The last of the time points of an open view that can differ for the body."""

    def through(self, part: Windowed, view: View, t: int, known: Substitution) -> View | None:
        """The view through a window at t; None if it is not decided yet.

        The variables of its filters are bound. Raises `NoValueError` if a filter has no value.
        """

    def certainty(self, conditions: Sequence[Formula], known: Substitution, t: int) -> bool | None:
        """Do the conditions hold at t in the whole stream? None if that is not decided yet."""

    def check_size(self, count: int, part: Formula) -> None:
        """Refuse more candidates than there may be."""

    def refuse_open_variable(self, name: str, point: int, body: Formula) -> None:
        """Refuse a time variable that can be any time point from `point` on."""


class Member(NamedTuple):
    """A tuple that the set of an aggregate can hold, its element, and the values behind it."""

    found: Tuple
    element: AggregateElement
    binding: Binding


class Matcher(Generic[View]):
    """Matches formulas with a source, which must not change."""

    def __init__(self, source: Source[View]) -> None:
        self._source = source
        # The bindings of a formula for a view, a time point and values known before: nested
        # operators ask for the same again and again. Formulas are identified by `id`, so
        # `_variables` keeps each of them alive.
        self._found: dict[tuple[int, View, int, tuple[Constant | None, ...]], list[Binding]] = {}
        self._variables: dict[int, tuple[Formula, tuple[str, ...]]] = {}
        self._stripped: dict[int, Formula] = {}

    def bindings(
        self, parts: Sequence[Formula], t: int, known: Substitution | None = None
    ) -> list[Binding]:
        """The substitutions that extend `known` and under which all parts can hold at t."""
        return _distinct(self._conjunction(parts, self._source.whole, t, dict(known or {})))

    def members(self, aggregate: Aggregate, known: Substitution, t: int) -> list[Member]:
        """The tuples that the set of an aggregate can hold; its global variables are bound."""
        shared = {variable.name: known[variable.name] for variable in aggregate.shared}
        members = []
        for element in aggregate.elements:
            for local in self.bindings(element.conditions, t, shared):
                values = [value(term, local) for term in element.terms]
                found = tuple(each for each in values if each is not None)
                if len(found) == len(values):
                    members.append(Member(found, element, local))
        return members

    def _aggregate(self, aggregate: Aggregate, t: int, known: Binding) -> list[Binding]:
        """The groups for which an aggregate can hold, with the values that it can have there."""
        outer = [v.name for v in aggregate.shared if v not in aggregate.by]
        if not all(name in known for name in outer):
            return [known]
        keys = [key.name for key in aggregate.by]
        groups = [known]
        if not all(name in known for name in keys):
            given = {name: known[name] for name in (*outer, *keys) if name in known}
            groups = _distinct(
                {**known, **{name: local[name] for name in keys}}
                for element in aggregate.elements
                for local in self.bindings(element.conditions, t, given)
            )
        return [found for group in groups for found in self._with_value(aggregate, t, group)]

    def _with_value(self, aggregate: Aggregate, t: int, known: Binding) -> list[Binding]:
        """The bindings with a value for the variable of `N = #count{...}`."""
        equal = (guard.term for guard in aggregate.guards if guard.operator == "=")
        unbound = [term.name for term in equal if isinstance(term, Variable)]
        unbound = [name for name in unbound if name not in known]
        if not unbound:
            return [known]
        certain: set[Tuple] = set()
        possible: dict[Tuple, None] = {}
        for found, element, local in self.members(aggregate, known, t):
            truth = self._source.certainty(element.conditions, local, t)
            if truth:
                certain.add(found)
            elif truth is None:
                possible[found] = None
        values = possible_values(aggregate.function, certain, possible, aggregate.span)
        return [{**known, **dict.fromkeys(unbound, each)} for each in values]

    def _match(self, formula: Formula, view: View, t: int, known: Binding) -> list[Binding]:
        match formula:
            case AtomFormula(atom):
                return self._atom(atom, view, t, known)
            case Comparison():
                return _comparison(formula, known)
            case Truth(truth):
                return [known] if truth else []
            case Not() | Implies():
                return [known]
            case And(parts):
                return self._conjunction(parts, view, t, known)
            case Or(parts):
                return _distinct(f for part in parts for f in self._match(part, view, t, known))
            case Some() | Always() | At() | Windowed() | Reset():
                return self._match_once(formula, view, t, known)
            case Aggregate():
                return self._aggregate(formula, t, known)
            case _:
                assert_never(formula)

    def _match_once(
        self, formula: Some | Always | At | Windowed | Reset, view: View, t: int, known: Binding
    ) -> list[Binding]:
        names = self._names(formula)
        key = (id(formula), view, t, tuple(known.get(name) for name in names))
        found = self._found.get(key)
        if found is None:
            relevant = {name: known[name] for name in names if name in known}
            found = self._found[key] = _distinct(self._temporal(formula, view, t, relevant))
        return [{**known, **binding} for binding in found]

    def _names(self, formula: Formula) -> tuple[str, ...]:
        entry = self._variables.get(id(formula))
        if entry is None:
            names = tuple(dict.fromkeys(variable.name for variable in variables(formula)))
            entry = self._variables[id(formula)] = formula, names
        return entry[1]

    def _temporal(
        self, formula: Some | Always | At | Windowed | Reset, view: View, t: int, known: Binding
    ) -> Iterable[Binding]:
        match formula:
            case Some(body) | Always(body):
                return self._at_some(body, view, known)
            case At(time, body):
                return self._at(time, body, view, known)
            case Windowed():
                return self._windowed(formula, view, t, known)
            case Reset(body):
                return self._match(body, self._source.whole, t, known)
            case _:
                assert_never(formula)

    def _conjunction(
        self, parts: Sequence[Formula], view: View, t: int, known: Binding
    ) -> list[Binding]:
        found = [known]
        for part in _in_order(parts, known):
            extended: list[Binding] = []
            for so_far in found:
                extended += self._match(part, view, t, so_far)
                self._source.check_size(len(extended), part)
            found = extended
        return found

    def _atom(self, atom: Atom, view: View, t: int, known: Binding) -> list[Binding]:
        found = []
        for candidate in self._source.atoms(atom.signature, view, t):
            unified = unify(atom.args, candidate.args, known)
            if unified is not None:
                found.append(unified)
        return found

    def _at_some(self, body: Formula, view: View, known: Binding) -> Iterable[Binding]:
        if view.end is not None:
            for point in self._points(body, view):
                yield from self._match(body, view, point, known)
            return
        last = self._source.last_point(view, body)
        seen: set[frozenset[tuple[str, Constant]]] = set()
        for point in self._points(body, view):
            found = self._match(body, view, point, known)
            if point == last:
                self._refuse_new(found, known, seen, last, body)
            seen.update(frozenset(binding.items()) for binding in found)
            yield from found

    def _refuse_new(
        self,
        found: Iterable[Binding],
        known: Binding,
        seen: set[frozenset[tuple[str, Constant]]],
        last: int,
        body: Formula,
    ) -> None:
        """Refuse values that first occur far from all elements: those move on with time."""
        for binding in found:
            if frozenset(binding.items()) not in seen:
                name = next((name for name in binding if name not in known), None)
                if name is not None:
                    self._source.refuse_open_variable(name, last, body)

    def _at(self, time: Term, body: Formula, view: View, known: Binding) -> Iterable[Binding]:
        if is_bound(time, known):
            point = time_value(time, known)
            inside = point is not None and view.has_time(point)
            return self._match(body, view, point, known) if inside and point is not None else ()
        pin = linear(time)
        if pin is None:
            return self._at_some(body, view, known)
        return self._at_each(*pin, body, view, known)

    def _at_each(
        self, name: str, offset: int, body: Formula, view: View, known: Binding
    ) -> Iterable[Binding]:
        """The bindings with a value for a time variable."""
        for point in self._points(body, view):
            found = self._match(body, view, point, {**known, name: point - offset})
            if found and view.end is None and point == self._source.last_point(view, body):
                self._source.refuse_open_variable(name, point, body)
            yield from found

    def _windowed(self, formula: Windowed, view: View, t: int, known: Binding) -> Sequence[Binding]:
        shown = None
        if all(is_bound(term, known) for term in formula.window.filter_terms):
            try:
                shown = self._source.through(formula, view, t, known)
            except NoValueError:
                return []
        if shown is not None:
            return self._match(formula.body, shown, t, known)
        # What the window shows is not known yet, but all of it is in the view. Windows below it
        # count too: fewer elements can let a tuple window show older ones.
        stripped = self._stripped.get(id(formula))
        if stripped is None:
            stripped = self._stripped[id(formula)] = _without_windows(formula.body)
        return self._match(stripped, view, t, known)

    def _points(self, body: Formula, view: View) -> Sequence[int]:
        """The time points of a view at which the body can match."""
        times = self._times(body, view)
        return self._source.time_points(view, body) if times is None else times

    def _times(self, body: Formula, view: View) -> Sequence[int] | None:
        """The fewest time points outside of which atoms of the body are missing."""
        match body:
            case AtomFormula(atom):
                return self._source.times(atom.signature, view)
            case And(parts):
                known = [times for p in parts if (times := self._times(p, view)) is not None]
                return min(known, key=len, default=None)
            case _:
                return None


def unify(pattern: Sequence[Term], args: Sequence[Any], known: Binding) -> Binding | None:
    """`known` extended so that the pattern equals these constants; None if that is impossible.

    Arithmetic over unbound variables is not solved: it matches anything.

    >>> unify((Variable("X"), 3), ("a", 3), {})
    {'X': 'a'}
    """
    found = known
    for term, given in zip(pattern, args, strict=True):
        if isinstance(term, Variable):
            if term.name not in found:
                found = {**found, term.name: given}
            elif found[term.name] != given:
                return None
        elif isinstance(term, Arithmetic):
            if is_bound(term, found) and value(term, found) != given:
                return None
        elif not isinstance(term, Wildcard) and term != given:
            return None
    return found


def _in_order(parts: Sequence[Formula], known: Iterable[str]) -> list[Formula]:
    """The parts that can bind or rule out something, each after those that bind what it needs."""
    bound = set(known)
    waiting = [part for part in parts if not isinstance(part, Not | Implies)]
    ordered: list[Formula] = []
    while waiting:
        chosen = min(waiting, key=lambda part: _rank(part, bound))
        waiting.remove(chosen)
        ordered.append(chosen)
        # Of a disjunction only what all of its parts bind is sure to be bound.
        bound = bound_after(chosen, bound)
    # Parts may need each other: an equation in the first may use what the second binds.
    while late := next((part for part in ordered if bound_after(part, bound) != bound), None):
        ordered.append(late)
        bound = bound_after(late, bound)
    return ordered


def _rank(part: Formula, bound: set[str]) -> tuple[int, int]:
    """Decided comparisons first, then parts with the fewest variables unbound."""
    missing = len({variable.name for variable in variables(part)} - bound)
    match part:
        case Comparison("=", Variable(), other) | Comparison("=", other, Variable()) if is_bound(
            other, bound
        ):
            return 0, missing
        case Comparison():
            return (4 if missing else 0), missing
        case At(time) if linear(time) is None and not is_bound(time, bound):
            return 3, missing
        case Windowed(window) if not all(is_bound(term, bound) for term in window.filter_terms):
            return 2, missing
        case _:
            return (1 if binds_all(part, bound) else 3), missing


def _comparison(comparison: Comparison, known: Binding) -> list[Binding]:
    left, right = comparison.left, comparison.right
    if is_bound(left, known) and is_bound(right, known):
        holds = compare(comparison.operator, value(left, known), value(right, known))
        return [known] if holds else []
    if comparison.operator == "=":
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Variable) and is_bound(other, known):
                result = value(other, known)
                return [] if result is None else [{**known, side.name: result}]
    return [known]


def _without_windows(formula: Formula) -> Formula:
    match formula:
        case Windowed(_, body):
            return _without_windows(body)
        case And(parts) | Or(parts):
            return replace(formula, parts=tuple(map(_without_windows, parts)))
        case Some(body) | Always(body) | At(_, body) | Reset(body):
            return replace(formula, body=_without_windows(body))
        case _:
            return formula


def _distinct(bindings: Iterable[Binding]) -> list[Binding]:
    found = list(bindings)
    if len(found) < 2:
        return found
    return list({frozenset(binding.items()): binding for binding in found}.values())

"""Finding the substitutions that can make a formula hold, by matching its atoms with the stream.

What is found contains every substitution under which the formula holds, and more: negation,
implication and the difference between `some` and `always` are left to the evaluation afterwards.
Variables that nothing positive binds stay unbound, and the caller has to refuse.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias, assert_never

from larspark.analysis.frames import linear
from larspark.analysis.safety import bound_after
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Term, Variable, Wildcard
from larspark.language.nodes import term_variables, variables, walk
from larspark.language.tree import (
    Aggregate,
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
from larspark.logic.values import NoValueError, compare, time_value, value
from larspark.meaning.grounding import ground_window
from larspark.meaning.open_timeline import refuse_length
from larspark.meaning.streams import Stream
from larspark.meaning.window_functions import apply_window

Binding: TypeAlias = dict[str, Constant]

BINDING_LIMIT = 200_000

_Temporal: TypeAlias = Some | Always | At | Windowed | Reset


class Matcher:
    """Matches formulas with one stream; `undecided` are the elements that may be missing."""

    def __init__(self, stream: Stream, background: Iterable[Atom], undecided: int = 0) -> None:
        self.stream = stream
        self.undecided = undecided
        self._background: dict[Signature, list[Atom]] = {}
        for atom in background:
            self._background.setdefault(atom.signature, []).append(atom)
        # What was found for a formula, a stream, a time point and what was known before. Formulas
        # are named by identity, so `_variables` keeps every one of them alive.
        self._found: dict[tuple[int, Stream, int, tuple[Constant | None, ...]], list[Binding]] = {}
        self._variables: dict[int, tuple[Formula, list[str]]] = {}

    def bindings(self, parts: Sequence[Formula], t: int) -> list[Binding]:
        """The substitutions under which all parts can hold at t, each once."""
        return _distinct(self._conjunction(parts, self.stream, t, {}))

    def _match(self, formula: Formula, stream: Stream, t: int, known: Binding) -> list[Binding]:
        match formula:
            case AtomFormula(atom):
                return self._atom(atom, stream, t, known)
            case Comparison():
                return _comparison(formula, known)
            case Truth(truth):
                return [known] if truth else []
            case Not() | Implies():
                return [known]
            case And(parts):
                return self._conjunction(parts, stream, t, known)
            case Or(parts):
                return [found for part in parts for found in self._match(part, stream, t, known)]
            case Some() | Always() | At() | Windowed() | Reset():
                return self._match_once(formula, stream, t, known)
            case Aggregate():
                raise LarsparkError(Problem("L403", "aggregates are not evaluated", formula.span))
            case _:
                assert_never(formula)

    def _match_once(
        self, formula: _Temporal, stream: Stream, t: int, known: Binding
    ) -> list[Binding]:
        """Match, unless the same was asked before: nested operators ask the same over and over."""
        if id(formula) not in self._variables:
            unique = dict.fromkeys(variable.name for variable in variables(formula))
            self._variables[id(formula)] = formula, list(unique)
        names = self._variables[id(formula)][1]
        key = (id(formula), stream, t, tuple(known.get(name) for name in names))
        found = self._found.get(key)
        if found is None:
            relevant = {name: known[name] for name in names if name in known}
            found = self._found[key] = _distinct(self._temporal(formula, stream, t, relevant))
        return [{**known, **binding} for binding in found]

    def _temporal(
        self, formula: _Temporal, stream: Stream, t: int, known: Binding
    ) -> list[Binding]:
        match formula:
            case Some(body) | Always(body):
                return self._at_some(body, stream, known)
            case At(time, body):
                return self._at(time, body, stream, known)
            case Windowed():
                return self._windowed(formula, stream, t, known)
            case Reset(body):
                return self._match(body, self.stream, t, known)
            case _:
                assert_never(formula)

    def _conjunction(
        self, parts: Sequence[Formula], stream: Stream, t: int, known: Binding
    ) -> list[Binding]:
        found = [known]
        for part in _in_order(parts, known):
            found = [more for so_far in found for more in self._match(part, stream, t, so_far)]
            if len(found) > BINDING_LIMIT:
                message = f"more than {BINDING_LIMIT} ways to match a formula with the stream"
                raise LarsparkError(Problem("L254", message, part.span))
        return found

    def _atom(self, atom: Atom, stream: Stream, t: int, known: Binding) -> list[Binding]:
        universe = stream.universe
        candidates = self._background.get(atom.signature, []) + [
            universe.elements[number].atom
            for number in universe.by_signature.get(atom.signature, {}).get(t, ())
            if stream.bits >> number & 1
        ]
        return [
            found
            for candidate in candidates
            if (found := _unify(atom, candidate, known)) is not None
        ]

    def _at_some(self, body: Formula, stream: Stream, known: Binding) -> list[Binding]:
        found: list[Binding] = []
        for point in self._moments(body, stream):
            found += self._match(body, stream, point, known)
        return _distinct(found)

    def _at(self, time: Term, body: Formula, stream: Stream, known: Binding) -> list[Binding]:
        if _is_bound(time, known):
            pinned = time_value(time, known)
            if pinned is not None and stream.has_time(pinned):
                return self._match(body, stream, pinned, known)
            return []
        pin = linear(time)
        if pin is None:
            return self._at_some(body, stream, known)
        name, offset = pin
        found: list[Binding] = []
        for point in self._moments(body, stream):
            here = self._match(body, stream, point, {**known, name: point - offset})
            if here and stream.end is None and point == self._last_moment(body, stream):
                message = f"the time variable `{name}` can be any time point from {point} on"
                raise LarsparkError(
                    Problem("L261", message, body.span, "say where time ends with `until`")
                )
            found += here
        return found

    def _windowed(self, formula: Windowed, stream: Stream, t: int, known: Binding) -> list[Binding]:
        window, body = formula.window, formula.body
        names = {v.name for term in window.filter_terms for v in term_variables(term)}
        undecided = not window.is_known and bool(stream.bits & self.undecided)
        if undecided or not names <= known.keys():
            # The window cannot be computed yet, but all it can give is in the stream.
            return self._match(_without_windows(body), stream, t, known)
        try:
            ground = ground_window(window, body, known)
        except NoValueError:
            return []
        return self._match(body, apply_window(ground, stream, t), t, known)

    def _moments(self, body: Formula, stream: Stream) -> Sequence[int]:
        """The time points of the timeline at which the body can match."""
        match body:
            case AtomFormula(atom) if atom.signature not in self._background:
                moments = stream.universe.by_signature.get(atom.signature, {})
                return sorted(point for point in moments if stream.has_time(point))
            case And(parts):
                return min((self._moments(part, stream) for part in parts), key=len)
            case _:
                last = self._last_moment(body, stream) if stream.end is None else stream.end
                refuse_length(last - stream.start)
                return range(stream.start, last + 1)

    def _last_moment(self, body: Formula, stream: Stream) -> int:
        """A time point so late that no window around it reaches an element."""
        latest = max(stream.start, stream.universe.last_time or stream.start)
        for part in walk(body):
            if isinstance(part, Windowed):
                latest += part.window.trace
        return latest + 1


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


def _in_order(parts: Sequence[Formula], known: Iterable[str]) -> list[Formula]:
    """The parts that can bind or rule out something, those first that have what they need."""
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
    """Decided comparisons first, then what has most variables bound, then what lacks a value."""
    names = {variable.name for variable in variables(part)}
    missing = len(names - bound)
    match part:
        case Comparison(operator, left, right):
            binds = operator == "=" and (
                _is_bound(left, bound, allow_open=right) or _is_bound(right, bound, allow_open=left)
            )
            return (0 if not missing or binds else 4, missing)
        case At(time) if linear(time) is None and not _is_bound(time, bound):
            return (3, missing)
        case Windowed(window) if not all(_is_bound(term, bound) for term in window.filter_terms):
            return (2, missing)
        case _:
            return (1 if names <= bound_after(part, bound) else 3, missing)


def _is_bound(term: Term, bound: Container[str], allow_open: Term | None = None) -> bool:
    """Are all variables of the term bound (and is `allow_open`, if given, a lone variable)?"""
    if allow_open is not None and not isinstance(allow_open, Variable):
        return False
    return all(variable.name in bound for variable in term_variables(term))


def _comparison(comparison: Comparison, known: Binding) -> list[Binding]:
    left, right = comparison.left, comparison.right
    if _is_bound(left, known) and _is_bound(right, known):
        holds = compare(comparison.operator, value(left, known), value(right, known))
        return [known] if holds else []
    if comparison.operator == "=":
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Variable) and _is_bound(other, known):
                result = value(other, known)
                return [] if result is None else [{**known, side.name: result}]
    return [known]


def _unify(pattern: Atom, atom: Atom, known: Binding) -> Binding | None:
    """What has to be added to `known` for the pattern to become the atom."""
    found = known
    for term, given in zip(pattern.args, atom.args, strict=True):
        match term:
            case Wildcard():
                continue
            case Variable(name) if name not in found and isinstance(given, int | float | str):
                found = {**found, name: given}
            case _:
                if _is_bound(term, found) and value(term, found) != given:
                    return None
    return found


def _distinct(bindings: list[Binding]) -> list[Binding]:
    if len(bindings) < 2:
        return bindings
    return list({frozenset(binding.items()): binding for binding in bindings}.values())

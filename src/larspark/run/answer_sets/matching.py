"""Finding the bindings under which a rule body can hold, by matching its atoms.

Every binding under which the body can hold is found, and some more: negation and implication, and
what tells `always` from `some`, are left to the conditions.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias, assert_never

from larspark.analysis.frames import linear
from larspark.analysis.safety import bound_after
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Term, Variable, Wildcard
from larspark.language.nodes import term_variables, variables
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
from larspark.run.answer_sets.evaluation_context import Situation
from larspark.run.answer_sets.stream_views import View, apply

Found: TypeAlias = list[dict[str, Constant]]


class Matcher:
    """Matches formulas with the stream, the background and what may be derived."""

    def __init__(self, situation: Situation, limit: int) -> None:
        self._situation = situation
        self._limit = limit

    def bindings(self, body: Sequence[Formula]) -> Found:
        """The bindings under which a rule body can hold, each once."""
        return self._all(body, self._situation.whole, self._situation.t, {})

    def _match(self, formula: Formula, view: View, t: int, known: dict[str, Constant]) -> Found:
        match formula:
            case AtomFormula(atom):
                return self._atom(atom, view, t, known)
            case Comparison():
                return _compare(formula, known)
            case Truth(truth):
                return [known] if truth else []
            case Not() | Implies():
                return [known]
            case And(parts):
                return self._all(parts, view, t, known)
            case Or(parts):
                return _distinct(f for part in parts for f in self._match(part, view, t, known))
            case Some(body) | Always(body):
                points = self._moments(body, view)
                return _distinct(f for s in points for f in self._match(body, view, s, known))
            case At(time, body):
                return self._pinned(time, body, view, known)
            case Windowed():
                return self._windowed(formula, view, t, known)
            case Reset(body):
                return self._match(body, self._situation.whole, t, known)
            case Aggregate():
                raise LarsparkError(Problem("L403", "aggregates are not evaluated", formula.span))
            case _:
                assert_never(formula)

    def _all(
        self, parts: Sequence[Formula], view: View, t: int, known: dict[str, Constant]
    ) -> Found:
        found: Found = [known]
        for part in in_order(parts, known):
            extended: Found = []
            for so_far in found:
                extended += self._match(part, view, t, so_far)
                self._situation.check_time()
                if len(extended) > self._limit:
                    message = f"there are more than {self._limit} ways to match a rule"
                    raise LarsparkError(Problem("L410", message, part.span))
            found = extended
        return _distinct(found)

    def _atom(self, atom: Atom, view: View, t: int, known: dict[str, Constant]) -> Found:
        situation, signature = self._situation, atom.signature
        candidates = dict.fromkeys(situation.background.get(signature, ()))
        candidates.update((arrival.atom, None) for arrival in situation.seen(signature, view, t))
        candidates.update((other, None) for other in situation.derivable(signature, view, t))
        unified = (unify(atom.args, candidate.args, known) for candidate in candidates)
        return [found for found in unified if found is not None]

    def _pinned(self, time: Term, body: Formula, view: View, known: dict[str, Constant]) -> Found:
        if all(variable.name in known for variable in term_variables(time)):
            point = time_value(time, known)
            if point is None or not view.has_time(point):
                return []
            return self._match(body, view, point, known)
        pin = linear(time)
        moments = self._moments(body, view)
        if pin is None:
            return _distinct(f for s in moments for f in self._match(body, view, s, known))
        name, offset = pin
        found: Found = []
        for point in moments:
            more = self._match(body, view, point, {**known, name: point - offset})
            if more and view.end is None and point == self._situation.time_points(view)[-1]:
                message = f"the time variable `{name}` can be any time point from {point} on"
                hint = "say where time ends with `until`"
                raise LarsparkError(Problem("L403", message, body.span, hint))
            found += more
        return found

    def _windowed(self, formula: Windowed, view: View, t: int, known: dict[str, Constant]) -> Found:
        try:
            window = self._situation.window(formula, known)
        except NoValueError:
            return []
        except KeyError:
            # A filter whose variables are bound later hides nothing for now.
            return self._match(formula.body, view, t, known)
        return self._match(formula.body, apply(window, view, t, self._situation.elements), t, known)

    def _moments(self, body: Formula, view: View) -> Sequence[int]:
        """The time points of a view at which the body can match."""
        match body:
            case AtomFormula(atom) if atom.signature not in self._situation.background:
                return self._situation.moments(atom.signature, view)
            case And(parts):
                return min((self._moments(part, view) for part in parts), key=len)
            case _:
                return self._situation.time_points(view)


def in_order(parts: Iterable[Formula], known: Iterable[str]) -> list[Formula]:
    """The parts that bind or rule out something, each when it has what it needs."""
    bound = set(known)
    waiting = [part for part in parts if not isinstance(part, Not | Implies)]
    ordered: list[Formula] = []
    while waiting:
        chosen = min(waiting, key=lambda part: _rank(part, bound))
        waiting.remove(chosen)
        ordered.append(chosen)
        # A negation, or one side of a disjunction, binds nothing.
        bound = bound_after(chosen, bound)
    # An equation in one part may use what a later one binds, and the other way round.
    while late := next((part for part in ordered if bound_after(part, bound) != bound), None):
        ordered.append(late)
        bound = bound_after(late, bound)
    return ordered


def unify(
    pattern: Sequence[Term], args: Sequence[Term], known: dict[str, Constant]
) -> dict[str, Constant] | None:
    """What `known` becomes when the pattern is to be these constants; None if it cannot be.

    >>> unify((Variable("X"), 3), ("a", 3), {})
    {'X': 'a'}
    """
    found = known
    for term, given in zip(pattern, args, strict=True):
        if isinstance(term, Wildcard) or not isinstance(given, int | float | str):
            continue
        if isinstance(term, Variable) and term.name not in found:
            found = {**found, term.name: given}
        elif is_bound(term, found) and value(term, found) != given:
            return None
    return found


def is_bound(term: Term, bound: Iterable[str]) -> bool:
    return all(variable.name in bound for variable in term_variables(term))


def _rank(part: Formula, bound: set[str]) -> tuple[int, int]:
    names = {variable.name for variable in variables(part)}
    missing = len(names - bound)
    match part:
        case Comparison("=", Variable(), value) | Comparison("=", value, Variable()) if is_bound(
            value, bound
        ):
            return 0, missing
        case Comparison():
            return (4 if missing else 0), missing
        case At(time) if linear(time) is None and not is_bound(time, bound):
            return 3, missing
        case Windowed(window) if not all(is_bound(term, bound) for term in window.filter_terms):
            return 2, missing
        case _:
            return (1 if names <= bound_after(part, bound) else 3), missing


def _compare(comparison: Comparison, known: dict[str, Constant]) -> Found:
    left, right = comparison.left, comparison.right
    if is_bound(left, known) and is_bound(right, known):
        holds = compare(comparison.operator, value(left, known), value(right, known))
        return [known] if holds else []
    for open_side, other in ((left, right), (right, left)):
        if (
            comparison.operator == "="
            and isinstance(open_side, Variable)
            and is_bound(other, known)
        ):
            result = value(other, known)
            return [] if result is None else [{**known, open_side.name: result}]
    return [known]


def _distinct(found: Iterable[dict[str, Constant]]) -> Found:
    return list({frozenset(binding.items()): binding for binding in found}.values())

"""Conditions under which formulas hold at one evaluation, over elements that rules may derive."""

from collections.abc import Iterator
from typing import assert_never

from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Wildcard
from larspark.language.nodes import variables
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
from larspark.logic.circuit import FALSE, TRUE, Circuit
from larspark.logic.values import (
    NEGATED,
    NoValueError,
    Substitution,
    compare,
    ground_atom,
    matches,
    time_value,
    value,
)
from larspark.run.answer_sets.evaluation_context import EvaluationContext
from larspark.run.answer_sets.stream_views import View, apply

# So many parts of formulas, at time points and through windows, are evaluated at most.
CONDITION_LIMIT = 2_000_000


class Conditions:
    """The conditions of formulas in one context; `derived` are the predicates of heads."""

    def __init__(self, context: EvaluationContext, derived: frozenset[Signature]) -> None:
        self.circuit = Circuit[Element]()
        self._context = context
        self._derived = derived
        self._known: dict[tuple[int, tuple[Constant, ...], View, int, bool], int] = {}
        self._names: dict[int, tuple[Formula, tuple[str, ...]]] = {}

    def of_body(self, formula: Formula, binding: Substitution) -> int:
        """When a body formula holds at the evaluation time."""
        return self._condition(formula, binding, self._context.whole, self._context.t, False)

    def of_head(self, formula: Formula, binding: Substitution) -> int:
        """When a head holds; its atoms count whether or not a rule is known to derive them."""
        return self._condition(formula, binding, self._context.whole, self._context.t, True)

    def _condition(
        self, formula: Formula, binding: Substitution, view: View, t: int, in_head: bool
    ) -> int:
        key = (id(formula), self._values(formula, binding), view, t, in_head)
        known = self._known.get(key)
        if known is None:
            self._context.check_time()
            if len(self._known) > CONDITION_LIMIT:
                message = f"more than {CONDITION_LIMIT} parts of formulas had to be evaluated"
                hint = "use smaller windows, or say where time ends with `until`"
                raise LarsparkError(Problem("L410", message, formula.span, hint))
            known = self._known[key] = self._evaluate(formula, binding, view, t, in_head)
        return known

    def _evaluate(
        self, formula: Formula, binding: Substitution, view: View, t: int, in_head: bool
    ) -> int:
        circuit = self.circuit

        def at(part: Formula) -> int:
            return self._condition(part, binding, view, t, in_head)

        match formula:
            case AtomFormula(atom):
                return self._atom(ground_atom(atom, binding), view, t, in_head)
            case Comparison():
                return _comparison(formula, binding, formula.operator)
            case Truth(truth):
                return TRUE if truth else FALSE
            case Not(Comparison() as comparison):
                return _comparison(comparison, binding, NEGATED[comparison.operator])
            case Not(body):
                return -at(body)
            case And(parts):
                return circuit.conjunction(map(at, parts))
            case Or(parts):
                return circuit.disjunction(map(at, parts))
            case Implies(left, right):
                return circuit.disjunction((-at(left), at(right)))
            case Aggregate():
                raise LarsparkError(Problem("L403", "aggregates are not evaluated", formula.span))
            case _:
                return self._elsewhere(formula, binding, view, t, in_head)

    def _elsewhere(
        self,
        formula: Some | Always | At | Windowed | Reset,
        binding: Substitution,
        view: View,
        t: int,
        in_head: bool,
    ) -> int:
        """The condition of a formula that looks at other time points or through a window."""
        context = self._context

        def at(part: Formula, seen: View, point: int) -> int:
            return self._condition(part, binding, seen, point, in_head)

        match formula:
            case Some(body):
                points = self._points(view, formula, in_head)
                return self.circuit.disjunction(at(body, view, point) for point in points)
            case Always(body):
                points = self._points(view, formula, in_head)
                if not points:
                    return FALSE
                return self.circuit.conjunction(at(body, view, point) for point in points)
            case At(time, body):
                point = time_value(time, binding)
                if point is None:
                    raise NoValueError
                return at(body, view, point) if view.has_time(point) else FALSE
            case Windowed(_, body):
                window = context.window(formula, binding)
                return at(body, apply(window, view, t, context.elements), t)
            case Reset(body):
                return at(body, context.whole, t)
            case _:
                assert_never(formula)

    def _atom(self, atom: Atom, view: View, t: int, in_head: bool) -> int:
        context = self._context
        if any(isinstance(term, Wildcard) for term in atom.args):
            return self.circuit.disjunction(self._instances(atom, view, t))
        if context.is_background(atom):
            return TRUE
        arrival = context.elements.holds(t, atom)
        if arrival is not None and view.shows(arrival):
            return TRUE
        if atom.signature not in self._derived or not view.shows_derived(t, atom):
            return FALSE
        if in_head or context.is_possible(t, atom):
            return self.circuit.variable(Element(t, atom))
        return FALSE

    def _instances(self, pattern: Atom, view: View, t: int) -> Iterator[int]:
        context = self._context
        signature = pattern.signature
        known = [*context.background.get(signature, ())]
        known += [arrival.atom for arrival in context.seen(signature, view, t)]
        if any(matches(pattern, atom) for atom in known):
            yield TRUE
            return
        for atom in context.derivable(signature, view, t):
            if matches(pattern, atom):
                yield self.circuit.variable(Element(t, atom))

    def _points(self, view: View, formula: Some | Always, in_head: bool) -> range:
        if in_head and view.end is None:
            message = "a head with `some` or `always` needs a timeline that ends"
            hint = "say where time ends with `until`"
            raise LarsparkError(Problem("L403", message, formula.span, hint))
        return self._context.time_points(view)

    def _values(self, formula: Formula, binding: Substitution) -> tuple[Constant, ...]:
        known = self._names.get(id(formula))
        if known is None:
            names = tuple(dict.fromkeys(variable.name for variable in variables(formula)))
            # The formula is kept, so that its identity is not given to another one.
            known = self._names[id(formula)] = (formula, names)
        return tuple(binding[name] for name in known[1])


def _comparison(comparison: Comparison, binding: Substitution, operator: str) -> int:
    left, right = value(comparison.left, binding), value(comparison.right, binding)
    return TRUE if compare(operator, left, right) else FALSE

"""Conditions under which formulas hold at one evaluation, over elements that rules may derive."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Arithmetic, Constant, Wildcard
from larspark.language.nodes import terms, variables, walk
from larspark.language.tree import (
    NEGATED,
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
from larspark.logic.aggregates import State, Tuple, check_states
from larspark.logic.binding import linear
from larspark.logic.circuit import FALSE, TRUE, Circuit
from larspark.logic.matching import Matcher
from larspark.logic.values import (
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

# The most parts of formulas, at time points and through windows, that are evaluated.
CONDITION_LIMIT = 2_000_000


class Conditions:
    """The conditions of formulas in one context; `derived` are the predicates of heads."""

    def __init__(
        self,
        context: EvaluationContext,
        derived: frozenset[Signature],
        matcher: Matcher[View] | None = None,
    ) -> None:
        self.circuit = Circuit[Element]()
        self._context = context
        self._derived = derived
        # Finds the tuples of aggregates.
        self._matcher = matcher
        self._known: dict[tuple[int, tuple[Constant, ...], View, int, bool], int] = {}
        self._names: dict[int, tuple[Formula, tuple[str, ...]]] = {}

    def of_body(self, formula: Formula, binding: Substitution) -> int:
        """When a body formula holds at the evaluation time."""
        return self._condition(formula, binding, self._context.whole, self._context.t, False)

    def of_all(self, conditions: Iterable[Formula], binding: Substitution) -> int:
        """When all conditions of an element of an aggregate hold at the evaluation time."""
        return self.circuit.conjunction(self.of_body(part, binding) for part in conditions)

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
                return self._aggregate(formula, binding)
            case _:
                return self._elsewhere(formula, binding, view, t, in_head)

    def _aggregate(self, aggregate: Aggregate, binding: Substitution) -> int:
        """The states that the set of an aggregate can be in, each with its condition."""
        if self._matcher is None:
            raise TypeError("aggregates need a matcher")
        circuit, function = self.circuit, aggregate.function
        ways: dict[Tuple, list[int]] = {}
        for found, element, local in self._matcher.members(aggregate, binding, self._context.t):
            if has_instance(element.conditions, local, self._context.whole):
                ways.setdefault(found, []).append(self.of_all(element.conditions, local))
        conditions = {found: circuit.disjunction(each) for found, each in ways.items()}
        states = {State(): TRUE}
        # Certain tuples first: they do not multiply the states.
        for found in sorted(conditions, key=lambda each: conditions[each] != TRUE):
            following: dict[State, list[int]] = {}
            for state, before in states.items():
                with_it = circuit.conjunction((before, conditions[found]))
                without = circuit.conjunction((before, -conditions[found]))
                following.setdefault(state.joined(function, found), []).append(with_it)
                following.setdefault(state, []).append(without)
            joined = {state: circuit.disjunction(each) for state, each in following.items()}
            states = {state: condition for state, condition in joined.items() if condition != FALSE}
            check_states(len(states), aggregate.span)
        guards = [(guard.operator, value(guard.term, binding)) for guard in aggregate.guards]
        return circuit.disjunction(
            condition
            for state, condition in states.items()
            if not (aggregate.by and state.empty)
            and all(compare(operator, state.value(function), bound) for operator, bound in guards)
        )

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


def has_instance(formulas: Iterable[Formula], binding: Substitution, whole: View) -> bool:
    """Have all terms of formulas a value, and do their time variables lie in the timeline?

    The elements of aggregates are left out: each has instances of its own. So are the keys of
    windows, which have values for elements of the stream.
    """
    for formula in formulas:
        for part in () if isinstance(formula, Aggregate) else walk(formula):
            if isinstance(part, At):
                pin = linear(part.time)
                point = None if pin is None else binding[pin[0]]
                if pin is not None and not (isinstance(point, int) and whole.has_time(point)):
                    return False
                if time_value(part.time, binding) is None:
                    return False
            elif not isinstance(part, Comparison) and any(
                isinstance(term, Arithmetic) and value(term, binding) is None
                for term in (
                    part.window.filter_terms if isinstance(part, Windowed) else terms(part)
                )
            ):
                return False
    return True


def _comparison(comparison: Comparison, binding: Substitution, operator: str) -> int:
    left, right = value(comparison.left, binding), value(comparison.right, binding)
    return TRUE if compare(operator, left, right) else FALSE

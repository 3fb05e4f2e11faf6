"""Aggregates of a rule as predicates of their own: for the tuples, the values, and the groups.

    N = #sum{ W, I : [9] some load(M, I, W) }, machine(M)

becomes a predicate for the tuples (M, W, I), and one for the groups and their sums (M, N). Where
the literal holds of the empty set, a third one says which groups have a tuple.
"""

from collections.abc import Callable, Mapping, Sequence

from larspark.base.atoms import Atom
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.tree import Aggregate, AggregateFunction, Comparison, Formula
from larspark.plan.bound_variables import bound_by, context, is_positive
from larspark.plan.literals import (
    Collection,
    Condition,
    Conjunction,
    Literal,
    Names,
    Reading,
    conjoin,
)
from larspark.plan.normal_form import FormulaReader
from larspark.plan.operators import Collect, Derive, Mode, Reach, Seen

# Adds a rule for an auxiliary atom: its body, and the arithmetic in it that needs a value.
AddRule = Callable[[Atom, Conjunction, Mapping[Variable, Term]], None]
# What every instance of a conjunction of formulas needs.
Require = Callable[[Sequence[Formula]], tuple[Mapping[Variable, Term], Sequence[Literal]]]


class AggregateParts:
    """The auxiliary predicates of the aggregates of one rule."""

    def __init__(
        self,
        names: Names,
        number: int,
        require: Require,
        add_rule: AddRule,
        found: list[Derive],
    ) -> None:
        self._names = names
        self._number = number
        self._require = require
        self._add_rule = add_rule
        self._found = found
        self._sets: dict[tuple[object, ...], Atom] = {}
        self._values: dict[tuple[Atom, AggregateFunction | None], str] = {}

    def named(self, body: Conjunction) -> Conjunction:
        """The body with its aggregates read from auxiliary predicates."""
        literals: list[Literal] = []
        for literal in body:
            if isinstance(literal, Collection):
                others = [other for other in body if other is not literal]
                literals.extend(self._read(literal, others))
            else:
                literals.append(literal)
        return tuple(literals)

    def _read(self, collection: Collection, others: Sequence[Literal]) -> list[Literal]:
        aggregate = collection.aggregate
        tuples = self._tuples(aggregate, others)
        span = aggregate.span
        if collection.empty:
            name = self._value(tuples, None, aggregate)
            atom = Atom(name, aggregate.shared)
            found: list[Literal] = [Reading(atom, Mode.NOW, None, (), True, span)]
            found += [
                Condition(Comparison(guard.operator, 0, guard.term, span), False)
                for guard in aggregate.guards
                # A constant was compared with 0 before.
                if isinstance(guard.term, Variable | Arithmetic)
            ]
            return found
        name = self._value(tuples, aggregate.function, aggregate)
        guards = list(aggregate.guards)
        value = Variable(f"#{name}")
        for guard in guards:
            if guard.operator == "=" and isinstance(guard.term, Variable):
                value = guard.term
                guards.remove(guard)
                break
        atom = Atom(name, (*aggregate.shared, value))
        return [
            Reading(atom, Mode.NOW, None, (), False, span),
            *(
                Condition(Comparison(guard.operator, value, guard.term, span), False)
                for guard in guards
            ),
        ]

    def _value(self, tuples: Atom, function: AggregateFunction | None, aggregate: Aggregate) -> str:
        """The predicate of the values, or without a function of the groups with a tuple."""
        if (tuples, function) not in self._values:
            name = self._values[tuples, function] = self._names.part(function or "some")
            seen = Seen(tuples, Mode.NOW, None, Reach(), None, (), aggregate.span)
            source = Collect(seen, function, aggregate.shared, aggregate.span)
            value = () if function is None else (Variable(f"#{name}"),)
            head = Atom(name, (*aggregate.shared, *value))
            self._found.append(Derive(source, head, None, self._number, aggregate.span))
        return self._values[tuples, function]

    def _tuples(self, aggregate: Aggregate, others: Sequence[Literal]) -> Atom:
        """The predicate of the tuples: the group, the tuple, and its length if lengths differ."""
        group = aggregate.shared
        rules = [
            (terms, self._in_context(body, others, group), lifted)
            for terms, body, lifted in self._bodies(aggregate)
        ]
        key = (group, tuple((terms, body) for terms, body, _ in rules))
        if key not in self._sets:
            lengths = {len(terms) for terms, _, _ in rules}
            name, width = self._names.part("tuples"), max(lengths, default=1)
            columns = width + (len(lengths) > 1)
            columns_ = tuple(Variable(f"#{number + 1}") for number in range(columns))
            self._sets[key] = Atom(name, (*group, *columns_))
            for terms, body, lifted in rules:
                padding = (0,) * (width - len(terms))
                length = (len(terms),) if len(lengths) > 1 else ()
                head = Atom(name, (*group, *terms, *padding, *length))
                self._add_rule(head, body, lifted)
        return self._sets[key]

    def _bodies(
        self, aggregate: Aggregate
    ) -> list[tuple[tuple[Term, ...], Conjunction, Mapping[Variable, Term]]]:
        """For every alternative of every element the tuple, and when it is in the set."""
        found = []
        for element in aggregate.elements:
            reader = FormulaReader(self._names.given)
            lifted, required = self._require(element.conditions)
            each = conjoin(map(reader.alternatives, element.conditions), aggregate.span)
            found += [(element.terms, (*body, *required), lifted) for body in each]
        return found

    def _in_context(
        self, body: Conjunction, others: Sequence[Literal], group: Sequence[Variable]
    ) -> Conjunction:
        """The body with what it needs of the other literals to bind all variables of the group."""
        plain = [
            literal
            for literal in others
            if is_positive(literal) and not isinstance(literal, Collection)
        ]
        found = (*context(body, plain, group), *body)
        if bound_by(found).issuperset(group):
            return found
        return (*(literal for literal in others if is_positive(literal)), *body)

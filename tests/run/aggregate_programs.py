"""Random programs with aggregates: sets over windows, negation and derived predicates, groups.

Numbers have wildly different magnitudes and lie at the edges of 64 bits, so that a sum that is
not exact, or that overflows on the way, gives another answer.
"""

from random import Random

from tests.run.interval.random_programs import DERIVED, INPUTS, TIMES, VARIABLES, Generator

from larspark.base.atoms import Atom, Element
from larspark.base.terms import Constant, Term, Variable
from larspark.language.aggregate_syntax import finish_body
from larspark.language.nodes import variables
from larspark.language.tree import (
    Aggregate,
    AggregateElement,
    AggregateFunction,
    At,
    AtomFormula,
    Formula,
    Guard,
    Not,
    Rule,
    Windowed,
)
from larspark.logic.binding import bound_variables

# No large integer is also a float: such a pair is one value, but arithmetic tells them apart.
NUMBERS: tuple[Constant, ...] = (
    *(0, 1, 2, 3, -1, 0.1, 0.2, 1.5, -2.5, "x"),
    *(1e16, -1e16, 1e300, -1e300, 5e-324, 1e308),
    *(2**62 + 1, 2**63 - 1, 1 - 2**63, 2**53 + 1),
)
FUNCTIONS: tuple[AggregateFunction, ...] = ("count", "count", "sum", "sum", "min", "max", "avg")
VALUE = Variable("N")


class AggregateGenerator(Generator):
    """Draws cases in which most rules have an aggregate.

    With `recursive` an aggregate may look at the predicate that its rule derives.
    """

    def __init__(self, random: Random, *, recursive: bool = False) -> None:
        super().__init__(random)
        self._recursive = recursive
        self._numbers = random.sample(NUMBERS, random.randint(2, 6))

    def stream(self, first: int) -> tuple[Element, ...]:
        return tuple(
            Element(t, Atom(atom.predicate, tuple(self._number(arg) for arg in atom.args)))
            for t, atom in super().stream(first)
        )

    def _number(self, given: Term) -> Term:
        return self.random.choice(self._numbers) if self.random.random() < 0.6 else given

    def rule(self, level: int) -> Rule:
        random = self.random
        if random.random() < 0.3:
            rule = super().rule(level)
            # Numbers of the stream are no time points: the largest lie beyond every timeline.
            if not isinstance(rule.head, At) or rule.head.time in TIMES:
                return rule
        outer: list[Formula] = [
            self.formula(level, negated=False) for _ in range(random.choice([0, 0, 1, 1]))
        ]
        literals = [self.aggregate(level) for _ in range(random.choice([1, 1, 1, 2]))]
        names = bound_variables((*outer, *literals))
        bound = [v for v in (*VARIABLES, *TIMES, VALUE) if v.name in names]
        body: list[Formula] = [*outer, *literals]
        if bound and random.random() < 0.3:
            body.append(self.comparison(bound)[0])
        if random.random() < 0.2:
            body.append(Not(self.formula(level, negated=True, bound=bound)))
        random.shuffle(body)
        name = self.names[level]
        atom = Atom(name, tuple(self.head_term(bound) for _ in range(DERIVED[name])))
        head: Formula = AtomFormula(atom)
        if random.random() < 0.15:
            head = At(self.pin([v for v in bound if v in TIMES]), head)
        return Rule(head, finish_body(head, body))

    def aggregate(self, level: int) -> Aggregate:
        random = self.random
        elements = tuple(self.element(level) for _ in range(random.choice([1, 1, 1, 2])))
        common = set.intersection(*(_bound_by(element) for element in elements))
        groups = [v for v in (*VARIABLES, *TIMES) if v.name in common]
        by: tuple[Variable, ...] = ()
        if groups and random.random() < 0.5:
            by = tuple(random.sample(groups, random.randint(1, min(2, len(groups)))))
        return Aggregate(random.choice(FUNCTIONS), elements, self.guards(), by)

    def guards(self) -> tuple[Guard, ...]:
        random = self.random
        # A value that leads to another value of the same aggregate may never come to an end.
        if random.random() < 0.6 and not self._recursive:
            return (Guard("=", VALUE),)
        limit = random.choice([0, 1, 2, 3, *self._numbers])
        guard = Guard(random.choice(["=", "!=", "<", "<=", ">", ">="]), limit)
        if random.random() < 0.2:
            return (Guard(">=", random.choice([0, 1])), Guard("<", random.choice([2, 3, 1e17])))
        return (guard,)

    def element(self, level: int) -> AggregateElement:
        random = self.random
        conditions: list[Formula] = [
            self.condition(level) for _ in range(random.choice([1, 1, 1, 2]))
        ]
        if random.random() < 0.1:
            conditions.append(self.moment())
        bound = [v for v in (*VARIABLES, *TIMES) if v.name in bound_variables(conditions)]
        if random.random() < 0.2:
            conditions.append(Not(self.formula(level, negated=True, bound=bound)))
        if bound and random.random() < 0.2:
            conditions.append(self.comparison(bound)[0])
        terms = tuple(self.head_term(bound) for _ in range(random.choice([1, 1, 2, 2, 3])))
        return AggregateElement(terms, tuple(conditions))

    def condition(self, level: int) -> Formula:
        random = self.random
        if self._recursive and random.random() < 0.4:
            name = self.names[level]
            args = tuple(self.argument(list(VARIABLES)) for _ in range(DERIVED[name]))
            return AtomFormula(Atom(name, args))
        if random.random() < 0.4:
            # What the short form stands for.
            name = random.choice(list(INPUTS))
            args = tuple(self.argument(list(VARIABLES)) for _ in range(INPUTS[name]))
            atom = Atom(name, args)
            window = self.window(atom, True, "at")
            return Windowed(window, At(random.choice(TIMES), AtomFormula(atom)))
        return self.formula(level, negated=True)


def _bound_by(element: AggregateElement) -> set[str]:
    inside = {v.name for condition in element.conditions for v in variables(condition)}
    return inside & bound_variables(element.conditions)


def has_aggregate(rules: tuple[Rule, ...]) -> bool:
    return any(isinstance(part, Aggregate) for rule in rules for part in rule.body)

"""Random stratified programs and streams, small enough for the evaluator of the definitions.

Every construct that the interval engine accepts can come up. Programs are built as trees: reading
texts would take most of the time.
"""

from dataclasses import dataclass
from random import Random

from larspark.base.atoms import Atom, Element, Signature
from larspark.base.terms import NOW, Arithmetic, Constant, Term, Variable, Wildcard
from larspark.language.nodes import variables
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Program,
    Reset,
    Rule,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import (
    FilterWindow,
    KeyTerm,
    SessionWindow,
    TimeWindow,
    TupleWindow,
    Window,
)
from larspark.logic.binding import bound_variables

INPUTS = {"a": 1, "b": 1, "c": 2, "e": 0}
BACKGROUND = {"k": 1, "m": 2}
DERIVED = {"p": 1, "q": 1, "r": 2, "s": 0, "u": 1}
CONSTANTS: tuple[Constant, ...] = (0, 1, 2, 1.5, "x")
VARIABLES = tuple(map(Variable, "XYZ"))
TIMES = tuple(map(Variable, "TU"))
WILDCARD = Wildcard()


@dataclass(frozen=True)
class Case:
    """A program with its data and the way it is run."""

    program: Program
    background: frozenset[Atom]
    elements: tuple[Element, ...]
    start: int | None
    to: int
    until: int | None
    hindsight: bool


class Generator:
    """Draws cases from a source of randomness."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = list(DERIVED)
        random.shuffle(self.names)
        self.names = self.names[: random.randint(1, 4)]

    def case(self) -> Case:
        random = self.random
        rules = [rule for level in range(len(self.names)) for rule in self.rules(level)]
        remembered = frozenset(
            Signature(name, DERIVED[name]) for name in self.names if random.random() < 0.12
        )
        inputs = frozenset(Signature(name, arity) for name, arity in INPUTS.items())
        program = Program(tuple(rules), inputs=inputs, remembered=remembered)
        background = frozenset(
            Atom(name, self.constants(arity))
            for name, arity in BACKGROUND.items()
            for _ in range(random.randint(0, 2))
        )
        first = random.randint(0, 3)
        elements = self.stream(first)
        last = max((element.t for element in elements), default=first)
        start = random.choice([None, None, first, first + 2])
        to = max(last, start or 0, first) + random.randint(0, 3)
        until = to + random.randint(0, 3) if random.random() < 0.25 else None
        return Case(program, background, elements, start, to, until, random.random() < 0.15)

    def stream(self, first: int) -> tuple[Element, ...]:
        random = self.random
        names = random.sample(list(INPUTS), random.randint(1, len(INPUTS)))
        values = random.sample(CONSTANTS, random.randint(1, 3))
        t = first
        elements: list[Element] = []
        for _ in range(random.randint(0, 9)):
            t += random.choice([0, 0, 1, 1, 1, 2, 4])
            name = random.choice(names)
            args = tuple(random.choice(values) for _ in range(INPUTS[name]))
            elements.append(Element(t, Atom(name, args)))
        return tuple(elements)

    def constants(self, count: int) -> tuple[Constant, ...]:
        return tuple(self.random.choice(CONSTANTS) for _ in range(count))

    def rules(self, level: int) -> list[Rule]:
        count = 1 if self.random.random() < 0.7 else 2
        return [self.rule(level) for _ in range(count)]

    def rule(self, level: int) -> Rule:
        random = self.random
        name = self.names[level]
        positive = [
            self.formula(level, negated=False) for _ in range(random.choice([0, 1, 1, 1, 2, 2, 3]))
        ]
        if random.random() < 0.2:
            nested = self.nested(level, random.randint(2, 4), counted=random.random() < 0.3)
            if random.random() < 0.1:
                window = random.choice([TupleWindow(random.randint(1, 4)), SessionWindow(2)])
                nested = Windowed(window, nested)
            positive.append(nested)
            positive.extend(self.binders(positive))
        if random.random() < 0.15:
            positive.append(self.moment())
        if random.random() < 0.1 or NOW in variables(And(tuple(positive))):
            # What the language adds wherever `now` is used.
            positive.insert(0, Windowed(TimeWindow(0), At(NOW, Truth(True))))
        bound = [v for v in (*VARIABLES, *TIMES, NOW) if v.name in bound_variables(positive)]
        body: list[Formula] = list(positive)
        for _ in range(random.choice([0, 0, 0, 1, 1, 2])):
            body.append(Not(self.formula(level, negated=True, bound=bound)))
        for _ in range(random.choice([0, 0, 0, 1])):
            comparison, bound = self.comparison(bound)
            body.append(comparison)
        random.shuffle(body)
        arguments = tuple(self.head_term(bound) for _ in range(DERIVED[name]))
        head: Formula = AtomFormula(Atom(name, arguments))
        if random.random() < 0.3:
            head = At(self.pin([v for v in bound if v in (*TIMES, NOW)] or bound), head)
        return Rule(head, tuple(body))

    def moment(self) -> Formula:
        """A time point of a window, or of the whole timeline."""
        random = self.random
        moment: Formula = At(random.choice([*TIMES, *TIMES, NOW]), Truth(True))
        for _ in range(random.choice([0, 1, 1, 1, 2])):
            window = self.window(Atom("a", (WILDCARD,)), random.random() < 0.2, "at")
            moment = Windowed(window, moment)
        return moment

    def head_term(self, bound: list[Variable]) -> Term:
        random = self.random
        if not bound or random.random() < 0.1:
            return random.choice(CONSTANTS)
        if random.random() < 0.1:
            return Arithmetic(
                random.choice(["+", "-", "*", "/", "mod", "min"]), (random.choice(bound), 2)
            )
        return random.choice(bound)

    def pin(self, bound: list[Variable]) -> Term:
        random = self.random
        if not bound or random.random() < 0.1:
            return random.randint(0, 8)
        variable = random.choice(bound)
        if random.random() < 0.4:
            return Arithmetic(random.choice(["+", "-"]), (variable, random.randint(1, 2)))
        return variable

    def comparison(self, bound: list[Variable]) -> tuple[Formula, list[Variable]]:
        random = self.random
        if not bound:
            return Comparison(random.choice(["=", "<"]), 1, random.choice(CONSTANTS)), bound
        free = [v for v in VARIABLES if v not in bound]
        if free and random.random() < 0.4:
            term: Term = Arithmetic(
                random.choice(["+", "-", "*", "/"]),
                (random.choice(bound), random.choice([1, 2, 1.5])),
            )
            return Comparison("=", free[0], term), [*bound, free[0]]
        right: Term = random.choice([*bound, *CONSTANTS])
        if random.random() < 0.2:
            right = Arithmetic(random.choice(["+", "/", "mod", "max"]), (random.choice(bound), 2))
        operator = random.choice(["=", "!=", "<", "<=", ">", ">="])
        comparison = Comparison(operator, random.choice(bound), right)
        return (Not(comparison) if random.random() < 0.2 else comparison), bound

    def formula(self, level: int, *, negated: bool, bound: list[Variable] | None = None) -> Formula:
        random = self.random
        reachable = self.names[: level if negated else level + 1]
        names = [*INPUTS, *INPUTS, *random.sample(list(BACKGROUND), 1)]
        names += reachable * 2
        if not negated and random.random() < 0.75 and self.names[level] in names:
            names = [name for name in names if name != self.names[level]]
        name = random.choice(names)
        arity = {**INPUTS, **BACKGROUND, **DERIVED}[name]
        allowed = list(VARIABLES if bound is None else [v for v in bound if v in VARIABLES])
        args = tuple(self.argument(allowed) for _ in range(arity))
        atom = AtomFormula(Atom(name, args))
        formula: Formula = atom
        mode = random.choice(["now", "now", "some", "some", "some", "always", "at", "at"])
        if mode == "some":
            formula = Some(atom)
        elif mode == "always":
            formula = Always(atom)
        elif mode == "at":
            times = list(TIMES if bound is None else [v for v in bound if v in TIMES])
            pin: Term = (
                random.choice(times) if times and random.random() < 0.9 else random.randint(0, 6)
            )
            if times and random.random() < 0.2:
                pin = Arithmetic(random.choice(["+", "-"]), (pin, 1))
            formula = At(pin, atom)
        if random.random() < (0.9 if mode in ("some", "always") else 0.6 if mode == "at" else 0.15):
            formula = Windowed(self.window(atom.atom, name in INPUTS, mode), formula)
            if random.random() < 0.1:
                formula = Windowed(self.window(atom.atom, name in INPUTS, mode), formula)
        return formula

    def nested(
        self, level: int, depth: int, positive: bool = True, counted: bool = False
    ) -> Formula:
        """Windows, temporal operators and connectives below each other, in any order.

        With `counted` also windows that count elements, which nothing derived may stand below.
        """
        random = self.random
        if depth == 0 or random.random() < 0.1:
            names = [*INPUTS, *INPUTS, *BACKGROUND]
            if not counted:
                names += self.names[:level] * 3
            if not counted and positive and random.random() < 0.1:
                names.append(self.names[level])
            name = random.choice(names)
            arity = {**INPUTS, **BACKGROUND, **DERIVED}[name]
            return AtomFormula(
                Atom(name, tuple(self.argument([*VARIABLES[:2]]) for _ in range(arity)))
            )

        def below(positive: bool = positive) -> Formula:
            return self.nested(level, depth - 1, positive, counted)

        match random.choice(
            ["some"] * 5 + ["always"] * 4 + ["at"] * 2 + ["not", "and", "or", "if"]
        ):
            case "some" | "always" | "at" as kind:
                body = below()
                formula: Formula = Some(body) if kind == "some" else Always(body)
                if kind == "at":
                    formula = At(self.pin([random.choice([*TIMES[:1] * 4, VARIABLES[0]])]), body)
                if random.random() < 0.1:
                    formula = Reset(formula)
                atom = body.atom if isinstance(body, AtomFormula) else Atom("a", (WILDCARD,))
                for _ in range(random.choice([0, 1, 1, 1, 1, 2])):
                    formula = Windowed(self.window(atom, counted, "nested"), formula)
                if random.random() < 0.1:
                    formula = Reset(formula)
                return formula
            case "not":
                return Not(below(not positive))
            case "and" | "or" as kind:
                parts = (
                    below(),
                    below() if random.random() < 0.9 else self.comparison([VARIABLES[0]])[0],
                )
                return And(parts) if kind == "and" else Or(parts)
            case _:
                return Implies(below(not positive), below())

    def binders(self, body: list[Formula]) -> list[Formula]:
        """What gives values to the variables of a body that nothing in it binds."""
        bound = bound_variables(body)
        names = {v.name for formula in body for v in variables(formula)} - bound
        return [
            Windowed(TimeWindow(4), At(v, AtomFormula(Atom("a", (WILDCARD,)))))
            if v in TIMES
            else Windowed(TimeWindow(3), Some(AtomFormula(Atom("a", (v,)))))
            for v in (*VARIABLES, *TIMES)
            if v.name in names
        ]

    def argument(self, variables: list[Variable]) -> Term:
        random = self.random
        roll = random.random()
        if roll < 0.12:
            return WILDCARD
        if roll < 0.25 or not variables:
            return random.choice(CONSTANTS)
        return random.choice(variables)

    def key(self, keys: list[Variable]) -> KeyTerm:
        """What a window groups by: a variable, or arithmetic that may have no value."""
        random = self.random
        if random.random() < 0.7:
            return random.choice(keys)
        other = random.choice([1, 2, 0, random.choice(keys)])
        return Arithmetic(random.choice(["+", "/", "mod", "max"]), (random.choice(keys), other))

    def window(self, atom: Atom, streamed: bool, mode: str) -> Window:
        random = self.random
        kinds = ["time"] * 6 + ["hop", "future", "past", "filter"]
        if streamed:
            kinds += ["tuple", "tuple", "group", "session", "session"]
        match random.choice(kinds):
            case "hop":
                if random.random() < 0.15:
                    past, future = random.choice([(None, 0), (None, 1), (0, None), (2, None)])
                    return TimeWindow(past, future, random.randint(2, 4))
                past, future = random.choice([(3, 0), (2, 0), (2, 1), (0, 3), (3, 1), (4, 0)])
                return TimeWindow(past, future, random.randint(2, past + future))
            case "future":
                return TimeWindow(random.choice([0, 0, 2]), random.randint(1, 3))
            case "past":
                past, future = random.choice([(None, 0)] * 3 + [(None, 2), (0, None), (None, None)])
                return TimeWindow(past, future)
            case "filter":
                pattern = Atom(
                    atom.predicate, tuple(random.choice([WILDCARD, WILDCARD, 1]) for _ in atom.args)
                )
                if mode == "nested" and random.random() < 0.5:
                    term = random.choice([VARIABLES[0], Arithmetic("+", (VARIABLES[1], 1))])
                    pattern = Atom(atom.predicate, tuple(term for _ in atom.args))
                other = Atom("c", (WILDCARD, 1))
                return FilterWindow((pattern, other) if random.random() < 0.5 else (pattern,))
            case "tuple":
                future = random.choice([0, 0, 0, 1, 2])
                return TupleWindow(
                    random.randint(1, 4) if not future else random.randint(0, 3), future
                )
            case "group":
                keys = [
                    term
                    for term in atom.args
                    if isinstance(term, Variable) and atom.args.count(term) == 1
                ]
                if keys:
                    return TupleWindow(
                        random.randint(1, 2), random.choice([0, 0, 0, 1]), (self.key(keys),)
                    )
            case "session":
                keys = [
                    term
                    for term in atom.args
                    if isinstance(term, Variable) and atom.args.count(term) == 1
                ]
                return SessionWindow(
                    random.randint(0, 3),
                    random.choice([None, None, random.randint(0, 5)]),
                    random.random() < 0.3,
                    (self.key(keys),) if keys and random.random() < 0.6 else (),
                )
        return TimeWindow(random.choice([0, 1, 1, 2, 3, 5]))

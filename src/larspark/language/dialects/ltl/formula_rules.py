"""Temporal formulas to LARS rules: one predicate for each subformula, placed at its time points.

The rules are stratified, so there is one answer. `a U b`, for example, becomes

    @T until_1 :- @T b.
    @T until_1 :- @T a, @T+1 until_1.

and what is negated is asked at the time points of the timeline: `@T not_1 :- @T true, not @T a.`
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from larspark.base.atoms import Atom
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.dialects.ltl.temporal_reader import Named
from larspark.language.dialects.ltl.temporal_tree import (
    Binary,
    BinaryOperator,
    Known,
    Listed,
    Proposition,
    Temporal,
    Unary,
    subformulas,
)
from larspark.language.tree import At, AtomFormula, Formula, Not, Rule, Some, Truth, Windowed
from larspark.language.windows import TimeWindow

Reading: TypeAlias = Literal["each", "prefix", "now"]

_NAMES = {
    "!": "not",
    "&": "and",
    "|": "or",
    "->": "implies",
    "<->": "iff",
    "X": "next",
    "WX": "weak_next",
    "F": "eventually",
    "G": "globally",
    "Y": "previous",
    "Z": "weak_previous",
    "O": "once",
    "H": "historically",
    "U": "until",
    "R": "release",
    "W": "weak_until",
    "M": "strong_release",
    "S": "since",
    "T": "trigger",
    "B": "weak_since",
}
# A step towards the future or the past.
_STEP = {"X": 1, "WX": 1, "F": 1, "G": 1, "U": 1, "Y": -1, "Z": -1, "O": -1, "H": -1, "S": -1}

_T = Variable("T")


def rules_of(formulas: Sequence[tuple[Named, Reading]]) -> tuple[Rule, ...]:
    """The rules that derive the name of each formula where it holds in its reading."""
    translation = _Translation(named for named, _ in formulas)
    for named, reading in formulas:
        translation.define(named, reading)
    return tuple(translation.rules)


class _Translation:
    def __init__(self, formulas: Iterable[Named]) -> None:
        self.rules: list[Rule] = []
        self._taken: set[str] = set()
        for named in formulas:
            self._taken.add(named.name)
            for part in subformulas(named.formula):
                if isinstance(part, Proposition):
                    self._taken.add(part.atom.predicate)
        # The predicates of subformulas at their time points, and at the first one.
        self._predicates: dict[Temporal, Atom] = {}
        self._at_start: dict[Temporal, Atom] = {}
        self._span: Span | None = None

    def define(self, named: Named, reading: Reading) -> None:
        self._span = named.span
        literal = self._start(named.formula) if reading == "prefix" else self._now(named.formula)
        self._rule(AtomFormula(Atom(named.name)), [literal])

    def _now(self, formula: Temporal) -> Formula:
        """What holds at the evaluation time if the formula does."""
        if isinstance(formula, Unary) and formula.operator == "!":
            return Not(self._now(formula.body))
        return AtomFormula(self._predicate(formula))

    # At the first time point

    def _start(self, formula: Temporal) -> Formula:
        """What holds at the evaluation time if the formula holds at the first time point."""
        if isinstance(formula, Unary) and formula.operator == "!":
            return Not(self._start(formula.body))
        if isinstance(formula, Unary) and formula.operator == "G":
            return Not(self._start(Unary("F", opposite(formula.body), formula.span)))
        if formula not in self._at_start:
            atom = self._at_start[formula] = self._fresh(f"start_{_name(formula)}")
            for body in self._start_bodies(formula):
                self._rule(AtomFormula(atom), body)
        return AtomFormula(self._at_start[formula])

    def _start_bodies(self, formula: Temporal) -> list[list[Formula]]:
        match formula:
            case Unary("F", body):
                # The whole past is the whole timeline; the first time point sees all of it.
                whole = TimeWindow(None)
                return [[Windowed(whole, Some(AtomFormula(self._predicate(body))))]]
            case Listed("&", parts):
                return [[self._start(part) for part in parts]]
            case Listed("|", parts):
                return [[self._start(part)] for part in parts]
            case Binary("->" | "<->" as operator, left, right):
                return _connected(operator, self._start(left), self._start(right), [])
            case _:
                return [[*self._holds(Known("first"), 0), *self._holds(formula, 0)]]

    # At each time point

    def _predicate(self, formula: Temporal) -> Atom:
        """The predicate that holds where the formula does; an atom is its own."""
        if isinstance(formula, Proposition):
            return formula.atom
        if formula not in self._predicates:
            atom = self._predicates[formula] = self._fresh(_name(formula))
            for body in self._bodies(formula, atom):
                self._rule(_at(0, AtomFormula(atom)), body)
        return self._predicates[formula]

    def _holds(self, formula: Temporal, offset: int) -> list[Formula]:
        """The literals that say that the formula holds at `T + offset`, a time point."""
        point = _at(offset, Truth(True))
        match formula:
            case Known("true"):
                return [point]
            case Known("false"):
                return [point, Truth(False)]
            case Known("first"):
                return [point, Not(_at(offset - 1, Truth(True)))]
            case Known("last"):
                return [point, Not(_at(offset + 1, Truth(True)))]
            case Unary("!", body) if not isinstance(body, Known):
                return [point, Not(_at(offset, AtomFormula(self._predicate(body))))]
            case _:
                return [_at(offset, AtomFormula(self._predicate(formula)))]

    def _bodies(self, formula: Temporal, atom: Atom) -> list[list[Formula]]:
        """The bodies of the rules for a formula, whose predicate is `atom`."""
        point = _at(0, Truth(True))
        match formula:
            case Known():
                return [self._holds(formula, 0)]
            case Unary("!", body):
                return [[point, Not(_at(0, AtomFormula(self._predicate(body))))]]
            case Unary("X" | "Y" as operator, body):
                return [[point, *self._holds(body, _STEP[operator])]]
            case Unary("WX" | "Z" as operator, body):
                end = Known("last" if operator == "WX" else "first")
                return [[point, *self._holds(body, _STEP[operator])], self._holds(end, 0)]
            case Unary("F" | "O" as operator, body):
                again = _at(_STEP[operator], AtomFormula(atom))
                return [self._holds(body, 0), [point, again]]
            case Unary("G", body):
                return [self._holds(Unary("!", Unary("F", opposite(body))), 0)]
            case Unary("H", body):
                return [self._holds(Unary("!", Unary("O", opposite(body))), 0)]
            case Listed("&", parts):
                return [[literal for part in parts for literal in self._holds(part, 0)]]
            case Listed("|", parts):
                return [self._holds(part, 0) for part in parts]
            case Binary("->" | "<->" as operator, left, right):
                one, other = (_at(0, AtomFormula(self._predicate(s))) for s in (left, right))
                return _connected(operator, one, other, [point])
            case Binary("U" | "S" as operator, left, right):
                again = _at(_STEP[operator], AtomFormula(atom))
                holds = self._holds(left, 0)
                if left in (Known("first"), Known("last")):
                    # The interval engine reads no `not @T-1 true` inside a recursion.
                    holds = [_at(0, AtomFormula(self._predicate(left)))]
                return [self._holds(right, 0), [*holds, again]]
            case Binary(operator, left, right):
                return [self._holds(part, 0) for part in _expanded(operator, left, right)]
            case _:
                raise TypeError(f"{formula!r} has no predicate of its own")

    def _fresh(self, name: str) -> Atom:
        number = 1
        while f"{name}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{name}_{number}")
        return Atom(f"{name}_{number}")

    def _rule(self, head: Formula, body: list[Formula]) -> None:
        parts = tuple(dict.fromkeys(body))
        self.rules.append(
            Rule(head, parts) if self._span is None else Rule(head, parts, self._span)
        )


def opposite(formula: Temporal) -> Temporal:
    """The negation of a formula, moved below `!`, `&`, `|` and `->`."""
    match formula:
        case Unary("!", body):
            return body
        case Listed(operator, parts):
            return Listed(
                "|" if operator == "&" else "&", tuple(map(opposite, parts)), formula.span
            )
        case Binary("->", left, right):
            return Listed("&", (left, opposite(right)), formula.span)
        case Known("true" | "false" as name):
            return Known("false" if name == "true" else "true", formula.span)
        case _:
            return Unary("!", formula, formula.span)


def _expanded(operator: BinaryOperator, left: Temporal, right: Temporal) -> list[Temporal]:
    """A disjunction that says the same with the basic operators."""
    until: BinaryOperator = "U" if operator in ("R", "W", "M") else "S"
    always = Unary("G" if until == "U" else "H", left)
    expansions: dict[str, Callable[[], list[Temporal]]] = {
        "R": lambda: [Unary("!", Binary(until, opposite(left), opposite(right)))],
        "W": lambda: [Binary(until, left, right), always],
        "M": lambda: [Binary(until, right, Listed("&", (left, right)))],
    }
    expansions |= {"T": expansions["R"], "B": expansions["W"]}
    return expansions[operator]()


def _connected(
    operator: str, left: Formula, right: Formula, point: list[Formula]
) -> list[list[Formula]]:
    """The bodies of `left -> right` or `left <-> right`; `point` binds the time point."""
    neither: list[Formula] = [*point, Not(left), Not(right)]
    if operator == "<->":
        return [[*point, left, right], neither]
    return [[*point, Not(left)], [*point, right]]


def _at(offset: int, body: Formula) -> At:
    time: Term = _T
    if offset:
        time = Arithmetic("+" if offset > 0 else "-", (_T, abs(offset)))
    return At(time, body)


def _name(formula: Temporal) -> str:
    match formula:
        case Proposition():
            return "atom"
        case Known(name):
            return f"is_{name}"
        case _:
            return _NAMES[formula.operator]

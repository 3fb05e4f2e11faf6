"""Atoms, time points and conditions with variables, and their construction from rule terms."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import NamedTuple, TypeAlias

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import (
    Arithmetic,
    Constant,
    Operation,
    Term,
    Variable,
    Wildcard,
    constant_text,
)
from larspark.logic.values import calculate, compare

# The variable of known time points: `Time(ORIGIN, 17)` is 17.
ORIGIN = ""


class Time(NamedTuple):
    """The time point `variable + offset`."""

    variable: str
    offset: int = 0

    def shifted(self, by: int) -> "Time":
        return Time(self.variable, self.offset + by)

    def __str__(self) -> str:
        if self.variable == ORIGIN:
            return str(self.offset)
        return self.variable + (f"{self.offset:+d}" if self.offset else "")


Slot: TypeAlias = Constant | Variable | Wildcard | Time
Bindings: TypeAlias = Mapping[str, Slot]


class Pattern(NamedTuple):
    """An atom whose arguments may be variables, wildcards or time points."""

    predicate: str
    args: tuple[Slot, ...] = ()

    @property
    def signature(self) -> Signature:
        return Signature(self.predicate, len(self.args))

    def __str__(self) -> str:
        if not self.args:
            return self.predicate
        return f"{self.predicate}({','.join(map(slot_text, self.args))})"


@dataclass(frozen=True, slots=True)
class Calculation:
    """Arithmetic over slots."""

    operation: Operation
    args: tuple["Expression", ...]


Expression: TypeAlias = Slot | Calculation


class Condition(NamedTuple):
    """A comparison over slots."""

    relation: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{_expression_text(self.left)}{self.relation}{_expression_text(self.right)}"


def slot_text(slot: Slot) -> str:
    match slot:
        case Variable(name):
            return name
        case Wildcard():
            return "_"
        case Time():
            return str(slot)
        case _:
            return constant_text(slot)


def _expression_text(expression: Expression) -> str:
    if not isinstance(expression, Calculation):
        return slot_text(expression)
    parts = [_expression_text(arg) for arg in expression.args]
    if len(parts) == 2 and expression.operation not in ("min", "max"):
        separator = " mod " if expression.operation == "mod" else expression.operation
        return f"({separator.join(parts)})"
    return f"{expression.operation}({','.join(parts)})"


def substitute(slot: Slot, bindings: Bindings) -> Slot:
    """Replace a variable by its binding; a known time point becomes its number.

    >>> substitute(Time("T", 1), {"T": Time("S", 2)}), substitute(Variable("X"), {"X": "a"})
    (Time(variable='S', offset=3), 'a')
    """
    if isinstance(slot, Variable):
        return bindings.get(slot.name, slot)
    if isinstance(slot, Time):
        moved = substitute_time(slot, bindings)
        return moved.offset if moved.variable == ORIGIN else moved
    return slot


def substitute_time(time: Time, bindings: Bindings) -> Time:
    bound = bindings.get(time.variable)
    return bound.shifted(time.offset) if isinstance(bound, Time) else time


def substitute_pattern(pattern: Pattern, bindings: Bindings) -> Pattern:
    return Pattern(pattern.predicate, tuple(substitute(arg, bindings) for arg in pattern.args))


def substitute_expression(expression: Expression, bindings: Bindings) -> Expression:
    if isinstance(expression, Calculation):
        args = tuple(substitute_expression(arg, bindings) for arg in expression.args)
        return Calculation(expression.operation, args)
    return substitute(expression, bindings)


def substitute_condition(condition: Condition, bindings: Bindings) -> Condition:
    left, right = condition.left, condition.right
    return Condition(
        condition.relation,
        substitute_expression(left, bindings),
        substitute_expression(right, bindings),
    )


def object_names(slots: Iterable[Expression]) -> Iterator[str]:
    """The names of the object variables (those that are not times), in order of occurrence."""
    for slot in slots:
        if isinstance(slot, Variable):
            yield slot.name
        elif isinstance(slot, Calculation):
            yield from object_names(slot.args)


def time_names(slots: Iterable[Expression]) -> Iterator[str]:
    """The names of the time variables."""
    for slot in slots:
        if isinstance(slot, Time):
            yield slot.variable
        elif isinstance(slot, Calculation):
            yield from time_names(slot.args)


def unify(goal: tuple[Slot, ...], head: tuple[Slot, ...]) -> dict[str, Slot] | None:
    """The most general unifier; variables of the goal are kept (Lemma 5).

    >>> unify((Variable("X"), "a"), (Variable("Y"), Variable("Z")))
    {'Y': Variable(name='X'), 'Z': 'a'}
    """
    bindings: dict[str, Slot] = {}
    for left, right in zip(goal, head, strict=True):
        if isinstance(left, Wildcard) or isinstance(right, Wildcard):
            continue
        step = _unify_slots(substitute(left, bindings), substitute(right, bindings))
        if step is None:
            return None
        bindings = {name: substitute(slot, step) for name, slot in bindings.items()} | step
    return bindings


def _unify_slots(left: Slot, right: Slot) -> dict[str, Slot] | None:
    if left == right:
        return {}
    if isinstance(right, Variable):
        return {right.name: left}
    if isinstance(left, Variable):
        return {left.name: right}
    if isinstance(right, Time):
        return _equal_times(left, right)
    if isinstance(left, Time):
        return _equal_times(right, left)
    return None


def _equal_times(slot: Slot, time: Time) -> dict[str, Slot] | None:
    if isinstance(slot, int):
        slot = Time(ORIGIN, slot)
    if not isinstance(slot, Time) or slot.variable == time.variable:
        return None
    return {time.variable: slot.shifted(-time.offset)}


def value_of(
    expression: Expression, lookup: Callable[[Variable | Time], Constant | None]
) -> Constant | None:
    """The value of an expression without wildcards; None when it has none."""
    if isinstance(expression, Calculation):
        args = [value_of(arg, lookup) for arg in expression.args]
        return calculate(expression.operation, args)
    if isinstance(expression, Variable | Time):
        return lookup(expression)
    return None if isinstance(expression, Wildcard) else expression


def holds(condition: Condition, lookup: Callable[[Variable | Time], Constant | None]) -> bool:
    return compare(
        condition.relation, value_of(condition.left, lookup), value_of(condition.right, lookup)
    )


class Prospect(IntEnum):
    """Whether an atom will hold at a time point, in increasing certainty."""

    IMPOSSIBLE = 0
    OPEN = 1
    CERTAIN = 2


class Literal(NamedTuple):
    """An atom at a time point, or its absence."""

    t: int | Time
    pattern: Pattern
    negated: bool = False

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}@{self.t} {self.pattern}"


class Restriction(NamedTuple):
    """A condition on the unbound variables of an answer."""

    condition: Condition | Pattern
    negated: bool = False

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}{self.condition}"


class Denied(NamedTuple):
    """An atom that must not hold at `t`, evaluated at `now` (None: at any time point)."""

    pattern: Pattern
    t: int | Time
    now: int | None

    @property
    def literal(self) -> Literal:
        return Literal(self.t, self.pattern, True)


class Instance(NamedTuple):
    """An answer with its evidence and the facts that it still needs."""

    answer: tuple[Slot, ...]
    evidence: frozenset[Literal]
    hypotheses: frozenset[Literal]
    where: frozenset[Restriction]


class Terms:
    """Turns the terms of one rule into slots.

    `times` are the time variables, `constants` the values chosen for variable time shifts.
    """

    def __init__(self, times: frozenset[str], constants: dict[str, int]) -> None:
        self._times = times
        self._constants = constants
        self._fresh = count(1)

    def fresh_time(self) -> Time:
        """A fresh time variable."""
        return Time(f"S.{next(self._fresh)}")

    def slot(self, term: Term) -> Slot:
        match term:
            case Variable(name) if name in self._constants:
                return self._constants[name]
            case Variable(name) if name in self._times:
                return Time(name)
            case Variable() | Wildcard():
                return term
            case Arithmetic():
                raise AssertionError("arithmetic in atoms is flattened first")
            case _:
                return term

    def expression(self, term: Term) -> Expression:
        if not isinstance(term, Arithmetic):
            return self.slot(term)
        linear = self._linear(term)
        if linear is not None:
            return linear
        return Calculation(term.operation, tuple(self.expression(arg) for arg in term.args))

    def _linear(self, term: Term) -> Time | None:
        """`T`, `T+3`, `3+T` and `T-3` as a time point, when `T` is a time variable."""
        match term:
            case Variable():
                slot = self.slot(term)
                return slot if isinstance(slot, Time) else None
            case Arithmetic("+" | "-" as operation, (left, right)):
                moved, shift = self._linear(left), self._integer(right)
                if moved is None and operation == "+":
                    moved, shift = self._linear(right), self._integer(left)
                if moved is None or shift is None:
                    return None
                return moved.shifted(shift if operation == "+" else -shift)
            case _:
                return None

    def _integer(self, term: Term) -> int | None:
        match term:
            case int():
                return term
            case Variable(name):
                return self._constants.get(name)
            case Arithmetic("-", (arg,)):
                value = self._integer(arg)
                return None if value is None else -value
            case Arithmetic("+" | "-" as operation, (left, right)):
                one, two = self._integer(left), self._integer(right)
                if one is None or two is None:
                    return None
                return one + two if operation == "+" else one - two
            case _:
                return None

    def time(self, term: Term, span: Span) -> Time:
        linear = self._linear(term)
        if linear is not None:
            return linear
        known = self._integer(term)
        if known is not None:
            return Time(ORIGIN, known)
        raise LarsparkError(
            Problem(
                "L474",
                "a time pin here is a time point, a variable, or a variable shifted by a number",
                span,
                hint="a shift may also be a variable that background data gives values to",
            )
        )

    def flattened(self, atom: Atom) -> tuple[Pattern, tuple[Condition, ...]]:
        """The atom without arithmetic: `p(X*2)` is `p(Y)` with `Y = X*2`."""
        args: list[Slot] = []
        conditions = []
        for arg in atom.args:
            if not isinstance(arg, Arithmetic):
                args.append(self.slot(arg))
                continue
            expression = self.expression(arg)
            if isinstance(expression, Calculation):
                fresh = Variable(f"Value.{next(self._fresh)}")
                conditions.append(Condition("=", fresh, expression))
                args.append(fresh)
            else:
                args.append(expression)
        return Pattern(atom.predicate, tuple(args)), tuple(conditions)

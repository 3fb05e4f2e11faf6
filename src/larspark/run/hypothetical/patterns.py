"""Atoms, time points and conditions with variables: what resolution works on."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from larspark.base.atoms import Signature
from larspark.base.terms import Constant, Operation, Variable, Wildcard, constant_text
from larspark.logic.values import calculate, compare

# The variable of time points that are known: `Time(ORIGIN, 17)` is 17.
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


def put(slot: Slot, bindings: Bindings) -> Slot:
    """Replace a variable by what it is bound to; a known time point becomes its number.

    >>> put(Time("T", 1), {"T": Time("S", 2)}), put(Variable("X"), {"X": "a"})
    (Time(variable='S', offset=3), 'a')
    """
    if isinstance(slot, Variable):
        return bindings.get(slot.name, slot)
    if isinstance(slot, Time):
        moved = put_time(slot, bindings)
        return moved.offset if moved.variable == ORIGIN else moved
    return slot


def put_time(time: Time, bindings: Bindings) -> Time:
    bound = bindings.get(time.variable)
    return bound.shifted(time.offset) if isinstance(bound, Time) else time


def put_pattern(pattern: Pattern, bindings: Bindings) -> Pattern:
    return Pattern(pattern.predicate, tuple(put(arg, bindings) for arg in pattern.args))


def put_expression(expression: Expression, bindings: Bindings) -> Expression:
    if isinstance(expression, Calculation):
        args = tuple(put_expression(arg, bindings) for arg in expression.args)
        return Calculation(expression.operation, args)
    return put(expression, bindings)


def put_condition(condition: Condition, bindings: Bindings) -> Condition:
    left, right = condition.left, condition.right
    return Condition(
        condition.relation, put_expression(left, bindings), put_expression(right, bindings)
    )


def object_names(slots: Iterable[Expression]) -> Iterator[str]:
    """The names of the variables that are not times, in order of occurrence."""
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
    """The most general bindings that make both equal; variables of the goal are kept (Lemma 5).

    >>> unify((Variable("X"), "a"), (Variable("Y"), Variable("Z")))
    {'Y': Variable(name='X'), 'Z': 'a'}
    """
    bindings: dict[str, Slot] = {}
    for left, right in zip(goal, head, strict=True):
        if isinstance(left, Wildcard) or isinstance(right, Wildcard):
            continue
        step = _unify_slots(put(left, bindings), put(right, bindings))
        if step is None:
            return None
        bindings = {name: put(slot, step) for name, slot in bindings.items()} | step
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
    """Will an atom hold at a time point? The larger, the surer."""

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
    """What has to hold for the variables that an answer leaves open."""

    condition: Condition | Pattern
    negated: bool = False

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}{self.condition}"


class Denied(NamedTuple):
    """An atom at a time point, seen from `now` (None: that does not matter), that must not hold."""

    pattern: Pattern
    t: int | Time
    now: int | None

    @property
    def literal(self) -> Literal:
        return Literal(self.t, self.pattern, True)


class Instance(NamedTuple):
    """An answer, the facts it rests on, and the facts it still needs."""

    answer: tuple[Slot, ...]
    evidence: frozenset[Literal]
    hypotheses: frozenset[Literal]
    where: frozenset[Restriction]

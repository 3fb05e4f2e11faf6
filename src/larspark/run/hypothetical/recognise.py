"""Which facts match what a premise says by itself: constants, repetitions, comparisons, data.

Premises of different clauses often say the same; each fact is looked at once for all of them.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from larspark.base.terms import Constant, Variable
from larspark.run.hypothetical.dataset import Background, Row
from larspark.run.hypothetical.patterns import (
    Calculation,
    Condition,
    Expression,
    Pattern,
    Slot,
    Time,
    object_names,
    put_condition,
    put_pattern,
)
from larspark.run.hypothetical.rules import Occurrence
from larspark.run.hypothetical.solving import matched, solutions
from larspark.run.hypothetical.values import calculate, compare

Test: TypeAlias = Callable[[Row], bool]


class Recogniser:
    """Equal for premises that accept the same facts."""

    def __init__(self, occurrence: Occurrence) -> None:
        places: dict[str, Slot] = {}
        for position, arg in enumerate(occurrence.pattern.args):
            if isinstance(arg, Variable):
                places.setdefault(arg.name, Variable(str(position)))
            elif isinstance(arg, Time):
                places.setdefault(arg.variable, Time(str(position)))
        self._pattern = put_pattern(occurrence.pattern, places)
        self._rigid = tuple(put_pattern(pattern, places) for pattern in occurrence.rigid)
        self._conditions = tuple(put_condition(c, places) for c in occurrence.conditions)

    @property
    def key(self) -> tuple[Pattern, tuple[Pattern, ...], tuple[Condition, ...]]:
        return (self._pattern, self._rigid, self._conditions)

    def tests(self, background: Background) -> list[Test]:
        """Tests that a fact has to pass, the cheap ones first."""
        found: list[Test] = []
        for position, arg in enumerate(self._pattern.args):
            if isinstance(arg, Variable) and arg.name != str(position):
                found.append(_same(int(arg.name), position))
            elif isinstance(arg, int | float | str):
                found.append(_constant(position, arg))
        known = {arg.name for arg in self._pattern.args if isinstance(arg, Variable)}
        direct = [c for c in self._conditions if set(object_names(c[1:])) <= known]
        found += [_condition(condition) for condition in direct]
        if self._rigid or len(direct) < len(self._conditions):
            found.append(self._looked_up(background))
        return found

    def _looked_up(self, background: Background) -> Test:
        def test(row: Row) -> bool:
            known = matched(self._pattern, row, {})
            if known is None:
                return False
            ways = solutions(self._rigid, self._conditions, known, background)
            return any(not undecided for _, undecided in ways)

        return test


def accepted(rows: Sequence[Row], tests: Sequence[Test]) -> Sequence[Row]:
    """The facts that pass all tests."""
    for test in tests:
        rows = [row for row in rows if test(row)]
    return rows


def _same(one: int, other: int) -> Test:
    return lambda row: row[one] == row[other]


def _constant(position: int, constant: Constant) -> Test:
    return lambda row: row[position] == constant


def _condition(condition: Condition) -> Test:
    relation = condition.relation
    left, right = _getter(condition.left), _getter(condition.right)
    return lambda row: compare(relation, left(row), right(row))


def _getter(expression: Expression) -> Callable[[Row], Constant | None]:
    match expression:
        case Variable(name):
            position = int(name)
            return lambda row: row[position]
        case Calculation(operation, args):
            getters = [_getter(arg) for arg in args]
            return lambda row: calculate(operation, [getter(row) for getter in getters])
        case int() | float() | str():
            return lambda _: expression
        case _:
            return lambda _: None

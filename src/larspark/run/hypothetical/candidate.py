"""Candidates: partial matches of a clause; and the tests that facts have to pass for a premise.

Premises of different clauses often accept the same facts; each fact is tested once for all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import TypeAlias

from larspark.base.terms import Constant, Variable
from larspark.logic.values import calculate, compare
from larspark.run.hypothetical.clause import Clause, Ends, Premise, Values
from larspark.run.hypothetical.dataset import Background, Row, Undecided, matched, solutions
from larspark.run.hypothetical.patterns import (
    Calculation,
    Condition,
    Expression,
    Pattern,
    Slot,
    Time,
    object_names,
    substitute_condition,
    substitute_pattern,
)
from larspark.run.hypothetical.temporal_rules import Occurrence

Test: TypeAlias = Callable[[Row], bool]


class Recogniser:
    """The local conditions of a premise, with a key that is equal for equivalent premises."""

    def __init__(self, occurrence: Occurrence) -> None:
        places: dict[str, Slot] = {}
        for position, arg in enumerate(occurrence.pattern.args):
            if isinstance(arg, Variable):
                places.setdefault(arg.name, Variable(str(position)))
            elif isinstance(arg, Time):
                places.setdefault(arg.variable, Time(str(position)))
        self._pattern = substitute_pattern(occurrence.pattern, places)
        self._rigid = tuple(substitute_pattern(pattern, places) for pattern in occurrence.rigid)
        self._conditions = tuple(substitute_condition(c, places) for c in occurrence.conditions)

    @property
    def key(self) -> tuple[Pattern, tuple[Pattern, ...], tuple[Condition, ...]]:
        return (self._pattern, self._rigid, self._conditions)

    def tests(self, background: Background) -> list[Test]:
        """The tests that a fact has to pass, cheap ones first."""
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


Key: TypeAlias = tuple[Constant | None, ...]


class Run:
    """A premise that is met at every time point from `start` to `last`."""

    __slots__ = ("_row", "_rows", "candidates", "key", "last", "start")

    def __init__(self, key: Row, start: int) -> None:
        self.key = key
        self.start = start
        self.last = start
        self.candidates: dict[Candidate, None] = {}
        self._row: Row = ()
        self._rows: dict[int, list[Row]] | None = None

    def add(self, t: int, row: Row, premise: Premise) -> None:
        """Add a fact; a premise with open positions can have several at a time point."""
        self.last = t
        if not premise.leaves_open:
            self._row = row
            return
        if self._rows is None:
            self._rows = {}
        self._rows.setdefault(t, []).append(row)
        # Older facts cannot be part of an answer any more; time points are added in order.
        while next(iter(self._rows)) < t - premise.kept:
            del self._rows[next(iter(self._rows))]

    def rows(self, t: int) -> Sequence[Row]:
        return (self._row,) if self._rows is None else self._rows[t]


# The match of a premise: a fact with its time point, or a run.
Part: TypeAlias = tuple[int, Row] | Run | None


class Candidate:
    """A partial match of a clause."""

    __slots__ = (
        "alive",
        "clause",
        "expiry",
        "high",
        "key",
        "low",
        "mask",
        "parts",
        "places",
        "undecided",
        "values",
    )

    def __init__(
        self,
        clause: Clause,
        mask: int,
        values: Values,
        low: Ends,
        high: Ends,
        parts: tuple[Part, ...],
        undecided: tuple[Undecided, ...],
    ) -> None:
        self.clause = clause
        self.mask = mask
        self.values = values
        self.low = low
        self.high = high
        self.parts = parts
        self.undecided = undecided
        self.key: Key = tuple([None if v is None else values[v] for v in clause.key])
        # The index entries of the candidate, for its removal.
        self.places: list[tuple[Table, Key]] = []
        self.expiry: float = inf
        self.alive = True

    def runs(self) -> Iterator[tuple[Premise, Run]]:
        for premise, part in zip(self.clause.premises, self.parts, strict=True):
            if isinstance(part, Run):
                yield premise, part

    @property
    def is_general(self) -> bool:
        """Does the answer still have variables that are not times?"""
        values = self.values
        for variable in self.clause.key:
            if variable is not None and values[variable] is None:
                return True
        return False

    def last_chance(self) -> float:
        """The time point after which the candidate cannot become an answer, or is dropped."""
        high = self.high
        unmet = self.clause.unmet(self.mask)
        if not unmet:
            # It is still needed at the time point at which it became complete.
            return min((high[time] + more for time, more in self.clause.kept), default=inf) + 1
        chances = [high[premise.time] + premise.first for premise in unmet]
        for number, premise in enumerate(unmet):
            if premise.floor is not None:
                chances[number] = max(chances[number], premise.floor)
        return min(chances)


# Candidates by the values of their bound variables.
Table: TypeAlias = dict[Key, dict[Candidate, None]]

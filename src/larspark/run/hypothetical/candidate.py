"""A candidate: a partial match of a clause, and the runs of facts it may rest on.

It stands for all answers of the clause that rest on the same facts: its values are bound, and each
of its time variables lies between two ends. Facts of a premise over a span form runs: one run is
one match, however long it grows.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import TypeAlias

from larspark.base.terms import Constant
from larspark.run.hypothetical.clause import Clause, Ends, Premise, Values
from larspark.run.hypothetical.dataset import Row
from larspark.run.hypothetical.solving import Undecided

Key: TypeAlias = tuple[Constant | None, ...]


class Run:
    """The same premise met at every time point from `start` to `last`."""

    __slots__ = ("_row", "_rows", "candidates", "key", "last", "start")

    def __init__(self, key: Row, start: int) -> None:
        self.key = key
        self.start = start
        self.last = start
        self.candidates: dict[Candidate, None] = {}
        self._row: Row = ()
        self._rows: dict[int, list[Row]] | None = None

    def add(self, t: int, row: Row, premise: Premise) -> None:
        """One more fact; where a premise leaves something open, several may come at a time."""
        self.last = t
        if not premise.leaves_open:
            self._row = row
            return
        if self._rows is None:
            self._rows = {}
        self._rows.setdefault(t, []).append(row)
        # Older facts can no longer be part of an answer: time points were added in order.
        while next(iter(self._rows)) < t - premise.kept:
            del self._rows[next(iter(self._rows))]

    def rows(self, t: int) -> Sequence[Row]:
        return (self._row,) if self._rows is None else self._rows[t]


# What met a premise: a fact with its time point, or a run.
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
        # Where it waits, so that it can be taken out again.
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
        """The time point after which the candidate cannot become an answer, or is forgotten."""
        high = self.high
        lacking = self.clause.lacking(self.mask)
        if not lacking:
            # It is still wanted at the time point at which it became complete.
            return min((high[time] + more for time, more in self.clause.kept), default=inf) + 1
        chances = [high[premise.time] + premise.first for premise in lacking]
        for number, premise in enumerate(lacking):
            if premise.floor is not None:
                chances[number] = max(chances[number], premise.floor)
        return min(chances)


# Candidates by the values of the variables that they wait with.
Table: TypeAlias = dict[Key, dict[Candidate, None]]

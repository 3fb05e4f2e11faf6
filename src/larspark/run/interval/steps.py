"""What happens to the rows of a rule, one step after the other.

Rows are bindings: `FROM`, `TO`, then one column for each variable that is bound so far.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from larspark.base.terms import Term, Variable
from larspark.run.interval.arithmetic import Mask, evaluate, holds
from larspark.run.interval.clock import Clock
from larspark.run.interval.constants import INTEGER, Constants, integers, tags
from larspark.run.interval.kernels.layout import FROM, KEYS, TO, Ints
from larspark.run.interval.kernels.probe import project
from larspark.run.interval.store import Index

Columns = Mapping[Variable, int]


class Step(Protocol):
    """Rows in, rows out."""

    def __call__(self, rows: Ints) -> Ints: ...


@dataclass(frozen=True, slots=True)
class JoinStep:
    """Rows with what a store holds for them, while it does; only the picked columns go on."""

    index: Index
    keys: Ints
    picks: Ints

    def __call__(self, rows: Ints) -> Ints:
        return self.index.join(rows, self.keys, self.picks)


@dataclass(frozen=True, slots=True)
class SubtractStep:
    """Rows while a store holds nothing for them."""

    index: Index
    keys: Ints

    def __call__(self, rows: Ints) -> Ints:
        return self.index.subtract(rows, self.keys)


@dataclass(frozen=True, slots=True)
class WhereStep:
    """Rows for which a comparison is true, or has a value and is false."""

    comparison: str
    left: Term
    right: Term
    negated: bool
    columns: Columns
    constants: Constants

    def __call__(self, rows: Ints) -> Ints:
        columns = {variable: rows[:, place] for variable, place in self.columns.items()}
        left = evaluate(self.left, columns, len(rows), self.constants)
        right = evaluate(self.right, columns, len(rows), self.constants)
        true = holds(self.comparison, left, right, self.constants)
        if self.negated:
            valid = left.both(right)
            true = ~true if valid is None else ~true & valid
        return _selected(rows, true)


@dataclass(frozen=True, slots=True)
class LetStep:
    """Rows with the value of a term as one more column."""

    term: Term
    columns: Columns
    constants: Constants

    def __call__(self, rows: Ints) -> Ints:
        columns = {variable: rows[:, place] for variable, place in self.columns.items()}
        values = evaluate(self.term, columns, len(rows), self.constants)
        wider = np.empty((len(rows), rows.shape[1] + 1), np.int64)
        wider[:, :-1] = rows
        wider[:, -1] = values.codes
        return wider if values.valid is None else _selected(wider, values.valid)


@dataclass(frozen=True, slots=True)
class WithinStep:
    """Rows while the value of a column is a time point of the timeline."""

    column: int
    clock: Clock

    def __call__(self, rows: Ints) -> Ints:
        codes = rows[:, self.column]
        return _in_timeline(rows, codes, integers(codes), self.clock)


@dataclass(frozen=True, slots=True)
class ProjectStep:
    """Rows with only some of their columns, in another order."""

    picks: Ints

    def __call__(self, rows: Ints) -> Ints:
        return project(rows, self.picks)


@dataclass(frozen=True, slots=True)
class PinStep:
    """Rows while the first column is a time point of the timeline, which it holds from then on."""

    clock: Clock

    def __call__(self, rows: Ints) -> Ints:
        codes = rows[:, KEYS]
        rows = _in_timeline(rows, codes, integers(codes), self.clock)
        rows[:, KEYS] = integers(rows[:, KEYS])
        return rows


def _selected(rows: Ints, mask: Mask) -> Ints:
    return rows if mask.all() else rows[mask]


def _in_timeline(rows: Ints, codes: Ints, times: Ints, clock: Clock) -> Ints:
    """Rows whose time point is one, and from when on it is in the timeline."""
    inside: Mask = (tags(codes) == INTEGER) & (times >= clock.start)
    if clock.end is not None:
        return rows[inside & (times <= clock.end)]
    inside &= times <= rows[:, TO]
    rows, times = rows[inside], times[inside]
    rows[:, FROM] = np.maximum(rows[:, FROM], times)
    return rows

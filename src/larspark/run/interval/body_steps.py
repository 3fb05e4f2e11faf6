"""The steps of a rule body after the first formula.

Rows are bindings: `FROM`, `TO`, then one column for each variable that is bound so far.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.term_text import term_text
from larspark.language.tree import NOWHERE
from larspark.plan.operators import Reach
from larspark.run.diagnostics import Calculation
from larspark.run.interval.arithmetic import Mask, Values, decide, evaluate
from larspark.run.interval.interning import INTEGER, Constants, integers, tags
from larspark.run.interval.kernels.layout import FROM, NONE, TO, Ints
from larspark.run.interval.kernels.scan import EQUAL, LESS, MORE, NOT_LESS, NOT_MORE, UNEQUAL
from larspark.run.interval.row_programs import Step, comparison_program
from larspark.run.interval.store import Index

Columns = Mapping[Variable, int]


@dataclass(frozen=True, slots=True)
class JoinStep:
    """Joins rows with a store; only the picked columns are kept.

    A rule that reads the same store twice would find new rows in both places: one of its firings
    joins only with old rows.
    """

    index: Index
    lookup: Ints

    def __call__(self, rows: Ints) -> Ints:
        return self.index.probe(rows, self.lookup)


@dataclass(frozen=True, slots=True)
class SubtractStep:
    """Restricts rows to the times at which a store holds nothing for them."""

    index: Index
    lookup: Ints

    def __call__(self, rows: Ints) -> Ints:
        return self.index.probe(rows, self.lookup)


@dataclass(frozen=True, slots=True)
class WhereStep:
    """Filters rows by a comparison or its negation; `without_value` keeps rows without a value."""

    comparison: str
    left: Term
    right: Term
    negated: bool
    columns: Columns
    constants: Constants
    without_value: bool = False
    origin: Span = NOWHERE

    def __call__(self, rows: Ints) -> Ints:
        columns = {variable: rows[:, place] for variable, place in self.columns.items()}
        left = evaluate(self.left, columns, len(rows), self.constants)
        right = evaluate(self.right, columns, len(rows), self.constants)
        for term, values in ((self.left, left), (self.right, right)):
            _count(term, values, self.origin, self.constants)
        true, valid = decide(self.comparison, left, right, self.constants)
        if self.negated:
            true = ~true if valid is None else ~true & valid
        if self.without_value and valid is not None:
            true |= ~valid
        return selected(rows, true)


def _count(term: Term, values: Values, origin: Span, constants: Constants) -> None:
    """Count how often arithmetic had a value; a term of which it never had is reported."""
    if isinstance(term, Arithmetic):
        calculation = Calculation(term_text(term), origin)
        constants.diagnostics.add_tries(calculation, len(values.codes), values.valued)


_COMPARISONS = {"=": EQUAL, "!=": UNEQUAL, "<": LESS, ">=": NOT_LESS, ">": MORE, "<=": NOT_MORE}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">=": "<=", ">": "<", "<=": ">="}


def where_step(where: WhereStep) -> Step:
    """The fastest step for a comparison: a row program, unless there is arithmetic."""
    comparison, left, right = where.comparison, where.left, where.right
    if not isinstance(left, Variable):
        comparison, left, right = _MIRRORED[comparison], right, left
    if not isinstance(left, Variable) or not isinstance(right, Variable | int | float | str):
        return where
    # The number of a comparison and that of its complement differ in the lowest bit.
    number = _COMPARISONS[comparison] ^ where.negated
    other, code = NONE, 0
    if isinstance(right, Variable):
        other = where.columns[right]
    else:
        code = where.constants.code(right)
    return comparison_program(number, where.columns[left], other, code, len(where.columns), where)


@dataclass(frozen=True, slots=True)
class LetStep:
    """Adds the value of a term as a column; rows without a value are dropped."""

    term: Term
    columns: Columns
    constants: Constants
    origin: Span = NOWHERE

    def __call__(self, rows: Ints) -> Ints:
        columns = {variable: rows[:, place] for variable, place in self.columns.items()}
        values = evaluate(self.term, columns, len(rows), self.constants)
        _count(self.term, values, self.origin, self.constants)
        wider = np.empty((len(rows), rows.shape[1] + 1), np.int64)
        wider[:, :-1] = rows
        wider[:, -1] = values.codes
        return wider if values.valid is None else selected(wider, values.valid)


def selected(rows: Ints, mask: Mask) -> Ints:
    """The rows that the mask selects."""
    return rows if mask.all() else rows[mask]


@dataclass(frozen=True, slots=True)
class EachStep:
    """Adds every integer between two terms as a column, with a row for each.

    If there is such a column already, it filters the rows whose value lies between them.
    """

    column: int | None
    low: Term
    high: Term
    columns: Columns
    constants: Constants

    def __call__(self, rows: Ints) -> Ints:
        columns = {variable: rows[:, place] for variable, place in self.columns.items()}
        low = evaluate(self.low, columns, len(rows), self.constants)
        high = evaluate(self.high, columns, len(rows), self.constants)
        valid = (tags(low.codes) == INTEGER) & (tags(high.codes) == INTEGER)
        both = low.both(high)
        if both is not None:
            valid &= both
        first, last = integers(low.codes), integers(high.codes)
        if self.column is not None:
            codes = rows[:, self.column]
            value = integers(codes)
            valid &= (tags(codes) == INTEGER) & (first <= value) & (value <= last)
            return selected(rows, valid)
        lengths = np.where(valid, np.maximum(last - first + 1, 0), 0)
        wider = np.empty((int(lengths.sum()), rows.shape[1] + 1), np.int64)
        wider[:, :-1] = np.repeat(rows, lengths, axis=0)
        offsets = np.arange(len(wider)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        wider[:, -1] = (np.repeat(first, lengths) + offsets) << 2
        return wider


@dataclass(frozen=True, slots=True)
class ReachStep:
    """Restricts rows to the times at which the time point in a column is in reach."""

    column: int
    reach: Reach

    def __call__(self, rows: Ints) -> Ints:
        rows = rows.copy()
        past, future, every = self.reach.past, self.reach.future, self.reach.every
        times = integers(rows[:, self.column])
        if future is not None:
            rows[:, FROM] = np.maximum(rows[:, FROM], -((future - times) // every) * every)
        if past is not None:
            end = (times + past) // every * every + every - 1
            rows[:, TO] = np.minimum(rows[:, TO], end)
        return selected(rows, rows[:, FROM] <= rows[:, TO])

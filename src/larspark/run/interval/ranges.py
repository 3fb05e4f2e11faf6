"""Steps about time points that are no columns of a formula: they range, and lie in windows."""

from dataclasses import dataclass

import numpy as np

from larspark.base.terms import Term
from larspark.plan.operators import Reach
from larspark.run.interval.arithmetic import evaluate
from larspark.run.interval.constants import INTEGER, Constants, integers, tags
from larspark.run.interval.kernels.layout import FROM, TO, Ints
from larspark.run.interval.steps import Columns, selected


@dataclass(frozen=True, slots=True)
class EachStep:
    """Rows with every integer between two terms as one more column.

    If there is such a column already, the rows whose value lies between them.
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
    """Rows while the time point in a column is in reach of the evaluation time."""

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

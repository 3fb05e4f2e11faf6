"""The kernel that reads a body formula off the rows of its predicate."""

import numpy as np

from larspark.run.interval.kernels.compile import kernel
from larspark.run.interval.kernels.layout import FOREVER, FROM, NONE, TO, Ints

# The column of the time point in the rows of pinned atoms.
TIME = 2
# How the evaluation times follow from the time point: it must be now, or lie in the window. Rows
# without a time point keep their interval; or it is a run of time points, each known from then on.
NOW, WINDOW, KEEP, RUN = 0, 1, 2, 3
# Stands for the time point among the columns to pick.
PICK_TIME = -2


@kernel
def scan(
    batch: Ints,
    constants: Ints,
    equal: Ints,
    mode: int,
    past: int,
    future: int,
    every: int,
    pick: Ints,
) -> Ints:
    """Select, restrict to the window, and project.

    `constants` are lines (column, value), `equal` lines (column, column). A window of NONE time
    points is without bound on that side. Time points are picked as codes of integers.
    """
    out = np.empty((batch.shape[0], TO + 1 + pick.shape[0]), np.int64)
    count = 0
    for source in range(batch.shape[0]):
        keep = True
        for number in range(constants.shape[0]):
            if batch[source, constants[number, 0]] != constants[number, 1]:
                keep = False
                break
        for number in range(equal.shape[0]):
            if batch[source, equal[number, 0]] != batch[source, equal[number, 1]]:
                keep = False
                break
        if not keep:
            continue
        start, end = batch[source, FROM], batch[source, TO]
        if mode != KEEP:
            first, last = start, end
            if mode != RUN:
                first = last = batch[source, TIME]
            if future != NONE:
                start = max(start, -((future - first) // every) * every)
            if mode == RUN:
                end = FOREVER
            if past != NONE:
                end = min(end, (last + past) // every * every + every - 1)
            if mode == NOW:
                start, end = max(start, first), min(end, last)
        if start > end:
            continue
        out[count, FROM] = start
        out[count, TO] = min(end, FOREVER)
        for number in range(pick.shape[0]):
            column = pick[number]
            out[count, TO + 1 + number] = (
                batch[source, TIME] << 2 if column == PICK_TIME else batch[source, column]
            )
        count += 1
    return out[:count]

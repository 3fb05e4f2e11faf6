"""The kernel of tuple windows: the last tuples of the stream."""

import numpy as np

from larspark.run.interval.kernels.compile import kernel
from larspark.run.interval.kernels.layout import FOREVER, FROM, TO, Ints
from larspark.run.interval.kernels.scan import TIME

# The columns of a member: its number among all that arrived, then those of its batch row.
ORDINAL, ROW = 0, 1
# The members from `OLDEST` up to `NEXT` are in the window; so many elements have arrived at all.
OLDEST, NEXT, ARRIVED = 0, 1, 2


@kernel
def last_arrivals(
    members: Ints,
    counters: Ints,
    batch: Ints,
    places: Ints,
    times: Ints,
    past: int,
    future: int,
    start: int,
) -> tuple[Ints, Ints]:
    """Insert elements at ascending times: those of the batch, at their places, and others.

    An element is in the window until the one `past` after it arrives, and from when the one
    `future` before it does. Returns the rows with their times in the window, as far as known; and
    the earlier rows that are pushed out, with the time from which they are out.
    """
    width = batch.shape[1]
    before = counters[ARRIVED]
    counters[ARRIVED] += times.shape[0]
    oldest = counters[OLDEST]
    first = oldest
    while oldest < counters[NEXT] and members[oldest, ORDINAL] + past < counters[ARRIVED]:
        oldest += 1
    counters[OLDEST] = oldest
    outside = np.empty((oldest - first, width), np.int64)
    for line in range(oldest - first):
        for column in range(width):
            outside[line, column] = members[first + line, ROW + column]
        outside[line, FROM] = times[members[first + line, ORDINAL] + past - before]
    inside = np.empty(batch.shape, np.int64)
    count = 0
    for source in range(batch.shape[0]):
        for column in range(width):
            inside[count, column] = batch[source, column]
        low = batch[source, TIME]
        if future > 0:
            earlier = places[source] - future
            low = min(low, start if earlier < 0 else times[earlier])
        high = FOREVER
        if places[source] + past < times.shape[0]:
            high = times[places[source] + past] - 1
        inside[count, FROM] = low
        inside[count, TO] = high
        if high == FOREVER:
            member = counters[NEXT]
            counters[NEXT] += 1
            members[member, ORDINAL] = before + places[source]
            for column in range(width):
                members[member, ROW + column] = inside[count, column]
        count += int(low <= high)
    return inside[:count], outside

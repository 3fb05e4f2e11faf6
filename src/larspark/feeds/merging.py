"""Several streams merged by time, as columns."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from larspark.base.arrow_numpy import numpy_array
from larspark.base.facts import AnyBatch, Segment
from larspark.base.problems import LarsparkError
from larspark.feeds.ordering import numbered_segments, ordered_batches
from larspark.feeds.reading import Reading


class _Held(NamedTuple):
    """Facts held until other streams reach their time: a segment, and the number of its stream."""

    segment: Segment
    place: int


def merged_batches(streams: Sequence[Iterator[AnyBatch]], reading: Reading) -> Iterator[AnyBatch]:
    """Batches by time; at equal times in the order of the streams.

    A time point is complete when every stream has reached a later one. A problem of a stream is
    raised after the facts that were accepted before it were delivered.
    """
    held: list[_Held] = []
    # The times that the streams have reached without a fact.
    bare: list[int] = []
    reached: dict[int, int] = dict.fromkeys(range(len(streams)), -1)
    failure: LarsparkError | None = None
    while reached and failure is None:
        least = min(reached.values())
        for place in [place for place, t in reached.items() if t == least]:
            try:
                batch = next(streams[place], None)
            except LarsparkError as error:
                failure = error
                break
            if batch is None:
                del reached[place]
                continue
            held += [_Held(segment, place) for segment in batch.segments()]
            if batch.last_t is not None:
                bare.append(batch.last_t)
                reached[place] = batch.last_t
        complete = None
        if failure is not None:
            complete = least
        elif reached:
            complete = min(reached.values()) - 1
        ready, held = _cut(held, complete)
        heard = [t for t in bare if complete is None or t <= complete]
        bare = [t for t in bare if complete is not None and t > complete]
        yield from ordered_batches(numbered_segments(ready, reading.facts), heard, reading)
    if failure is not None:
        raise failure


def _cut(held: Sequence[_Held], last: int | None) -> tuple[list[tuple[Segment, int]], list[_Held]]:
    """The facts up to a time, or all, with the places of their streams; and the others."""
    ready: list[tuple[Segment, int]] = []
    rest: list[_Held] = []
    for (signature, table), place in held:
        end = table.num_rows
        if last is not None:
            end = int(np.searchsorted(numpy_array(table["t"]), last, "right"))
        if end:
            ready.append((Segment(signature, table.slice(0, end)), place))
        if end < table.num_rows:
            rest.append(_Held(Segment(signature, table.slice(end)), place))
    return ready, rest

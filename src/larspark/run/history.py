"""What arrived and can still be seen, kept for explanations and for other rules."""

import json
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import repeat, takewhile
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from larspark.analysis.checked import Lookback
from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch, PointBatch, Row, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.run.state import atom_fields, atom_of, byte_array, optional_time, time_of

# So many time points at least lie as they came before it is looked which of them can be forgotten.
_PATIENCE = 64


class _Kept:
    """A batch, and the number of its tuples as far as windows count any."""

    __slots__ = ("batch", "count", "encoded")

    def __init__(self, batch: AnyBatch, count: int, encoded: bytes = b"") -> None:
        self.batch = batch
        self.count = count
        # Its line in a saved state, once there was one.
        self.encoded = encoded


class Seen(NamedTuple):
    """The extent of a history.

    `start` is the first time point, if it was given, and `heard` the first one of the stream;
    `forgotten` is the last one with elements that are not kept any more.
    """

    start: int | None
    heard: int | None
    forgotten: int | None


class History:
    """The batches that windows can still see at the time point answered last, and later.

    These are the elements within the lookback in time, and as many tuples before it as windows
    count. `keep` extends this to at least so many time points, and limits it to them if the
    lookback has no bound, as that of windows that count tuples by group. Without `keep`, `most`
    elements are kept for such a lookback, or all. If it is `saved`, it is part of saved states.
    """

    def __init__(
        self,
        lookback: Lookback,
        start: int | None = None,
        keep: int | None = None,
        *,
        most: int | None = None,
        saved: bool = False,
    ) -> None:
        self.keep = keep
        self.saved = saved
        self._most = most
        self._start = start
        self._heard: int | None = None
        self._batches: deque[_Kept] = deque()
        # What came after the batches, as time points, atoms and numbers of arrival: made into
        # batches when somebody looks. Until then the last answer at its time is noted.
        self._points: list[tuple[int, Sequence[Atom], int]] = []
        self._patience = _PATIENCE
        self._answered: int | None = None
        self._forgotten: int | None = None
        self.look_back(lookback)

    def look_back(self, lookback: Lookback) -> None:
        """From now on keep what a program with this lookback can see."""
        self._settle()
        self._lookback = lookback
        self._time, self._tuples = lookback.time, lookback.tuples
        if self.keep is not None:
            bounded = self._time is not None and self._tuples is not None
            self._time = max(self.keep, self._time or 0) if bounded else self.keep
            self._tuples = self._tuples if bounded else 0
        # How many batches are older than the lookback in time, and the tuples in all but the first.
        self._old = 0
        self._old_tuples = 0
        counts = self._counts() if self._tuples else repeat(0)
        self._batches = deque(
            _Kept(kept.batch, count, kept.encoded)
            for kept, count in zip(self._batches, counts, strict=False)
        )
        self._held = sum(len(kept.batch) for kept in self._batches)

    def _counts(self) -> Iterator[int]:
        """How many tuples each batch has that none before it has."""
        before: int | None = None
        for kept in self._batches:
            yield _count(kept.batch, before)
            before = kept.batch.last_t

    def copy(self) -> "History":
        """A copy for an independent run."""
        self._settle()
        other = copy(self)
        other._batches, other._points = self._batches.copy(), []
        return other

    @property
    def seen(self) -> Seen:
        self._settle()
        return Seen(self._start, self._heard, self._forgotten)

    def append_point(self, t: int, atoms: Sequence[Atom], seq: int, answered: int | None) -> None:
        """Take in what happened at t; the same as a batch of these atoms, in less time."""
        if self._time is None or self._tuples != 0 or self._heard is None:
            self.append(PointBatch(t, atoms, seq), answered)
            return
        points = self._points
        if atoms:
            points.append((t, atoms, seq))
        self._answered = answered
        if len(points) > self._patience:
            self._forget_points()
            self._patience = 2 * len(points) + _PATIENCE

    def _forget_points(self) -> None:
        """Forget what no window sees after the last answer, most of it before it is a batch."""
        self._forget(self._answered)
        if self._batches or self._answered is None or self._time is None:
            return
        points = self._points
        gone = bisect_left(points, self._answered - self._time, key=itemgetter(0))
        if gone:
            self.forget_up_to(points[gone - 1][0])
            del points[:gone]

    def _settle(self) -> None:
        """Forget what no window sees, and make batches of the rest of what came after them."""
        self._forget_points()
        if self._points:
            points, self._points, self._patience = self._points, [], _PATIENCE
            self._batches.extend(_Kept(PointBatch(*point), 0) for point in points)
            self._held += sum(len(atoms) for _, atoms, _ in points)

    def append(self, batch: AnyBatch, answered: int | None) -> None:
        """Take a batch in, and drop those that no window sees after `answered`."""
        self._settle()
        last_t, batches = batch.last_t, self._batches
        if last_t is None:
            return
        if self._heard is None:
            self._heard = last_t if batch.first_t is None else batch.first_t
        if batch.first_t is not None:
            before = batches[-1].batch.last_t if batches else None
            batches.append(_Kept(batch, _count(batch, before) if self._tuples else 0))
            self._held += len(batch)
        if self._most is not None and None in (self._time, self._tuples):
            while self._held > self._most and len(batches) > 1:
                gone = batches.popleft().batch
                self._held -= len(gone)
                self.forget_up_to(gone.last_t)
        self._forget(answered)

    def _forget(self, answered: int | None) -> None:
        """Drop the batches that no window sees after `answered`."""
        batches = self._batches
        if answered is None or self._time is None or self._tuples is None or not batches:
            return
        floor, first_t = answered - self._time, batches[0].batch.last_t
        if first_t is not None and first_t >= floor:
            return
        while self._old < len(batches) and self._is_before(self._old, floor):
            if self._old:
                self._old_tuples += batches[self._old].count
            self._old += 1
        while self._old and self._old_tuples >= self._tuples:
            gone = batches.popleft().batch
            self._held -= len(gone)
            self.forget_up_to(gone.last_t)
            self._old -= 1
            if self._old:
                self._old_tuples -= batches[0].count

    def _is_before(self, number: int, t: int) -> bool:
        last_t = self._batches[number].batch.last_t
        return last_t is not None and last_t < t

    def forget_up_to(self, t: int | None) -> None:
        """Elements up to t are not here any more."""
        self._forgotten = t

    def check(self, at: int) -> None:
        """Refuse a time point from which something that was forgotten could be seen."""
        if not self.sees_all(at, self._lookback):
            message = f"what could be seen at {at} is no longer kept"
            raise LarsparkError(Problem("L409", message))

    def sees_all(self, at: int, lookback: Lookback) -> bool:
        """Whether everything is here that a program with this lookback can see at a time point."""
        self._settle()
        if self._forgotten is None:
            return True
        if lookback.time is None or lookback.tuples is None:
            return False
        floor = at - lookback.time
        if floor <= self._forgotten:
            return False
        old = takewhile(lambda kept: (kept.batch.last_t or 0) < floor, self._batches)
        counts = (count for count, _ in zip(self._counts(), old, strict=False))
        return lookback.tuples == 0 or sum(counts) >= lookback.tuples

    def rows(self) -> Iterator[Row]:
        """The elements that are kept, in arrival order."""
        self._settle()
        return (row for kept in self._batches for row in kept.batch.rows())

    def elements(self) -> Iterator[tuple[int, Atom]]:
        """The elements that are kept, in arrival order."""
        return ((row.t, row.atom) for row in self.rows())

    def save(self) -> NDArray[np.uint8]:
        """Everything as an array of a state: a line for each batch."""
        lines = [json.dumps([self.keep, *self.seen]).encode()]
        for kept in self._batches:
            if not kept.encoded:
                rows = [[row.t, *atom_fields(row.atom)] for row in kept.batch.rows()]
                kept.encoded = json.dumps([kept.batch.last_t, rows]).encode()
            lines.append(kept.encoded)
        return byte_array(b"\n".join(lines))

    @classmethod
    def restored(cls, lookback: Lookback, saved: NDArray[np.uint8]) -> "History":
        """The history of a state, for a program with this lookback."""
        head, *lines = saved.tobytes().split(b"\n")
        keep, start, heard, forgotten = map(optional_time, json.loads(head))
        found = cls(lookback, start, keep, saved=True)
        found._heard, found._forgotten = heard, forgotten
        found._batches.extend(map(_batch, lines))
        found.look_back(lookback)
        return found


def _count(batch: AnyBatch, before: int | None) -> int:
    """How many tuples a batch has; none if it may repeat those of the batch before it."""
    if batch.first_t is None or (before is not None and batch.first_t <= before):
        return 0
    return len({(row.t, row.atom) for row in batch.rows()})


def _batch(line: bytes) -> _Kept:
    last_t, rows = json.loads(line)
    elements = [Row(time_of(t), atom_of(fields), n) for n, (t, *fields) in enumerate(rows)]
    return _Kept(RowBatch(elements, time_of(last_t)), 0)

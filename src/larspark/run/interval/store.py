"""Stores: the arrays that kernels work on, with room to grow."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.cover import (
    cover_add,
    cover_compact,
    cover_remove,
    cover_settle,
)
from larspark.run.interval.kernels.layout import (
    FOREVER,
    KEYS,
    NONE,
    RING,
    SETTLED,
    TO,
    USED,
    Ints,
)
from larspark.run.interval.kernels.probe import join, subtract

_SMALLEST = 16


class Store:
    """For every key the evaluation times at which it holds, as disjoint maximal intervals.

    >>> store = Store(width=1, settled=0)
    >>> store.add(np.array([[1, 3, 7], [8, 9, 7], [3, 5, 7]]), floor=1).tolist()
    [[1, 3, 7], [8, 9, 7], [4, 5, 7]]
    >>> sorted(store.rows().tolist())
    [[1, 5, 7], [8, 9, 7]]
    """

    __slots__ = ("_columns", "_counters", "_due", "_heads", "_links", "_rows", "_told", "width")

    def __init__(self, width: int, settled: int) -> None:
        self.width = width
        self._told = False
        self._columns = np.empty((0, max(width, 1)), np.int64)
        self.clear(settled)

    def clear(self, settled: int) -> None:
        """Forget all rows, and begin after this time point."""
        tables = 1 + len(self._columns)
        self._rows = np.empty((_SMALLEST, KEYS + self.width), np.int64)
        self._links = np.empty((_SMALLEST, tables + self._told), np.int32)
        self._heads = np.full((tables, _SMALLEST), NONE, np.int32)
        self._due = np.full(RING if self._told else 0, NONE, np.int32)
        self._counters = np.array([0, 0, settled, 0], np.int64)

    def __len__(self) -> int:
        """How many rows hold now or later."""
        return int((self._rows[: self._counters[USED], TO] > self._counters[SETTLED]).sum())

    @property
    def bytes(self) -> int:
        """The memory that the rows and their hash tables take."""
        arrays = (self._rows, self._links, self._heads, self._due)
        return sum(array.nbytes for array in arrays)

    def index(self, keys: Sequence[int]) -> "Index":
        """An index over these key columns; all of them in order need none of their own."""
        columns = np.array([KEYS + key for key in keys], np.int64)
        if list(keys) == list(range(self.width)):
            return Index(self, 0, columns)
        padded = np.full(self._columns.shape[1], NONE, np.int64)
        padded[: len(columns)] = columns
        for number, known in enumerate(self._columns):
            if np.array_equal(known, padded):
                return Index(self, number + 1, columns)
        rows, settled = self.rows(), self.settled
        self._columns = np.vstack([self._columns, padded[np.newaxis]])
        self.clear(settled)
        self.add(rows, -FOREVER)
        return Index(self, len(self._columns), columns)

    def tell(self) -> None:
        """Be ready to say what begins and ends as time passes."""
        rows, settled = self.rows(), self.settled
        self._told = True
        self.clear(settled)
        self.add(rows, -FOREVER)

    def add(self, batch: Ints, floor: int) -> Ints:
        """Add intervals from `floor` on; gives what is newly covered."""
        return self.add_since(batch, floor)[0]

    def add_since(self, batch: Ints, floor: int) -> tuple[Ints, Ints]:
        """Add intervals; gives what is newly covered, and since when its keys hold without gap."""
        self._reserve(len(batch))
        return cover_add(
            self._rows,
            self._links,
            self._heads,
            self._columns,
            self._due,
            self._counters,
            batch,
            floor,
        )

    def remove(self, batch: Ints, floor: int) -> Ints:
        """Take intervals away from `floor` on; gives what was covered of them."""
        self._reserve(2 * len(batch))
        return cover_remove(
            self._rows,
            self._links,
            self._heads,
            self._columns,
            self._due,
            self._counters,
            batch,
            floor,
        )

    def settle(self, upto: int) -> tuple[Ints, Ints]:
        """Let time pass: the rows that began, and those that ended before `upto`, if it has to tell."""
        if self._told:
            return cover_settle(self._rows, self._links, self._due, self._counters, upto)
        self._counters[SETTLED] = upto
        return self._rows[:0], self._rows[:0]

    @property
    def settled(self) -> int:
        """The time point up to which time has passed."""
        return int(self._counters[SETTLED])

    def rows(self) -> Ints:
        """All rows that hold now or later, or ended only now."""
        used = self._rows[: self._counters[USED]]
        return used[used[:, TO] >= self._counters[SETTLED]]

    def compact(self) -> None:
        """Throw out what is over."""
        cover_compact(
            self._rows,
            self._links,
            self._heads,
            self._columns,
            self._due,
            self._counters,
            self.settled,
        )

    def _reserve(self, more: int) -> None:
        if self._counters[USED] + more <= len(self._rows):
            return
        self.compact()
        used = int(self._counters[USED])
        # Half of the rows are free after this, so that compacting is worth its while.
        needed = 2 * (used + more)
        if needed <= len(self._rows):
            return
        capacity = max(needed * 5 // 4, _SMALLEST)
        self._rows = _resized(self._rows, capacity)
        self._links = _resized(self._links, capacity)
        buckets = 1 << (capacity - 1).bit_length()
        if buckets > self._heads.shape[1]:
            self._heads = np.empty((len(self._heads), buckets), np.int32)
            self.compact()

    def state(self) -> dict[str, Ints]:
        """What has to be kept to go on later."""
        return {"rows": self.rows(), "settled": np.array([self.settled], np.int64)}

    def load(self, state: Mapping[str, Ints]) -> None:
        """Go on from what `state` gave."""
        rows = state["rows"]
        if rows.ndim != 2 or rows.shape[1] != KEYS + self.width:
            raise ValueError("the rows of a store have another width")
        self.clear(int(state["settled"][0]))
        self.add(rows, -FOREVER)


class Index(NamedTuple):
    """A way to look rows of a store up by some of their key columns."""

    store: Store
    number: int
    columns: Ints

    def join(self, batch: Ints, keys: Ints, taken: Ints) -> Ints:
        """The batch joined with the store: batch columns, then the taken key columns."""
        store = self.store
        return join(
            store._rows,
            store._links,
            store._heads,
            store._counters,
            self.number,
            self.columns,
            batch,
            keys,
            taken,
        )

    def subtract(self, batch: Ints, keys: Ints) -> Ints:
        """The batch at the times when the store holds nothing for its keys."""
        store = self.store
        return subtract(
            store._rows,
            store._links,
            store._heads,
            store._counters,
            self.number,
            self.columns,
            batch,
            keys,
        )


def grown(lines: Ints, more: int) -> Ints:
    """The same lines with room for `more`, and half as many again."""
    needed = len(lines) + more
    return _resized(lines, needed + needed // 2)


def _resized(lines: np.ndarray, capacity: int) -> np.ndarray:
    larger = np.empty((capacity, lines.shape[1]), lines.dtype)
    larger[: len(lines)] = lines
    return larger

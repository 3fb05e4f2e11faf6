"""Stores: the arrays that kernels work on, with room to grow."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.cover import (
    cover_add,
    cover_rebuild,
    cover_remove,
    cover_settle,
)
from larspark.run.interval.kernels.layout import (
    BATCH_KEYS,
    DEAD,
    FOREVER,
    IDLE,
    KEYS,
    LIVE,
    NEXT,
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

    __slots__ = ("_columns", "_counters", "_due", "_heads", "_indexes", "_rows", "width")

    def __init__(self, width: int, settled: int) -> None:
        self.width = width
        self._columns = np.empty((0, max(width, 1)), np.int64)
        self.clear(settled)

    def clear(self, settled: int) -> None:
        """Forget all rows, and begin after this time point."""
        self._rows = np.empty((_SMALLEST, self._row_width()), np.int64)
        self._heads = np.full(_SMALLEST, NONE, np.int64)
        self._indexes = np.full((len(self._columns), _SMALLEST), NONE, np.int64)
        self._due = np.full(RING, NONE, np.int64)
        self._counters = np.array([0, NONE, 0, 0, settled], np.int64)

    def _row_width(self) -> int:
        return KEYS + self.width + 2 * len(self._columns)

    def __len__(self) -> int:
        return int(self._counters[LIVE])

    @property
    def bytes(self) -> int:
        """The memory that the rows and their hash tables take."""
        arrays = (self._rows, self._heads, self._indexes, self._due)
        return sum(array.nbytes for array in arrays)

    def index(self, keys: Sequence[int]) -> "Index":
        """An index over these key columns; all of them in order need no index of their own."""
        columns = np.array([KEYS + key for key in keys], np.int64)
        if list(keys) == list(range(self.width)):
            return Index(self, NONE, columns)
        padded = np.full(self._columns.shape[1], NONE, np.int64)
        padded[: len(columns)] = columns
        for number, known in enumerate(self._columns):
            if np.array_equal(known, padded):
                return Index(self, number, columns)
        rows, settled = self.rows(), int(self._counters[SETTLED])
        self._columns = np.vstack([self._columns, padded[np.newaxis]])
        self.clear(settled)
        self.add(rows, -FOREVER)
        return Index(self, len(self._columns) - 1, columns)

    def add(self, batch: Ints, floor: int) -> Ints:
        """Add intervals from `floor` on; gives what is newly covered."""
        return self.add_since(batch, floor)[0]

    def add_since(self, batch: Ints, floor: int) -> tuple[Ints, Ints]:
        """Add intervals; gives what is newly covered, and since when its keys hold without gap."""
        self._reserve(len(batch))
        return cover_add(
            self._rows,
            self._heads,
            self._indexes,
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
            self._heads,
            self._indexes,
            self._columns,
            self._due,
            self._counters,
            batch,
            floor,
        )

    def settle(self, upto: int) -> tuple[Ints, Ints]:
        """Let time pass: the rows that began, and those that ended before `upto`, now freed."""
        return cover_settle(
            self._rows,
            self._heads,
            self._indexes,
            self._columns,
            self._due,
            self._counters,
            self.width,
            upto,
        )

    @property
    def settled(self) -> int:
        """The time point up to which time has passed."""
        return int(self._counters[SETTLED])

    def rows(self) -> Ints:
        """All rows as a batch."""
        used = self._rows[: self._counters[USED]]
        alive = used[used[:, TO] != DEAD]
        batch = np.empty((len(alive), BATCH_KEYS + self.width), np.int64)
        batch[:, :BATCH_KEYS] = alive[:, :BATCH_KEYS]
        batch[:, BATCH_KEYS:] = alive[:, KEYS : KEYS + self.width]
        return batch

    def _reserve(self, more: int) -> None:
        room = len(self._rows) - int(self._counters[USED]) + int(self._counters[IDLE])
        if more <= room:
            return
        self._rows = grown(self._rows, more - room)
        if len(self._rows) > len(self._heads):
            buckets = 1 << (len(self._rows) - 1).bit_length()
            self._heads = np.empty(buckets, np.int64)
            self._indexes = np.empty((len(self._columns), buckets), np.int64)
            cover_rebuild(
                self._rows, self._heads, self._indexes, self._columns, self._counters, self.width
            )

    def state(self) -> dict[str, Ints]:
        """What has to be kept to go on later."""
        return {"rows": self.rows(), "settled": np.array([self.settled], np.int64)}

    def load(self, state: Mapping[str, Ints]) -> None:
        """Go on from what `state` gave."""
        rows = state["rows"]
        if rows.ndim != 2 or rows.shape[1] != BATCH_KEYS + self.width:
            raise ValueError("the rows of a store have another width")
        self.clear(int(state["settled"][0]))
        self.add(rows, -FOREVER)


class Index(NamedTuple):
    """A way to look rows of a store up by some of their key columns."""

    store: Store
    number: int
    columns: Ints

    def _table(self) -> tuple[Ints, int]:
        store = self.store
        if self.number == NONE:
            return store._heads, NEXT
        link = KEYS + store.width + 2 * self.number + 1
        return store._indexes[self.number], link

    def join(self, batch: Ints, keys: Ints, taken: Ints) -> Ints:
        """The batch joined with the store: batch columns, then the taken key columns."""
        heads, link = self._table()
        return join(batch, keys, self.store._rows, heads, link, self.columns, taken)

    def subtract(self, batch: Ints, keys: Ints) -> Ints:
        """The batch at the times when the store holds nothing for its keys."""
        heads, link = self._table()
        return subtract(batch, keys, self.store._rows, heads, link, self.columns)


def grown(lines: Ints, more: int) -> Ints:
    """The same lines with room for `more`, and half as many again."""
    needed = len(lines) + more
    larger = np.empty((needed + needed // 2, lines.shape[1]), np.int64)
    larger[: len(lines)] = lines
    return larger

"""Stores: the arrays that kernels work on, with room to grow."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.compile import MANY_LINES, make_haste
from larspark.run.interval.kernels.cover import cover_add, cover_keep
from larspark.run.interval.kernels.expire import cover_drop, cover_link, cover_settle
from larspark.run.interval.kernels.hash_lists import chunks_needed
from larspark.run.interval.kernels.layout import (
    CHUNK,
    END,
    FOREVER,
    HEAD,
    KEYS,
    LACKING,
    NO_ROOM,
    NO_ROOM_BEHIND,
    NONE,
    READ,
    RING,
    SETTLED,
    STORE_SHEET,
    TAIL,
    TO,
    UNREAD,
    WAITING,
    Ints,
)
from larspark.run.interval.kernels.probe import FIRST_KEY, join, subtract
from larspark.run.interval.kernels.remove import cover_remove
from larspark.run.interval.kernels.select import cover_rows
from larspark.run.interval.kernels.store_header import address_of
from larspark.run.interval.row_programs import Reading, whole

_SMALLEST = 16
_SPACIOUS = 1024


class Run(NamedTuple):
    """What a key must have held for without a gap: since a time point, or so many before."""

    start: int
    past: int


_NO_RUN = Run(0, NONE)
_NOBODY = np.empty((0, 3), np.int64)


class Store:
    """For every key the evaluation times at which it holds, as disjoint maximal intervals.

    >>> store = Store(width=1, settled=0)
    >>> store.add(np.array([[1, 3, 7], [8, 9, 7], [3, 5, 7]]), floor=1).tolist()
    [[1, 3, 7], [8, 9, 7], [4, 5, 7]]
    >>> sorted(store.rows().tolist())
    [[1, 5, 7], [8, 9, 7]]
    """

    __slots__ = (
        "_chunks",
        "_columns",
        "_due",
        "_followers",
        "_follows",
        "_heads",
        "_rows",
        "_told",
        "_whole",
        "nothing",
        "row_size",
        "sheet",
        "width",
    )

    def __init__(self, width: int, settled: int) -> None:
        self.width = width
        self.row_size = KEYS + width
        self._told = False
        self._whole = whole(width)
        none = np.empty((0, self.row_size), np.int64)
        # What is told when there is nothing to tell.
        self.nothing = (none, none)
        self._columns = np.empty((0, max(width, 1)), np.int64)
        # What kernels are handed; it stays where it is.
        self.sheet = np.zeros(STORE_SHEET, np.int64)
        # The stores that take over what is new, each with a reading; and the same for kernels.
        self._followers: list[tuple[Store, Reading]] = []
        self._follows = _NOBODY
        self.clear(settled)

    def clear(self, settled: int) -> None:
        """Forget all rows, and begin after this time point."""
        self._fill(self.nothing[0], settled, _SMALLEST)

    def _fill(self, rows: Ints, settled: int, capacity: int) -> None:
        """Start anew with some rows, and room for more."""
        if capacity > MANY_LINES:
            make_haste()
        tables, links = 1 + len(self._columns), self.row_size
        self._rows = np.empty((capacity, links + tables), np.int64)
        self._rows[: len(rows), :links] = rows
        # Passing a row that belongs elsewhere costs more than a larger table.
        buckets = max(4 * len(rows), capacity * 4 // 3)
        self._heads = np.empty((tables, 1 << (buckets - 1).bit_length()), np.uint32)
        self._due = np.empty(RING if self._told else 0, np.int64)
        # As many places as there are rows may be out of date.
        chunks = chunks_needed(2 * capacity)
        self._chunks = np.empty((chunks if self._told else 0, CHUNK), np.uint32)
        end = int(rows[:, TO].max(initial=-FOREVER))
        read = self.sheet[READ]
        told = int(self._told)
        seen, fresh = len(rows), FOREVER
        counters = [0, seen, 0, settled, seen, fresh, end, read, NONE, 0, links, told, 0, 0, 0]
        arrays = (self._rows, self._heads, self._columns, self._due, self._chunks)
        places = [number for array in arrays for number in (address_of(array), *array.shape)]
        self.sheet[:] = [*counters, *places]
        cover_link.run(self.sheet)

    def is_over(self, t: int) -> bool:
        """Is it known, without looking at rows, that none holds at t or later?"""
        return bool(self.sheet[END] < t)

    def live(self, t: int) -> int:
        """How many rows hold at t or later."""
        return len(cover_rows.run(self.sheet, t))

    @property
    def bytes(self) -> int:
        """The memory that the rows and their hash tables take."""
        arrays = (self._rows, self._heads, self._chunks, self._due)
        return sum(array.nbytes for array in arrays)

    def index(self, keys: Sequence[int]) -> "Index":
        """An index over these key columns; all of them in order need none of their own."""
        columns = tuple(KEYS + key for key in keys)
        if list(keys) == list(range(self.width)):
            return Index(self, 0, columns)
        padded = np.full(self._columns.shape[1], NONE, np.int64)
        padded[: len(columns)] = columns
        for number, known in enumerate(self._columns):
            if np.array_equal(known, padded):
                return Index(self, number + 1, columns)
        self._columns = np.vstack([self._columns, padded[np.newaxis]])
        self._fill(self.rows(), self.settled, len(self._rows))
        return Index(self, len(self._columns), columns)

    def tell(self) -> None:
        """Be ready to say what begins and ends as time passes."""
        self._told = True
        self._fill(self.rows(), self.settled, len(self._rows))

    def lead(self, other: "Store", reading: Reading) -> None:
        """Let another store take over what is new here, as far as it is read off.

        It has to be settled as far as this one, and the reading must be able to compare everything.
        """
        self._followers.append((other, reading))
        self._follows = np.array(
            [
                (address_of(store.sheet), address_of(each.numbers), len(each.numbers))
                for store, each in self._followers
            ],
            np.int64,
        )

    def add(
        self, batch: Ints, floor: int, reading: Reading | None = None, run: Run = _NO_RUN
    ) -> Ints:
        """Add what is read off a batch, from `floor` on; gives what is newly covered.

        That is told only where the key has held for long enough to be a run.
        """
        reading = reading or self._whole
        # One line more than most often comes, so that the last row seldom stops.
        pieces = np.empty((len(batch) + 1, self.row_size), np.int64)
        follows, again = self._follows, False
        told: list[Ints] = []
        while True:
            count = cover_add.run(
                self.sheet,
                batch,
                reading.numbers,
                floor,
                run.start,
                run.past,
                again,
                pieces,
                follows,
            )
            if count >= 0 or self.sheet[LACKING] == NO_ROOM_BEHIND:
                break
            if self.sheet[LACKING] == NO_ROOM:
                self._make_room(len(batch))
                continue
            told.append(pieces[:~count])
            pieces = np.empty((2 * len(pieces), self.row_size), np.int64)
            # Those that follow get everything at the end.
            follows, again = _NOBODY, True
        if count >= 0 and not told:
            return pieces[:count]
        new = np.concatenate([*told, pieces[: count if count >= 0 else ~count]])
        for store, each in self._followers:
            store.keep(new, floor, each)
        return new

    def keep(self, batch: Ints, floor: int, reading: Reading) -> None:
        """Add what is read off a batch, from `floor` on, when nobody wants to know what is new."""
        while cover_keep.run(self.sheet, batch, reading.numbers, floor) < 0:
            self._make_room(len(batch))

    def remove(self, batch: Ints, floor: int, reading: Reading | None = None) -> Ints:
        """Take what is read off a batch away from `floor` on; gives what was covered of it."""
        if not self._has_room(len(batch)):
            self._make_room(len(batch))
        if self._told and not self._can_wait(len(batch)):
            self._fill(self.rows(), self.settled, len(self._rows))
        return cover_remove.run(self.sheet, batch, (reading or self._whole).numbers, floor)

    def _can_wait(self, more: int) -> bool:
        """Is there room for so many more on the lists of due rows?

        Places of rows that were dropped or moved fill them up.
        """
        return chunks_needed(int(self.sheet[WAITING]) + more) <= len(self._chunks)

    @property
    def unread(self) -> int | None:
        """The line of the last batch at which its reading had to stop, if it had to."""
        line = int(self.sheet[UNREAD])
        return None if line == NONE else line

    @property
    def read(self) -> int:
        """How many rows were added, counting those that changed nothing."""
        return int(self.sheet[READ])

    @property
    def settled(self) -> int:
        """The time point up to which time has passed."""
        return int(self.sheet[SETTLED])

    def settle(self, upto: int, *, begun: bool = True) -> tuple[Ints, Ints]:
        """Let time pass: the rows that began (if asked for) and those that ended before `upto`.

        Only a store that was made ready to tell says so.
        """
        if upto <= self.settled:
            return self.nothing
        if not self._told:
            self.sheet[SETTLED] = upto
            return self.nothing
        told, began, gone = cover_settle.run(self.sheet, upto, begun)
        if began == NONE:
            self._fill(self.rows(), self.settled, len(self._rows))
            told, began, gone = cover_settle.run(self.sheet, upto, begun)
        return told[:began], told[len(told) - gone :]

    def rows(self) -> Ints:
        """All rows that hold now or later, or ended only now."""
        return cover_rows.run(self.sheet, self.settled)

    def _make_room(self, more: int) -> None:
        """Make sure that there is room for so many rows."""
        moved = cover_drop.run(self.sheet, more)
        if self._has_room(more) and 4 * moved < more:
            return
        rows = self.rows()
        # Room for several batches, unless they are large, so that it is seldom looked for.
        needed = len(rows) + len(rows) // 2 + max(2 * more, min(8 * more, _SPACIOUS))
        if needed <= len(self._rows):
            # Not because there are so many, but because old ones still hold: a longer ring helps.
            needed += len(rows) // 2
        self._fill(rows, self.settled, max(len(self._rows), needed))

    def _has_room(self, more: int) -> bool:
        taken = int(self.sheet[TAIL] - self.sheet[HEAD])
        return len(self._rows) - taken >= more

    def state(self) -> dict[str, Ints]:
        """What has to be kept to go on later."""
        return {"rows": self.rows(), "settled": np.array([self.settled], np.int64)}

    def load(self, state: Mapping[str, Ints]) -> None:
        """Go on from what `state` gave."""
        rows = state["rows"]
        if rows.ndim != 2 or rows.shape[1] != self.row_size:
            raise ValueError("the rows of a store have another width")
        self._fill(rows, int(state["settled"][0]), max(len(rows) + len(rows) // 2, _SMALLEST))


class Index(NamedTuple):
    """A way to look rows of a store up by some of their key columns."""

    store: Store
    number: int
    columns: tuple[int, ...]

    def lookup(self, keys: Sequence[int], picks: Sequence[int] = (), *, old: bool = False) -> Ints:
        """How to look up by these columns of a batch, as kernels want it.

        With `old` rows may be left out that hold only what was added to the store last.
        """
        paired = FIRST_KEY + len(keys)
        begin = [self.number, int(old), paired, paired + len(keys)]
        return np.array([*begin, *self.columns, *keys, *picks], np.int64)

    def join(self, batch: Ints, how: Ints) -> Ints:
        """The batch joined with the store; the picked columns come out."""
        return join.run(self.store.sheet, batch, how)

    def subtract(self, batch: Ints, how: Ints) -> Ints:
        """The batch at the times when the store holds nothing for its keys."""
        return subtract.run(self.store.sheet, batch, how)


def grown(lines: Ints, more: int) -> Ints:
    """The same lines with room for `more`, and half as many again."""
    needed = len(lines) + more
    larger = np.empty((needed + needed // 2, lines.shape[1]), np.int64)
    larger[: len(lines)] = lines
    return larger

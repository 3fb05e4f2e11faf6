"""Stores: for every key the evaluation times at which it holds, in arrays that kernels work on."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.addressing import address_of
from larspark.run.interval.kernels.compile import LARGE, compile_soon
from larspark.run.interval.kernels.cover import add_rows, keep_rows
from larspark.run.interval.kernels.expire import drop_rows, expire_rows, link_rows
from larspark.run.interval.kernels.layout import (
    CHUNK,
    CHUNKS_USED,
    EXPIRED_UPTO,
    FOLLOWER_FULL,
    FOREVER,
    FRESH,
    HEAD,
    KEYS,
    LAST_END,
    LINK_COLUMN,
    NONE,
    RESUMED,
    ROWS,
    ROWS_READ,
    SCHEDULED,
    SHORTAGE,
    STOPPED_AT,
    STORE_FULL,
    STORE_HEADER_SIZE,
    TAIL,
    TO,
    UNSCHEDULED,
    WHEEL_SIZE,
    Ints,
)
from larspark.run.interval.kernels.probe import FIRST_KEY, JOIN, JOIN_OLD, SUBTRACT, probe
from larspark.run.interval.kernels.remove import remove_rows
from larspark.run.interval.kernels.select import live_rows
from larspark.run.interval.kernels.timing_wheel import chunks_needed
from larspark.run.interval.row_programs import RowProgram, all_columns

_SMALLEST = 16
_SPACIOUS = 1024


class Run(NamedTuple):
    """How long a key must have held without a gap: since a time point, or so many before."""

    start: int
    past: int


_NO_RUN = Run(0, NONE)
_NO_FOLLOWERS = np.empty((0, 3), np.int64)


class Store:
    """For every key the evaluation times at which it holds, as disjoint maximal intervals.

    >>> store = Store(width=1, expired_upto=0)
    >>> store.add(np.array([[1, 3, 7], [8, 9, 7], [3, 5, 7]]), floor=1).tolist()
    [[1, 3, 7], [8, 9, 7], [4, 5, 7]]
    >>> sorted(store.rows().tolist())
    [[1, 5, 7], [8, 9, 7]]
    """

    __slots__ = (
        "_all_columns",
        "_chunks",
        "_columns",
        "_has_wheel",
        "_heads",
        "_rows",
        "_wheel",
        "follower_table",
        "followers",
        "header",
        "nothing",
        "row_size",
        "width",
    )

    def __reduce__(self) -> str:
        raise TypeError("a store cannot be copied, as its header holds addresses: use its state")

    def __init__(self, width: int, expired_upto: int) -> None:
        self.width = width
        self.row_size = KEYS + width
        self._has_wheel = False
        self._all_columns = all_columns(width)
        none = np.empty((0, self.row_size), np.int64)
        # The rows that began and ended when there are none.
        self.nothing = (none, none)
        self._columns = np.empty((0, max(width, 1)), np.int64)
        # What kernels receive; it keeps its address.
        self.header = np.zeros(STORE_HEADER_SIZE, np.int64)
        # The stores to which new rows are added, each with a row program; and the same for kernels.
        self.followers: list[tuple[Store, RowProgram]] = []
        self.follower_table = _NO_FOLLOWERS
        self.clear(expired_upto)

    def clear(self, expired_upto: int) -> None:
        """Remove all rows, and begin after this time point."""
        self._fill(self.nothing[0], expired_upto, _SMALLEST)

    def _fill(self, rows: Ints, expired_upto: int, capacity: int) -> None:
        """Allocate the arrays anew, with some rows and room for more."""
        if capacity > LARGE:
            compile_soon()
        tables, links = 1 + len(self._columns), self.row_size
        self._rows = np.empty((capacity, links + tables), np.int64)
        self._rows[: len(rows), :links] = rows
        # Passing a row that belongs elsewhere costs more than a larger table.
        buckets = max(4 * len(rows), capacity * 4 // 3)
        self._heads = np.empty((tables, 1 << (buckets - 1).bit_length()), np.uint32)
        self._wheel = np.empty(WHEEL_SIZE if self._has_wheel else 0, np.int64)
        # As many row ids as there are rows may be out of date.
        chunks = chunks_needed(2 * capacity)
        self._chunks = np.empty((chunks if self._has_wheel else 0, CHUNK), np.uint32)
        header = self.header
        read, resumed = header[ROWS_READ], header[RESUMED]
        header[:ROWS] = 0
        header[TAIL] = header[UNSCHEDULED] = len(rows)
        header[EXPIRED_UPTO] = expired_upto
        header[FRESH] = FOREVER
        header[LAST_END] = rows[:, TO].max(initial=-FOREVER)
        header[ROWS_READ], header[RESUMED] = read, resumed
        header[STOPPED_AT] = NONE
        header[LINK_COLUMN] = links
        header[CHUNKS_USED] = int(self._has_wheel)
        arrays = (self._rows, self._heads, self._columns, self._wheel, self._chunks)
        header[ROWS:] = [n for array in arrays for n in (address_of(array), *array.shape)]
        link_rows.run(header)

    def is_over(self, t: int) -> bool:
        """Is it known, without looking at rows, that none holds at t or later?"""
        return bool(self.header[LAST_END] < t)

    def live(self, t: int) -> int:
        """How many rows hold at t or later."""
        return len(live_rows.run(self.header, t))

    @property
    def bytes(self) -> int:
        """The memory that the rows and their hash tables take."""
        arrays = (self._rows, self._heads, self._chunks, self._wheel)
        return sum(array.nbytes for array in arrays)

    @property
    def indexes(self) -> list[tuple[int, ...]]:
        """The key columns of every index beside the one over all keys, numbered from 0."""
        return [tuple(int(c) - KEYS for c in line if c != NONE) for line in self._columns]

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
        self._fill(self.rows(), self.expired_upto, len(self._rows))
        return Index(self, len(self._columns), columns)

    def add_wheel(self) -> None:
        """Let `expire` emit the rows that begin and end from now on."""
        self._has_wheel = True
        self._fill(self.rows(), self.expired_upto, len(self._rows))

    def lead(self, other: "Store", program: RowProgram) -> None:
        """Add the result of a row program over all new rows to another store.

        That store must be expired as far as this one, and the row program needs no fallback.
        """
        self.followers.append((other, program))
        self.follower_table = np.array(
            [
                (address_of(store.header), address_of(each.encoded), len(each.encoded))
                for store, each in self.followers
            ],
            np.int64,
        )

    def add(
        self, batch: Ints, floor: int, program: RowProgram | None = None, run: Run = _NO_RUN
    ) -> Ints:
        """Add the result of a row program from `floor` on; returns what is newly covered.

        With a run, that is emitted only where the key has held for long enough.
        """
        program = program or self._all_columns
        # One line more than is usual, so that the last row seldom stops.
        pieces = np.empty((len(batch) + 1, self.row_size), np.int64)
        followers = self.follower_table
        parts: list[Ints] = []
        while True:
            count = add_rows.run(
                self.header, batch, program.encoded, floor, run.start, run.past, pieces, followers
            )
            if count >= 0 or self.header[SHORTAGE] == FOLLOWER_FULL:
                break
            if self.header[SHORTAGE] == STORE_FULL:
                self.make_room(len(batch))
                continue
            parts.append(pieces[:~count])
            pieces = np.empty((2 * len(pieces), self.row_size), np.int64)
            # Followers get everything at the end.
            followers = _NO_FOLLOWERS
        if count >= 0 and not parts:
            return pieces[:count]
        new = np.concatenate([*parts, pieces[: count if count >= 0 else ~count]])
        for store, each in self.followers:
            store.keep(new, floor, each)
        return new

    def keep(self, batch: Ints, floor: int, program: RowProgram) -> None:
        """Add the result of a row program from `floor` on, and return nothing."""
        while keep_rows.run(self.header, batch, program.encoded, floor) < 0:
            self.make_room(len(batch))

    def remove(self, batch: Ints, floor: int, program: RowProgram | None = None) -> Ints:
        """Remove the result of a row program from `floor` on; returns what was covered of it."""
        if not self._has_room(len(batch)):
            self.make_room(len(batch))
        if self._has_wheel and not self._can_schedule(len(batch)):
            self.rebuild()
        return remove_rows.run(self.header, batch, (program or self._all_columns).encoded, floor)

    def _can_schedule(self, more: int) -> bool:
        """Does the timing wheel have room for so many more? Outdated row ids fill it up."""
        return chunks_needed(int(self.header[SCHEDULED]) + more) <= len(self._chunks)

    @property
    def stopped_at(self) -> int | None:
        """The line of the last batch at which its row program had to stop, if it had to."""
        line = int(self.header[STOPPED_AT])
        return None if line == NONE else line

    @property
    def read(self) -> int:
        """How many rows were added, counting those that changed nothing."""
        return int(self.header[ROWS_READ])

    @property
    def expired_upto(self) -> int:
        """The time point up to which rows are expired."""
        return int(self.header[EXPIRED_UPTO])

    def expire(self, upto: int, *, begun: bool = True) -> tuple[Ints, Ints]:
        """Advance to a time point: the rows that began (if asked for), and those that ended before.

        A store without a timing wheel emits nothing.
        """
        if upto <= self.expired_upto:
            return self.nothing
        if not self._has_wheel:
            self.header[EXPIRED_UPTO] = upto
            return self.nothing
        emitted, began, ended = expire_rows.run(self.header, upto, begun)
        if began == NONE:
            self.rebuild()
            emitted, began, ended = expire_rows.run(self.header, upto, begun)
        return emitted[:began], emitted[len(emitted) - ended :]

    def rows(self) -> Ints:
        """All rows that hold at the present or later, or ended only now."""
        return live_rows.run(self.header, self.expired_upto)

    def rebuild(self) -> None:
        """Rebuild the hash tables and the wheel, without what is out of date."""
        self._fill(self.rows(), self.expired_upto, len(self._rows))

    def make_room(self, more: int) -> None:
        """Make sure that there is room for so many rows."""
        moved = drop_rows.run(self.header, more)
        if self._has_room(more) and 4 * moved < more:
            return
        rows = self.rows()
        # Room for several batches, unless they are large, so that this happens seldom.
        needed = len(rows) + len(rows) // 2 + max(2 * more, min(8 * more, _SPACIOUS))
        if needed <= len(self._rows):
            # There are not too many rows, but old ones still hold: a longer ring helps.
            needed += len(rows) // 2
        self._fill(rows, self.expired_upto, max(len(self._rows), needed))

    def _has_room(self, more: int) -> bool:
        taken = int(self.header[TAIL] - self.header[HEAD])
        return len(self._rows) - taken >= more

    def state(self) -> dict[str, Ints]:
        """The arrays to save."""
        return {"rows": self.rows(), "expired_upto": np.array([self.expired_upto], np.int64)}

    def load(self, state: Mapping[str, Ints]) -> None:
        """Restore what `state` returned."""
        rows = state["rows"]
        if rows.ndim != 2 or rows.shape[1] != self.row_size:
            raise ValueError("the rows of a store have another width")
        self._fill(rows, int(state["expired_upto"][0]), max(len(rows) + len(rows) // 2, _SMALLEST))


class Index(NamedTuple):
    """A hash table over some key columns of a store; number 0 is the one over all keys."""

    store: Store
    number: int
    columns: tuple[int, ...]

    def join(self, keys: Sequence[int], picks: Sequence[int], *, old: bool = False) -> Ints:
        """A join by these columns of a batch, encoded for the kernel.

        `picks` are columns of the batch, and complements of columns of the store. With `old` the
        rows are left out that hold only what was added to the store last.
        """
        return self._lookup(JOIN_OLD if old else JOIN, keys, picks)

    def subtract(self, keys: Sequence[int]) -> Ints:
        """A subtraction by these columns of a batch, encoded for the kernel."""
        return self._lookup(SUBTRACT, keys, ())

    def _lookup(self, how: int, keys: Sequence[int], picks: Sequence[int]) -> Ints:
        paired = FIRST_KEY + len(keys)
        begin = [how, self.number, paired, paired + len(keys)]
        return np.array([*begin, *self.columns, *keys, *picks], np.int64)

    def probe(self, batch: Ints, lookup: Ints) -> Ints:
        """The batch joined with the store, or with the store subtracted."""
        return probe.run(self.store.header, batch, lookup)


def grown(lines: Ints, more: int) -> Ints:
    """The same lines with room for `more`, and half as many again."""
    needed = len(lines) + more
    larger = np.empty((needed + needed // 2, lines.shape[1]), np.int64)
    larger[: len(lines)] = lines
    return larger

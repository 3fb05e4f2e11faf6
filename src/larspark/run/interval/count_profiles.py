"""Profiles: for every key a count over time, to remove duplicates and to evaluate `always`."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.addressing import address_of
from larspark.run.interval.kernels.compile import LARGE, compile_soon
from larspark.run.interval.kernels.counts import (
    COUNT_ONE,
    COUNT_WINDOW,
    ENTRIES,
    ENTRIES_USED,
    ENTRY_KEYS,
    EXPIRED_UPTO,
    FREE_ENTRY_COUNT,
    FREE_STEP_COUNT,
    LIVE_ENTRIES,
    PROFILE_HEADER_SIZE,
    STEPS_USED,
)
from larspark.run.interval.kernels.layout import (
    KEYS,
    NONE,
    WHEEL_SIZE,
    Ints,
)
from larspark.run.interval.kernels.profile import (
    profile_add,
    profile_expire,
    profile_load,
    profile_rebuild,
    profile_rows,
)
from larspark.run.interval.row_programs import RowProgram, all_columns
from larspark.run.interval.store import grown

_SMALLEST = 64
# The question where a count is 1 or more.
_ONE = np.array([COUNT_ONE, 0, 0, 0, 1, 0], np.int64)


class WindowSize(NamedTuple):
    """The number of time points that a window has at every evaluation time.

    `end` is where the timeline ends, or None when it ends with the evaluation time.
    """

    start: int
    past: int | None
    future: int | None
    every: int
    end: int | None

    def question(self) -> Ints:
        bounds = [NONE if bound is None else bound for bound in (self.past, self.future)]
        end = NONE if self.end is None else self.end
        return np.array([COUNT_WINDOW, self.start, *bounds, self.every, end], np.int64)


class Profile:
    """Counts over time; emits where a count becomes what is asked for, or ceases to be.

    Without a window the question is where it is 1 or more.

    >>> profile = Profile(width=0, expired_upto=0)
    >>> profile.change(np.array([[1, 9]]), sign=1, floor=1).tolist()
    [[1, 9]]
    >>> profile.change(np.array([[5, 12]]), sign=1, floor=1).tolist()
    [[10, 12]]
    >>> profile.change(np.array([[1, 9]]), sign=-1, floor=1).tolist()
    [[1, 4]]
    """

    __slots__ = (
        "_all_columns",
        "_entries",
        "_heads",
        "_question",
        "_steps",
        "_wheel",
        "header",
        "width",
    )

    def __init__(self, width: int, expired_upto: int, window: WindowSize | None = None) -> None:
        self.width = width
        self._question = _ONE if window is None else window.question()
        self._all_columns = all_columns(width)
        # What kernels receive; it keeps its address.
        self.header = np.zeros(PROFILE_HEADER_SIZE, np.int64)
        self.clear(expired_upto)

    def clear(self, expired_upto: int) -> None:
        """Remove all counts, and begin after this time point."""
        self._entries = np.empty((_SMALLEST, ENTRY_KEYS + self.width), np.int64)
        self._heads = np.full(_SMALLEST, NONE, np.int32)
        self._wheel = np.full(WHEEL_SIZE, NONE, np.int64)
        self._steps = np.empty((_SMALLEST, 3), np.int64)
        self.header[:ENTRIES] = [0, NONE, 0, 0, expired_upto, 0, NONE, 0, 0]
        self._write_addresses()

    def _write_addresses(self) -> None:
        """Write the addresses of the arrays into the header."""
        arrays = (self._entries, self._heads, self._wheel, self._steps, self._question)
        places = [number for array in arrays for number in (address_of(array), *array.shape)]
        self.header[ENTRIES:] = places
        if len(self._entries) > LARGE:
            compile_soon()

    def __len__(self) -> int:
        header = self.header
        return int(header[LIVE_ENTRIES] + header[STEPS_USED] - header[FREE_STEP_COUNT])

    @property
    def bytes(self) -> int:
        """The memory that the counts take."""
        return sum(a.nbytes for a in (self._entries, self._heads, self._wheel, self._steps))

    def change(self, batch: Ints, sign: int, floor: int, program: RowProgram | None = None) -> Ints:
        """Count the result of a row program in (or out, with a negative sign).

        Returns where the answer changed.
        """
        program = program or self._all_columns
        if program.fallback:
            batch, program = program(batch), self._all_columns
        self.reserve(len(batch), floor)
        return profile_add.run(self.header, batch, program.encoded, sign, floor)

    def expire(self, upto: int) -> None:
        """Advance to a time point, and free counts that are 0 from there on."""
        profile_expire.run(self.header, upto)

    def reserve(self, more: int, floor: int) -> None:
        """Make sure that so many intervals can be counted."""
        if self._missing(more) == (0, 0):
            return
        # Expired counts free room.
        self.expire(floor - 1)
        entries, steps = self._missing(more)
        if entries:
            self._entries = grown(self._entries, entries)
            crowded = len(self._entries) > len(self._heads)
            if crowded:
                self._heads = np.empty(1 << (len(self._entries) - 1).bit_length(), np.int32)
            self._write_addresses()
            if crowded:
                profile_rebuild.run(self.header)
        if steps:
            self._steps = grown(self._steps, steps)
            self._write_addresses()

    def _missing(self, more: int) -> tuple[int, int]:
        """How many entries and steps there are too few to count so many intervals."""
        header = self.header[: STEPS_USED + 3].tolist()
        entries = len(self._entries) - header[ENTRIES_USED] + header[FREE_ENTRY_COUNT]
        steps = len(self._steps) - header[STEPS_USED] + header[FREE_STEP_COUNT]
        return max(more - entries, 0), max(2 * more - steps, 0)

    def state(self) -> dict[str, Ints]:
        """The arrays to save."""
        lines = profile_rows.run(self.header)
        return {"steps": lines, "expired_upto": np.array([self.header[EXPIRED_UPTO]], np.int64)}

    def load(self, state: Mapping[str, Ints]) -> None:
        """Restore what `state` returned."""
        lines = state["steps"]
        if lines.ndim != 2 or lines.shape[1] != KEYS + self.width:
            raise ValueError("the steps of a profile have another width")
        expired_upto = int(state["expired_upto"][0])
        self.clear(expired_upto)
        self.reserve(len(lines), expired_upto + 1)
        profile_load.run(self.header, lines)

"""Profiles: for every key a count over time, to make sets of bags and to answer `always`."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from larspark.run.interval.kernels.compile import MANY_LINES, make_haste
from larspark.run.interval.kernels.counts import (
    COUNT_ONE,
    COUNT_WINDOW,
    ENTRIES,
    ENTRY_KEYS,
    IDLE,
    LIVE,
    PROFILE_SHEET,
    SETTLED,
    STEPS_IDLE,
    STEPS_USED,
    USED,
)
from larspark.run.interval.kernels.layout import (
    KEYS,
    NONE,
    RING,
    Ints,
)
from larspark.run.interval.kernels.profile import (
    profile_add,
    profile_load,
    profile_rebuild,
    profile_rows,
    profile_settle,
)
from larspark.run.interval.kernels.store_header import address_of
from larspark.run.interval.row_programs import Reading, whole
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
    """Counts over time; tells where a count becomes what is asked for, or stops to be.

    Without a window the question is where it is 1 or more.

    >>> profile = Profile(width=0, settled=0)
    >>> profile.change(np.array([[1, 9]]), sign=1, floor=1).tolist()
    [[1, 9]]
    >>> profile.change(np.array([[5, 12]]), sign=1, floor=1).tolist()
    [[10, 12]]
    >>> profile.change(np.array([[1, 9]]), sign=-1, floor=1).tolist()
    [[1, 4]]
    """

    __slots__ = (
        "_due",
        "_entries",
        "_heads",
        "_question",
        "_room",
        "_sheet",
        "_steps",
        "_whole",
        "width",
    )

    def __init__(self, width: int, settled: int, window: WindowSize | None = None) -> None:
        self.width = width
        self._question = _ONE if window is None else window.question()
        self._whole = whole(width)
        # What kernels are handed; it stays where it is.
        self._sheet = np.zeros(PROFILE_SHEET, np.int64)
        self.clear(settled)

    def clear(self, settled: int) -> None:
        """Forget all counts, and begin after this time point."""
        self._entries = np.empty((_SMALLEST, ENTRY_KEYS + self.width), np.int64)
        self._heads = np.full(_SMALLEST, NONE, np.int32)
        self._due = np.full(RING, NONE, np.int64)
        self._steps = np.empty((_SMALLEST, 3), np.int64)
        self._sheet[:ENTRIES] = [0, NONE, 0, 0, settled, 0, NONE, 0, 0]
        self._note_places()
        # At least so many intervals can be counted without looking for room.
        self._room = _SMALLEST // 2

    def _note_places(self) -> None:
        """Let kernels find the arrays where they are now."""
        arrays = (self._entries, self._heads, self._due, self._steps, self._question)
        places = [number for array in arrays for number in (address_of(array), *array.shape)]
        self._sheet[ENTRIES:] = places
        if len(self._entries) > MANY_LINES:
            make_haste()

    def __len__(self) -> int:
        counters = self._sheet
        return int(counters[LIVE] + counters[STEPS_USED] - counters[STEPS_IDLE])

    @property
    def bytes(self) -> int:
        """The memory that the counts take."""
        return sum(a.nbytes for a in (self._entries, self._heads, self._due, self._steps))

    def change(self, batch: Ints, sign: int, floor: int, reading: Reading | None = None) -> Ints:
        """Count what is read off a batch in (or out, with a negative sign).

        Gives where the answer changed.
        """
        reading = reading or self._whole
        if reading.slowly:
            batch, reading = reading(batch), self._whole
        self._reserve(len(batch), floor)
        return profile_add.run(self._sheet, batch, reading.numbers, sign, floor)

    def settle(self, upto: int) -> None:
        """Let time pass, and forget counts that are over."""
        profile_settle.run(self._sheet, upto)

    def _reserve(self, more: int, floor: int) -> None:
        self._room -= more
        if self._room >= 0:
            return
        # What is over gives room back, so it need not be looked for before.
        self.settle(floor - 1)
        self._enlarge(more)
        counters = self._sheet
        entries = len(self._entries) - int(counters[USED]) + int(counters[IDLE])
        steps = len(self._steps) - int(counters[STEPS_USED]) + int(counters[STEPS_IDLE])
        self._room = min(entries, steps // 2) - more

    def _enlarge(self, more: int) -> None:
        counters = self._sheet
        room = len(self._entries) - int(counters[USED]) + int(counters[IDLE])
        if more > room:
            self._entries = grown(self._entries, more - room)
            crowded = len(self._entries) > len(self._heads)
            if crowded:
                self._heads = np.empty(1 << (len(self._entries) - 1).bit_length(), np.int32)
            self._note_places()
            if crowded:
                profile_rebuild.run(self._sheet)
        room = len(self._steps) - int(counters[STEPS_USED]) + int(counters[STEPS_IDLE])
        if 2 * more > room:
            self._steps = grown(self._steps, 2 * more - room)
            self._note_places()

    def state(self) -> dict[str, Ints]:
        """What has to be kept to go on later."""
        lines = profile_rows.run(self._sheet)
        return {"steps": lines, "settled": np.array([self._sheet[SETTLED]], np.int64)}

    def load(self, state: Mapping[str, Ints]) -> None:
        """Go on from what `state` gave."""
        lines = state["steps"]
        if lines.ndim != 2 or lines.shape[1] != KEYS + self.width:
            raise ValueError("the steps of a profile have another width")
        settled = int(state["settled"][0])
        self.clear(settled)
        self._reserve(len(lines), settled + 1)
        profile_load.run(self._sheet, lines)

"""Readings: what comes out of a row by itself, if anything does."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from larspark.run.interval.kernels.layout import FOREVER, KEYS, NONE, Ints
from larspark.run.interval.kernels.scan import (
    END,
    FIRST_TEST,
    KEEP,
    LEFT,
    MODE,
    MOVES,
    PINS,
    RIGHT,
    START,
    TEST,
    TEST_SIZE,
    TESTS,
    UNEQUAL,
    WITHIN,
    scan,
)
from larspark.run.interval.run_clock import Clock


class Step(Protocol):
    """Rows in, rows out."""

    def __call__(self, rows: Ints) -> Ints: ...


class Window(NamedTuple):
    """How evaluation times follow from a time point: the mode, and the bounds of the window."""

    mode: int = KEEP
    past: int | None = None
    future: int | None = None
    every: int = 1


class Reading(NamedTuple):
    """Tests, a window, and columns to pick, as the kernels want them."""

    numbers: Ints
    # The same, step by step, for rows that compiled code cannot compare; empty when it always can.
    slowly: tuple[Step, ...] = ()

    def __call__(self, rows: Ints) -> Ints:
        """The rows that come out."""
        read, answered = scan.run(rows, self.numbers)
        return read if answered else self.slow(rows)

    @property
    def frame(self) -> Ints:
        """The window and the timeline."""
        return self.numbers[:TESTS]

    @property
    def tests(self) -> Ints:
        """A line for every test."""
        return self.numbers[FIRST_TEST : self._picks].reshape(-1, TEST_SIZE)

    @property
    def pick(self) -> Ints:
        """The columns that come out."""
        return self.numbers[self._picks :]

    @property
    def _picks(self) -> int:
        return FIRST_TEST + TEST_SIZE * int(self.numbers[TESTS])

    def slow(self, rows: Ints) -> Ints:
        """The rows that come out, whatever has to be compared."""
        for step in self.slowly:
            rows = step(rows)
        return rows

    def then(self, other: "Reading") -> "Reading":
        """This reading, and the other one of what comes out of it."""
        if self.frame[PINS] or other.frame[MODE] != KEEP:
            raise ValueError("these readings cannot be done at once")
        own = self.tests.tolist()
        tests = other.tests.copy()
        for column in (LEFT, RIGHT):
            tests[:, column] = [self.column_read(place) for place in tests[:, column].tolist()]
        new = [test for test in tests.tolist() if test not in own]
        pick = [self.column_read(place) for place in other.pick.tolist()]
        frame = self.frame.copy()
        frame[PINS] = other.frame[PINS]
        if (tests[:, TEST] == WITHIN).any():
            frame[START : MOVES + 1] = other.frame[START : MOVES + 1]
        slowly: tuple[Step, ...] = ()
        if self.slowly or other.slowly:
            slowly = (*(self.slowly or (self,)), *(other.slowly or (other,)))
        return Reading(_numbers(frame.tolist(), [*own, *new], pick), slowly)

    def column_read(self, column: int) -> int:
        """The column that a column of what comes out is read from."""
        return column if column == NONE else int(self.pick[column - KEYS])


def reading(
    tests: Sequence[tuple[int, int, int, int]],
    pick: Sequence[int],
    window: Window = Window(),  # noqa: B008 - a named tuple cannot change
) -> Reading:
    """A reading of columns, with tests (which, column, other column or NONE, code)."""
    past, future = (NONE if bound is None else bound for bound in (window.past, window.future))
    frame = [window.mode, past, future, window.every, -FOREVER, FOREVER, 0, 0]
    return Reading(_numbers(frame, tests, pick))


def picking(columns: Sequence[int]) -> Reading:
    """Rows with only some of their columns, in another order."""
    return reading([], columns)


def whole(width: int) -> Reading:
    """Rows as they are."""
    return picking(range(KEYS, KEYS + width))


def comparing(
    number: int, left: int, right: int, code: int, width: int, otherwise: Step
) -> Reading:
    """Rows whose columns compare well: with each other, or with a code if the right one is NONE."""
    compared = reading([(number, left, right, code)], range(KEYS, KEYS + width))
    if number <= UNEQUAL:
        return compared
    return Reading(compared.numbers, (otherwise,))


def within_timeline(column: int, width: int, clock: Clock, *, pins: bool) -> Reading:
    """Rows while a column is a time point of the timeline; as the first one it may pin the row."""
    found = reading([(WITHIN, column, NONE, 0)], range(KEYS, KEYS + width))
    found.frame[START] = clock.start
    found.frame[END] = FOREVER if clock.end is None else clock.end
    found.frame[MOVES] = clock.end is None
    found.frame[PINS] = pins
    return found


def joined_readings(steps: Sequence[Step], last: Reading) -> tuple[tuple[Step, ...], Reading]:
    """The same steps up to a last reading, with readings that follow each other done at once."""
    found: list[Step] = []
    for step in (*steps, last):
        before = found[-1] if found else None
        if isinstance(step, Reading) and isinstance(before, Reading):
            step = before.then(step)
            found.pop()
        found.append(step)
        if isinstance(step, Reading):
            last = step
    return tuple(found[:-1]), last


def _numbers(frame: Sequence[int], tests: Sequence[Sequence[int]], pick: Sequence[int]) -> Ints:
    every = [number for test in tests for number in test]
    return np.array([*frame, len(tests), len(pick), *every, *pick], np.int64)

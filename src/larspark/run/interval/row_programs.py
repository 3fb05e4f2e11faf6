"""Row programs: filter, window and projection of one row, as kernels run them."""

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


class RowProgram(NamedTuple):
    """Tests, a window and a projection, encoded for kernels."""

    encoded: Ints
    # The same as steps, for rows that compiled code cannot compare; empty if it always can.
    fallback: tuple[Step, ...] = ()

    def __call__(self, rows: Ints) -> Ints:
        """The result over all rows of a batch."""
        read, answered = scan.run(rows, self.encoded)
        return read if answered else self.run_fallback(rows)

    @property
    def frame(self) -> Ints:
        """The window and the timeline."""
        return self.encoded[:TESTS]

    @property
    def tests(self) -> Ints:
        """A line for every test."""
        return self.encoded[FIRST_TEST : self._picks].reshape(-1, TEST_SIZE)

    @property
    def pick(self) -> Ints:
        """The columns of the result."""
        return self.encoded[self._picks :]

    @property
    def _picks(self) -> int:
        return FIRST_TEST + TEST_SIZE * int(self.encoded[TESTS])

    def run_fallback(self, rows: Ints) -> Ints:
        """The result over all rows, by the fallback steps."""
        for step in self.fallback:
            rows = step(rows)
        return rows

    def then(self, other: "RowProgram") -> "RowProgram":
        """This row program followed by the other one, as one."""
        if self.frame[PINS] or other.frame[MODE] != KEEP:
            raise ValueError("these row programs cannot be fused")
        own = self.tests.tolist()
        tests = other.tests.copy()
        for column in (LEFT, RIGHT):
            tests[:, column] = [self.source_column(place) for place in tests[:, column].tolist()]
        new = [test for test in tests.tolist() if test not in own]
        pick = [self.source_column(place) for place in other.pick.tolist()]
        frame = self.frame.copy()
        frame[PINS] = other.frame[PINS]
        if (tests[:, TEST] == WITHIN).any():
            frame[START : MOVES + 1] = other.frame[START : MOVES + 1]
        fallback: tuple[Step, ...] = ()
        if self.fallback or other.fallback:
            fallback = (*(self.fallback or (self,)), *(other.fallback or (other,)))
        return RowProgram(_encoded(frame.tolist(), [*own, *new], pick), fallback)

    def source_column(self, column: int) -> int:
        """The input column of a column of the result."""
        return column if column == NONE else int(self.pick[column - KEYS])


def row_program(
    tests: Sequence[tuple[int, int, int, int]],
    pick: Sequence[int],
    window: Window = Window(),  # noqa: B008 - a named tuple cannot change
) -> RowProgram:
    """A row program with tests (comparison, column, other column or NONE, code)."""
    past, future = (NONE if bound is None else bound for bound in (window.past, window.future))
    frame = [window.mode, past, future, window.every, -FOREVER, FOREVER, 0, 0]
    return RowProgram(_encoded(frame, tests, pick))


def projection(columns: Sequence[int]) -> RowProgram:
    """Rows with only some of their columns, in another order."""
    return row_program([], columns)


def all_columns(width: int) -> RowProgram:
    """Rows as they are."""
    return projection(range(KEYS, KEYS + width))


def comparison_program(
    number: int, left: int, right: int, code: int, width: int, otherwise: Step
) -> RowProgram:
    """Rows for which a comparison holds, with a code if the right column is NONE."""
    compared = row_program([(number, left, right, code)], range(KEYS, KEYS + width))
    if number <= UNEQUAL:
        return compared
    return RowProgram(compared.encoded, (otherwise,))


def within_timeline(column: int, width: int, clock: Clock, *, pins: bool) -> RowProgram:
    """Rows while a column is a time point of the timeline; the first column may pin the row."""
    found = row_program([(WITHIN, column, NONE, 0)], range(KEYS, KEYS + width))
    found.frame[START] = clock.start
    found.frame[END] = FOREVER if clock.end is None else clock.end
    found.frame[MOVES] = clock.end is None
    found.frame[PINS] = pins
    return found


def fused(steps: Sequence[Step], last: RowProgram) -> tuple[tuple[Step, ...], RowProgram]:
    """The steps before a last row program, and that; adjacent row programs become one."""
    found: list[Step] = []
    for step in (*steps, last):
        before = found[-1] if found else None
        if isinstance(step, RowProgram) and isinstance(before, RowProgram):
            step = before.then(step)
            found.pop()
        found.append(step)
        if isinstance(step, RowProgram):
            last = step
    return tuple(found[:-1]), last


def _encoded(frame: Sequence[int], tests: Sequence[Sequence[int]], pick: Sequence[int]) -> Ints:
    every = [number for test in tests for number in test]
    return np.array([*frame, len(tests), len(pick), *every, *pick], np.int64)

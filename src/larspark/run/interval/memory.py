"""`#remember`: what is output at t is in the stream at t for every later evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from larspark.run.interval.clock import Clock
from larspark.run.interval.kernels.layout import TO, Ints
from larspark.run.interval.nodes import Distinct, Fan, State


@dataclass(slots=True)
class Memory:
    """Brings what a predicate's output was back into the network."""

    clock: Clock
    output: Distinct
    fan: Fan
    # Is it remembered only when time moves on, because the time point may still change?
    late: bool

    def run(self) -> None:
        if not self.late:
            self._remember(self.clock.floor, self.clock.last)

    def tick(self, first: int, last: int) -> None:
        """Time moves on from the time points [first, last]."""
        if self.late:
            self._remember(first, last)

    def _remember(self, first: int, last: int) -> None:
        rows = self.output.covering(first, last)
        if len(rows):
            self.fan.receive(1, rows)


class Recollection:
    """What is remembered, for a recursion that forgets everything when it is worked out anew.

    `reach` is how many time points back the recursion looks, or None for all of them.
    """

    _rows: Ints

    def __init__(self, width: int, reach: int | None, clock: Clock) -> None:
        self._width = TO + 1 + width
        self._reach = reach
        self._clock = clock
        self.fan = Fan()
        self.clear()

    def receive(self, sign: int, batch: Ints) -> None:
        """What is remembered is never taken back."""
        if sign < 0:
            raise ValueError("what is remembered was taken back")
        self._rows = np.concatenate([self._rows, batch])

    def recall(self) -> None:
        """Tell everything that the recursion can still see."""
        if len(self._rows):
            self.fan.receive(1, self._rows.copy())

    def settle(self) -> None:
        if self._reach is not None:
            self._rows = self._rows[self._rows[:, TO] + self._reach >= self._clock.floor]

    def clear(self) -> None:
        self._rows = np.empty((0, self._width), np.int64)

    def state(self) -> State:
        return {"rows": self._rows}

    def load(self, state: Mapping[str, Ints]) -> None:
        rows = state["rows"]
        if rows.ndim != 2 or rows.shape[1] != self._width:
            raise ValueError("the remembered rows have another width")
        self._rows = rows

    def size(self) -> tuple[int, int]:
        return len(self._rows), self._rows.nbytes

"""A simple twin of the groups of aggregates: tuples in counters, values from their definition."""

from collections import Counter
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from larspark.language.tree import AggregateFunction
from larspark.logic.aggregates import aggregate_value
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import FOREVER, FROM, KEYS, TO, Ints
from larspark.run.interval.network_nodes import Node
from larspark.run.interval.run_clock import Clock

_Key = tuple[int, ...]


@dataclass(slots=True)
class _Group:
    """The first components of the tuples, and what was emitted."""

    members: Counter[int] = field(default_factory=Counter)
    present: bool = False
    code: int | None = None


class PlainGroups:
    """What `AggregateGroups` does, step by step with exact fractions."""

    _events: list[tuple[int, int, int, _Key]]
    _groups: dict[_Key, _Group]

    def __init__(
        self, function: AggregateFunction | None, width: int, clock: Clock, constants: Constants
    ) -> None:
        self.function = function
        # The number of group columns.
        self._width = width
        self._clock = clock
        self._constants = constants
        self._pending: list[tuple[int, Ints]] = []
        self.values: Node | None = None
        self.present: Node | None = None
        self._events = []
        self._groups = {}

    def receive(self, sign: int, batch: Ints) -> None:
        """Take tuples in, until the stage runs."""
        self._pending.append((sign, batch))

    def run(self) -> None:
        """Bring all groups up to the clock."""
        floor, last = self._clock.floor, self._clock.last
        for sign, batch in self._pending:
            first = KEYS + self._width
            for row in batch.tolist():
                low, high = max(row[FROM], floor), row[TO]
                if low > high:
                    continue
                key = tuple(row[KEYS:first])
                value = row[first] if len(row) > first else 0
                heappush(self._events, (low, sign, value, key))
                if high < FOREVER:
                    heappush(self._events, (high + 1, -sign, value, key))
        self._pending = []
        emitted = _Emitted()
        while self._events and self._events[0][0] <= last:
            t = self._events[0][0]
            changed = set()
            while self._events and self._events[0][0] == t:
                _, sign, value, key = heappop(self._events)
                group = self._groups.setdefault(key, _Group())
                group.members[value] += sign
                if not group.members[value]:
                    del group.members[value]
                changed.add(key)
            for key in changed:
                self._change(t, key, emitted)
        for target, rows in ((self.values, emitted.values), (self.present, emitted.present)):
            if target is not None:
                for sign, changed_rows in ((-1, rows.ended), (1, rows.began)):
                    if changed_rows:
                        target.receive(sign, np.array(changed_rows, np.int64))

    def _change(self, t: int, key: _Key, emitted: "_Emitted") -> None:
        group = self._groups[key]
        present = bool(group.members)
        code = None
        if present and self.function is not None:
            decode = self._constants.decode
            tuples = [
                (decode(value), number)
                for value, count in group.members.items()
                for number in range(count)
            ]
            value = aggregate_value(self.function, tuples)
            code = None if value is None else self._constants.code(value)
        if present != group.present:
            emitted.present.change(t, key, None if present else key, key if present else None)
        if code != group.code:
            before, after = (None if c is None else (*key, c) for c in (group.code, code))
            emitted.values.change(t, key, before, after)
        group.present, group.code = present, code
        if not present:
            del self._groups[key]


class _Rows:
    """Rows that begin, and rows of earlier runs that end."""

    def __init__(self) -> None:
        self.began: list[list[int]] = []
        self.ended: list[list[int]] = []
        self._open: dict[_Key, list[int]] = {}

    def change(self, t: int, key: _Key, before: _Key | None, after: _Key | None) -> None:
        open_row = self._open.pop(key, None)
        if open_row is not None:
            open_row[TO] = t - 1
        elif before is not None:
            self.ended.append([t, FOREVER, *before])
        if after is not None:
            self._open[key] = [t, FOREVER, *after]
            self.began.append(self._open[key])


class _Emitted:
    def __init__(self) -> None:
        self.values = _Rows()
        self.present = _Rows()

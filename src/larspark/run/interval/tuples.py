"""Tuple windows: elements are in the window until enough others have arrived after them."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from larspark.base.atoms import Signature
from larspark.run.interval.clock import Clock
from larspark.run.interval.kernels.groups import (
    GROUP_KEYS,
    GROUPS_USED,
    MEMBER_ROW,
    MEMBERS_IDLE,
    MEMBERS_USED,
    NUMBER,
    group_arrivals,
    group_members,
    group_rebuild,
)
from larspark.run.interval.kernels.layout import FOREVER, FROM, NONE, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.nodes import Node, Patterns, State
from larspark.run.interval.store import grown

_SMALLEST = 16


class Elements(NamedTuple):
    """Elements of one predicate, each once: rows as of pinned atoms, and the order of arrival."""

    rows: Ints
    order: Ints


Arrived = Mapping[Signature, Elements]


class Among:
    """The elements that a tuple window counts: those that pass all filters; None passes all."""

    def __init__(self, filters: Mapping[Signature, tuple[Patterns, ...]] | None) -> None:
        self._filters = filters

    def select(self, signature: Signature, elements: Elements) -> Elements:
        """The elements of one predicate that count."""
        if self._filters is None:
            return elements
        filters = self._filters.get(signature)
        if filters is None:
            return Elements(elements.rows[:0], elements.order[:0])
        for patterns in filters:
            mask = patterns.matching(elements.rows)
            elements = Elements(elements.rows[mask], elements.order[mask])
        return elements


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Rows that are in the window, with their numbers, which ascend."""

    numbers: Ints
    rows: Ints


class LastTuples:
    """`[#n]`: an element is in the window until the n-th element after it arrives."""

    def __init__(
        self, signature: Signature, among: Among, past: int, future: int, clock: Clock
    ) -> None:
        self._signature = signature
        self._among = among
        self._past = past
        self._future = future
        self._clock = clock
        self._width = TO + 2 + signature.arity
        self.consumers: list[Node] = []
        self.clear()

    def arrive(self, arrived: Arrived) -> None:
        """Let elements of all predicates arrive."""
        counted = {name: self._among.select(name, found) for name, found in arrived.items()}
        every = [found for found in counted.values() if len(found.order)]
        if not every:
            return
        order = np.concatenate([found.order for found in every])
        times = np.concatenate([found.rows[:, TIME] for found in every])
        turns = np.argsort(order, kind="stable")
        order, times = order[turns], times[turns]
        base = self._count
        self._count += len(order)
        self._push_out(times, base)
        own = counted.get(self._signature)
        if own is not None and len(own.rows):
            self._take_in(own.rows, np.searchsorted(order, own.order), times, base)

    def _take_in(self, rows: Ints, places: Ints, times: Ints, base: int) -> None:
        rows = rows.copy()
        if self._clock.hindsight:
            # The next tuples are in the window, too: from when the one `future` before arrives.
            earlier = places - self._future
            came = np.where(earlier < 0, self._clock.start, times[np.maximum(earlier, 0)])
            rows[:, FROM] = np.minimum(came, rows[:, TIME]) if self._future else rows[:, TIME]
        else:
            rows[:, FROM] = rows[:, TIME]
        last = places + self._past
        gone = last < len(times)
        rows[gone, TO] = times[last[gone]] - 1
        rows[~gone, TO] = FOREVER
        if np.any(~gone):
            self._waiting.append(_Waiting(base + places[~gone], rows[~gone]))
        self._pass_on(1, rows[rows[:, FROM] <= rows[:, TO]])

    def _push_out(self, times: Ints, base: int) -> None:
        """Rows from before whose n-th follower is among the new elements."""
        while self._waiting:
            oldest = self._waiting[0]
            count = int(np.searchsorted(oldest.numbers, self._count - self._past))
            if count == 0:
                return
            rows = oldest.rows[:count].copy()
            rows[:, FROM] = times[oldest.numbers[:count] + self._past - base]
            self._pass_on(-1, rows)
            self._waiting.popleft()
            if count < len(oldest.numbers):
                rest = _Waiting(oldest.numbers[count:], oldest.rows[count:])
                self._waiting.appendleft(rest)
                return

    def _pass_on(self, sign: int, rows: Ints) -> None:
        if len(rows):
            for consumer in self.consumers:
                consumer.receive(sign, rows)

    def settle(self) -> None:
        """Nothing gets old here: only arrivals push out."""

    def clear(self) -> None:
        self._count = 0
        self._waiting: deque[_Waiting] = deque()

    def state(self) -> State:
        numbers = [waiting.numbers for waiting in self._waiting]
        rows = [waiting.rows for waiting in self._waiting]
        return {
            "count": np.array([self._count], np.int64),
            "numbers": np.concatenate([np.empty(0, np.int64), *numbers]),
            "rows": np.concatenate([np.empty((0, self._width), np.int64), *rows]),
        }

    def load(self, state: Mapping[str, Ints]) -> None:
        rows, numbers = state["rows"], state["numbers"]
        if rows.shape != (len(numbers), self._width):
            raise ValueError("the rows of a tuple window have another width")
        self._count = int(state["count"][0])
        self._waiting = deque([_Waiting(numbers, rows)] if len(rows) else [])

    def size(self) -> tuple[int, int]:
        rows = sum(len(waiting.rows) for waiting in self._waiting)
        return rows, 8 * rows * (self._width + 1)


class LastOfGroups:
    """`[#n by K]`: an element is in the window until the n-th after it in its group arrives."""

    _groups: Ints
    _heads: Ints
    _members: Ints
    _counters: Ints

    def __init__(
        self,
        signature: Signature,
        among: Among,
        by: tuple[int, ...],
        past: int,
        future: int,
        clock: Clock,
    ) -> None:
        self._signature = signature
        self._among = among
        self._keys = np.array([TIME + 1 + position for position in by], np.int64)
        self._past = past
        self._future = future
        self._clock = clock
        self._width = TO + 2 + signature.arity
        self.consumers: list[Node] = []
        self.clear()

    def arrive(self, arrived: Arrived) -> None:
        """Let elements of all predicates arrive; those of others are in no group."""
        elements = arrived.get(self._signature)
        if elements is None:
            return
        rows = self._among.select(self._signature, elements).rows
        if not len(rows):
            return
        if self._clock.hindsight:
            self._pass_on(1, self._with_future(rows))
            return
        rows = rows.copy()
        rows[:, FROM] = rows[:, TIME]
        rows[:, TO] = FOREVER
        self._reserve(len(rows))
        inside, outside = group_arrivals.run(
            self._groups, self._heads, self._members, self._counters, rows, self._keys, self._past
        )
        self._pass_on(-1, outside)
        self._pass_on(1, inside[inside[:, FROM] <= inside[:, TO]])

    def _with_future(self, rows: Ints) -> Ints:
        """All elements are known: each is in the window from some before it to some after it."""
        turns = np.lexsort([np.arange(len(rows)), *(rows[:, column] for column in self._keys)])
        sorted_rows = rows[turns]
        keys = sorted_rows[:, self._keys]
        places = np.arange(len(rows))
        starts = np.ones(len(rows), bool)
        starts[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        first = np.maximum.accumulate(np.where(starts, places, 0))
        group = np.cumsum(starts)
        times = sorted_rows[:, TIME]
        if self._future:
            earlier = places - self._future
            came = np.where(earlier < first, self._clock.start, times[np.maximum(earlier, 0)])
            sorted_rows[:, FROM] = np.minimum(came, times)
        else:
            sorted_rows[:, FROM] = times
        later = np.minimum(places + self._past, len(rows) - 1)
        followed = (places + self._past < len(rows)) & (group[later] == group)
        sorted_rows[:, TO] = np.where(followed, times[later] - 1, FOREVER)
        return sorted_rows[sorted_rows[:, FROM] <= sorted_rows[:, TO]]

    def _pass_on(self, sign: int, rows: Ints) -> None:
        if len(rows):
            for consumer in self.consumers:
                consumer.receive(sign, rows)

    def _reserve(self, more: int) -> None:
        counters = self._counters
        room = len(self._groups) - int(counters[GROUPS_USED])
        if more > room:
            self._groups = grown(self._groups, more - room)
            if len(self._groups) > len(self._heads):
                self._heads = np.empty(1 << (len(self._groups) - 1).bit_length(), np.int64)
                group_rebuild.run(self._groups, self._heads, counters, len(self._keys))
        room = len(self._members) - int(counters[MEMBERS_USED]) + int(counters[MEMBERS_IDLE])
        if more > room:
            self._members = grown(self._members, more - room)

    def settle(self) -> None:
        """Nothing gets old here: only arrivals push out."""

    def clear(self) -> None:
        self._groups = np.empty((_SMALLEST, GROUP_KEYS + len(self._keys)), np.int64)
        self._heads = np.full(_SMALLEST, NONE, np.int64)
        self._members = np.empty((_SMALLEST, MEMBER_ROW + self._width), np.int64)
        self._counters = np.array([0, 0, NONE, 0, 0], np.int64)

    def state(self) -> State:
        members = group_members.run(self._groups, self._members, self._counters)
        members = members[np.argsort(members[:, NUMBER], kind="stable")]
        return {"rows": np.ascontiguousarray(members[:, MEMBER_ROW:])}

    def load(self, state: Mapping[str, Ints]) -> None:
        rows = state["rows"]
        if rows.ndim != 2 or rows.shape[1] != self._width:
            raise ValueError("the rows of a partition window have another width")
        self.clear()
        self._reserve(len(rows))
        group_arrivals.run(
            self._groups, self._heads, self._members, self._counters, rows, self._keys, self._past
        )

    def size(self) -> tuple[int, int]:
        counters = self._counters
        members = int(counters[MEMBERS_USED] - counters[MEMBERS_IDLE])
        return members, self._groups.nbytes + self._members.nbytes + self._heads.nbytes

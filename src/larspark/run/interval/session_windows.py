"""Session windows: elements are in the window as long as their session lasts.

It is not known when a session is over before it is. So its elements hold from their time points on,
and are retracted when it is over; an ended session is emitted then.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from larspark.base.atoms import Signature
from larspark.language.windows import SessionWindow
from larspark.run.interval.kernels.layout import FOREVER, NONE, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.kernels.session_groups import (
    CLOSED,
    COUNTER_COUNT,
    ENTRY_SIZE,
    GROUP_KEYS,
    GROUPS,
    GROUPS_FREE,
    MEMBER_ROW,
    MEMBERS,
    MEMBERS_FREE,
    open_sessions,
    rebuild_heads,
    reopen_sessions,
    session_arrivals,
)
from larspark.run.interval.network_nodes import Node, State
from larspark.run.interval.recomputed_windows import RecomputedWindows
from larspark.run.interval.restored import check_elements, require
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.store import grown
from larspark.run.interval.tuple_windows import Among, Arrived, Elements, LastOfGroups, LastTuples
from larspark.run.state import FURTHEST

_SMALLEST = 16


class SessionRows:
    """`[session g]`: rows of one predicate, each while its session lasts or when it has ended."""

    _groups: Ints
    _heads: Ints
    _members: Ints
    _queue: Ints
    _counters: Ints

    def __init__(
        self,
        signature: Signature,
        among: Among,
        by: tuple[int, ...] | None,
        window: SessionWindow,
        clock: Clock,
    ) -> None:
        self._signature = signature
        self._among = among
        self._grouped = by is not None
        self._keys = np.array([TIME + 1 + position for position in by or ()], np.int64)
        # Longer than the timeline is long enough.
        gap, longest = min(window.gap, FOREVER), window.longest
        longest = NONE if longest is None else min(longest, FOREVER)
        self._kind = np.array([gap, longest, window.ended], np.int64)
        self._ended = window.ended
        self._clock = clock
        self._width = TO + 2 + signature.arity + among.columns
        self.consumers: list[Node] = []
        self.clear()

    def arrive(self, arrived: Arrived) -> None:
        """Let elements of all predicates arrive; in groups those of others do not count.

        They are all elements up to the clock's last time point, or all there will be.
        """
        rows, times, sources = self._elements(arrived)
        # With hindsight no further element continues a session.
        upto = FOREVER if self._clock.hindsight else self._clock.last
        self._reserve(len(times), len(rows))
        inside, closed = session_arrivals.run(
            self._groups,
            self._heads,
            self._members,
            self._queue,
            self._counters,
            rows,
            times,
            sources,
            self._keys,
            self._kind,
            upto,
        )
        if self._ended:
            self._pass_on(1, closed)
        else:
            self._pass_on(-1, closed)
            self._pass_on(1, inside)

    def _elements(self, arrived: Arrived) -> tuple[Ints, Ints, Ints]:
        """The own rows; the times of the elements that count, in order; and the row of each."""
        own = self._counted(arrived, self._signature)
        parts = [own.rows[:, TIME]]
        if not self._grouped:
            others = arrived.keys() - {self._signature}
            parts += [self._counted(arrived, name).rows[:, TIME] for name in others]
        times = np.concatenate(parts)
        sources = np.full(len(times), NONE, np.int64)
        sources[: len(own.rows)] = np.arange(len(own.rows))
        if (times[1:] < times[:-1]).any():
            turns = np.argsort(times, kind="stable")
            times, sources = times[turns], sources[turns]
        return np.ascontiguousarray(own.rows), times, sources

    def _counted(self, arrived: Arrived, name: Signature) -> Elements:
        found = arrived.get(name)
        if found is None:
            return Elements(np.empty((0, self._width), np.int64), np.empty(0, np.int64))
        return self._among.select(name, found)

    def _reserve(self, elements: int, rows: int) -> None:
        """Make room for more groups and more members."""
        counters = self._counters
        more = elements if self._grouped else 1
        if int(counters[GROUPS]) + more > len(self._groups):
            self._groups = grown(self._groups, more)
            self._queue = grown(self._queue, len(self._groups) - len(self._queue))
            self._heads = np.full(1 << (len(self._groups) - 1).bit_length(), NONE, np.int64)
            rebuild_heads.run(self._groups, self._heads, self._queue, counters)
        if int(counters[MEMBERS]) + rows > len(self._members):
            self._members = grown(self._members, rows)

    def _pass_on(self, sign: int, rows: Ints) -> None:
        if len(rows):
            for consumer in self.consumers:
                consumer.receive(sign, rows)

    def expire(self) -> None:
        """Release memory when little of it is used; ended sessions have been removed."""
        counters = self._counters
        fullest = max(counters[GROUPS] / len(self._groups), counters[MEMBERS] / len(self._members))
        if fullest < 0.1 and len(self._groups) + len(self._members) > 64 * _SMALLEST:
            self.load(self.state())

    def clear(self) -> None:
        self._groups = np.empty((_SMALLEST, GROUP_KEYS + len(self._keys)), np.int64)
        self._heads = np.full(_SMALLEST, NONE, np.int64)
        self._members = np.empty((_SMALLEST, MEMBER_ROW + self._width), np.int64)
        self._queue = np.empty((_SMALLEST, ENTRY_SIZE), np.int64)
        self._counters = np.zeros(COUNTER_COUNT, np.int64)
        self._counters[[GROUPS_FREE, MEMBERS_FREE, CLOSED]] = NONE

    def state(self) -> State:
        sessions, rows = open_sessions.run(self._groups, self._members, self._queue, self._counters)
        return {"sessions": sessions, "rows": rows}

    def load(self, state: Mapping[str, Ints]) -> None:
        rows, sessions = state["rows"], state["sessions"]
        check_elements(rows, self._width)
        require(sessions.shape[1:] == (3 + len(self._keys),), "sessions have another width")
        lengths = sessions[:, 2]
        require((lengths >= 0).all() and lengths.sum() == len(rows), "sessions have no rows")
        require((abs(sessions[:, :2]) <= FURTHEST).all(), "sessions are too far away")
        require((sessions[:, 0] <= sessions[:, 1]).all(), "a session ends before it begins")
        require(self._grouped or len(sessions) < 2, "there are two sessions without groups")
        self.clear()
        self._reserve(len(sessions), len(rows))
        reopen_sessions.run(
            self._groups,
            self._heads,
            self._members,
            self._queue,
            self._counters,
            np.ascontiguousarray(sessions),
            np.ascontiguousarray(rows),
            self._kind,
        )

    def size(self) -> tuple[int, int]:
        arrays = (self._groups, self._heads, self._members, self._queue)
        return int(self._counters[MEMBERS]), sum(array.nbytes for array in arrays)


TupleNode: TypeAlias = LastTuples | LastOfGroups | SessionRows | RecomputedWindows

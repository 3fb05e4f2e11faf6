"""Session windows: elements are in the window as long as their session lasts.

A session is known up to its last element: its rows hold until it is over if no element follows, and
one that follows adds the time by which the session gets longer. So an element costs as much as its
session has elements of the predicate, once for each time point.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from larspark.base.atoms import Signature
from larspark.language.windows import SessionWindow
from larspark.run.interval.kernels.layout import FROM, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.nodes import Node, State
from larspark.run.interval.recomputed_windows import RecomputedWindows
from larspark.run.interval.restored import check_elements, require
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.tuple_windows import Among, Arrived, LastOfGroups, LastTuples
from larspark.run.state import FURTHEST

_Key: TypeAlias = tuple[int, ...]


@dataclass(slots=True)
class _Session:
    """A session that may go on, with its elements so far."""

    begin: int
    last: int
    members: list[Ints] = field(default_factory=list)


class SessionRows:
    """`[session g]`: rows of one predicate, each while its session lasts or when it is over."""

    _open: dict[_Key, _Session]
    # When sessions are over, the first one first; those that went on since are in it again.
    _over: list[tuple[int, _Key]]

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
        self._keys = [TIME + 1 + position for position in by or ()]
        self._window = window
        self._clock = clock
        self._width = TO + 2 + signature.arity
        self.consumers: list[Node] = []
        self.clear()

    def arrive(self, arrived: Arrived) -> None:
        """Let elements of all predicates arrive; in groups those of others do not count."""
        outside: list[Ints] = []
        inside: list[Ints] = []
        for key, times, rows in self._groups(arrived):
            self._go_on(key, times, rows, inside, outside)
        self._pass_on(-1, outside)
        self._pass_on(1, inside)

    def _groups(self, arrived: Arrived) -> Iterator[tuple[_Key, Ints, Ints]]:
        """The elements that count, group by group: all times in order, and the own rows."""
        counted = {
            name: self._among.select(name, found)
            for name, found in arrived.items()
            if not self._grouped or name == self._signature
        }
        own = counted.get(self._signature)
        rows = np.empty((0, self._width), np.int64) if own is None else own.rows
        if not self._grouped:
            every = [found.rows[:, TIME] for found in counted.values() if len(found.rows)]
            if every:
                yield (), np.sort(np.concatenate(every)), rows[np.argsort(rows[:, TIME])]
            return
        if not len(rows):
            return
        turns = np.lexsort([rows[:, TIME], *(rows[:, column] for column in self._keys)])
        rows = rows[turns]
        keys = rows[:, self._keys]
        starts = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
        for part in np.split(rows, starts):
            yield tuple(part[0, self._keys].tolist()), part[:, TIME], part

    def _go_on(
        self, key: _Key, times: Ints, rows: Ints, inside: list[Ints], outside: list[Ints]
    ) -> None:
        """Let a group have elements at further times, of which some have rows."""
        window = self._window
        session = self._open.get(key)
        done = 0
        while done < len(times):
            first = int(times[done])
            over = first - 1 if session is None else window.over(session.begin, session.last)
            if session is None or first > over:
                session = self._open[key] = _Session(first, first)
                over = first - 1
            end = done + self._length(session, times[done:])
            session.last = int(times[end - 1])
            new_over = window.over(session.begin, session.last)
            heappush(self._over, (new_over, key))
            if new_over > over:
                for members in session.members:
                    self._lengthen(members, over, new_over, inside, outside)
            low, high = np.searchsorted(rows[:, TIME], (first, session.last + 1))
            if high > low:
                members = rows[low:high].copy()
                session.members.append(members)
                shown = members.copy()
                shown[:, FROM] = new_over + 1 if window.ended else shown[:, TIME]
                shown[:, TO] = new_over + 1 if window.ended else new_over
                inside.append(shown)
            done = end

    def _length(self, session: _Session, times: Ints) -> int:
        """How many of these times belong to the session, of which the first one does."""
        breaks = np.flatnonzero(np.diff(times) > self._window.gap)
        length = int(breaks[0]) + 1 if len(breaks) else len(times)
        if self._window.longest is not None:
            latest = session.begin + self._window.longest
            length = min(length, int(np.searchsorted(times, latest, side="right")))
        return length

    def _lengthen(
        self, members: Ints, over: int, new_over: int, inside: list[Ints], outside: list[Ints]
    ) -> None:
        more = members.copy()
        more[:, FROM] = over + 1
        more[:, TO] = new_over
        if self._window.ended:
            before = members.copy()
            before[:, FROM] = before[:, TO] = over + 1
            outside.append(before)
            more[:, FROM] = more[:, TO] = new_over + 1
        inside.append(more)

    def _pass_on(self, sign: int, parts: list[Ints]) -> None:
        if parts:
            rows = np.concatenate(parts)
            for consumer in self.consumers:
                consumer.receive(sign, rows)

    def expire(self) -> None:
        """Forget the sessions that no element can continue."""
        while self._over and self._over[0][0] < self._clock.floor:
            _, key = heappop(self._over)
            session = self._open.get(key)
            if session is None:
                continue
            if self._window.over(session.begin, session.last) < self._clock.floor:
                del self._open[key]

    def clear(self) -> None:
        self._open = {}
        self._over = []

    def state(self) -> State:
        sessions = [
            (session.begin, session.last, sum(map(len, session.members)), *key)
            for key, session in self._open.items()
        ]
        members = [rows for session in self._open.values() for rows in session.members]
        empty = np.empty((0, self._width), np.int64)
        return {
            "sessions": np.array(sessions, np.int64).reshape(len(sessions), 3 + len(self._keys)),
            "rows": np.concatenate([empty, *members]),
        }

    def load(self, state: Mapping[str, Ints]) -> None:
        rows, sessions = state["rows"], state["sessions"]
        check_elements(rows, self._width)
        require(sessions.shape[1:] == (3 + len(self._keys),), "sessions have another width")
        lengths = sessions[:, 2]
        require((lengths >= 0).all() and lengths.sum() == len(rows), "sessions have no rows")
        require((abs(sessions[:, :2]) <= FURTHEST).all(), "sessions are too far away")
        require((sessions[:, 0] <= sessions[:, 1]).all(), "a session ends before it begins")
        self.clear()
        done = 0
        for begin, last, count, *key in sessions.tolist():
            members = [rows[done : done + count]] if count else []
            self._open[tuple(key)] = _Session(begin, last, members)
            heappush(self._over, (self._window.over(begin, last), tuple(key)))
            done += count

    def size(self) -> tuple[int, int]:
        members = [rows for session in self._open.values() for rows in session.members]
        return sum(map(len, members)), sum(rows.nbytes for rows in members)


TupleNode: TypeAlias = LastTuples | LastOfGroups | SessionRows | RecomputedWindows

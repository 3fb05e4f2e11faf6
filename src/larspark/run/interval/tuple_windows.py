"""Tuple windows: elements are in the window until enough others have arrived after them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from larspark.base.atoms import Signature
from larspark.run.interval.kernels.last_by_group import (
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
from larspark.run.interval.kernels.last_tuples import (
    ARRIVED,
    NEXT,
    OLDEST,
    ORDINAL,
    ROW,
    last_arrivals,
)
from larspark.run.interval.kernels.layout import FOREVER, FROM, NONE, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.key_columns import KeyColumns
from larspark.run.interval.network_nodes import Node, Patterns, State
from larspark.run.interval.restored import check_elements, require
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.store import grown

_SMALLEST = 16


class Elements(NamedTuple):
    """Elements of one predicate, each once: rows as of pinned atoms, and the order of arrival."""

    rows: Ints
    order: Ints


Arrived = Mapping[Signature, Elements]


class Among:
    """The elements that a tuple window counts: those that pass all filters; None passes all.

    Keys that are terms become further columns, and what has no value for them does not count.
    """

    def __init__(
        self,
        filters: Mapping[Signature, tuple[Patterns, ...]] | None,
        keys: KeyColumns | None = None,
    ) -> None:
        self._filters = filters
        self._keys = keys

    @property
    def columns(self) -> int:
        """How many columns are added to the elements."""
        return 0 if self._keys is None else self._keys.count

    def select(self, signature: Signature, elements: Elements) -> Elements:
        """The elements of one predicate that count."""
        elements = self._filtered(signature, elements)
        if self._keys is None:
            return elements
        columns, mask = self._keys.of(elements.rows)
        return Elements(np.column_stack([elements.rows, columns])[mask], elements.order[mask])

    def _filtered(self, signature: Signature, elements: Elements) -> Elements:
        if self._filters is None:
            return elements
        filters = self._filters.get(signature)
        if filters is None:
            return Elements(elements.rows[:0], elements.order[:0])
        for patterns in filters:
            mask = patterns.matching(elements.rows)
            elements = Elements(elements.rows[mask], elements.order[mask])
        return elements


class LastTuples:
    """`[#n]`: an element is in the window until the n-th element after it arrives."""

    _members: Ints
    _counters: Ints

    def __init__(
        self, signature: Signature, among: Among, past: int, future: int, clock: Clock
    ) -> None:
        self._signature = signature
        self._among = among
        self._past = past
        # Without hindsight the next tuples are unknown.
        self._future = future if clock.hindsight else 0
        self._clock = clock
        self._width = TO + 2 + signature.arity
        self._none = Elements(np.empty((0, self._width), np.int64), np.empty(0, np.int64))
        self.consumers: list[Node] = []
        self.clear()

    def arrive(self, arrived: Arrived) -> None:
        """Insert elements of all predicates."""
        counted = {name: self._among.select(name, found) for name, found in arrived.items()}
        every = [found for found in counted.values() if len(found.order)]
        if not every:
            return
        own = counted.get(self._signature, self._none)
        if len(every) == 1 and every[0] is own:
            places, times = np.arange(len(own.order)), own.rows[:, TIME]
        else:
            order = np.concatenate([found.order for found in every])
            turns = np.argsort(order, kind="stable")
            places = np.searchsorted(order[turns], own.order)
            times = np.concatenate([found.rows[:, TIME] for found in every])[turns]
        self._reserve(len(own.rows))
        inside, outside = last_arrivals.run(
            self._members,
            self._counters,
            own.rows,
            places,
            np.ascontiguousarray(times),
            self._past,
            self._future,
            self._clock.start,
        )
        self._pass_on(-1, outside)
        self._pass_on(1, inside)

    def _reserve(self, more: int) -> None:
        """Make room for more members at the end."""
        oldest, following = self._counters[OLDEST], self._counters[NEXT]
        if following + more <= len(self._members):
            return
        members = self._members[oldest:following]
        # At most half of the array is full then, so that moving pays.
        if 2 * (len(members) + more) <= len(self._members):
            self._members[: len(members)] = members
        else:
            self._members = grown(members, len(members) + 2 * more)
        self._counters[OLDEST], self._counters[NEXT] = 0, len(members)

    def _pass_on(self, sign: int, rows: Ints) -> None:
        if len(rows):
            for consumer in self.consumers:
                consumer.receive(sign, rows)

    def expire(self) -> None:
        """Nothing expires: only new elements push members out."""

    def clear(self) -> None:
        self._members = np.empty((_SMALLEST, ROW + self._width), np.int64)
        self._counters = np.zeros(3, np.int64)

    def state(self) -> State:
        members = self._members[self._counters[OLDEST] : self._counters[NEXT]]
        return {
            "count": self._counters[ARRIVED:].copy(),
            "numbers": members[:, ORDINAL].copy(),
            "rows": members[:, ROW:].copy(),
        }

    def load(self, state: Mapping[str, Ints]) -> None:
        rows, numbers, count = state["rows"], state["numbers"], state["count"]
        check_elements(rows, self._width)
        require(numbers.shape == (len(rows),), "the rows of a tuple window have no numbers")
        require(count.shape == (1,) and count[0] >= 0, "a tuple window has counted nothing")
        # The kernel finds the elements that push these out by the distance of their numbers.
        places = numbers - count[0]
        inside = (places >= -self._past) & (places < 0) & (numbers >= 0)
        require(inside.all() and (np.diff(numbers) > 0).all(), "a tuple window is out of order")
        self._members = np.column_stack([numbers, rows])
        self._counters = np.array([0, len(rows), state["count"][0]], np.int64)

    def size(self) -> tuple[int, int]:
        return int(self._counters[NEXT] - self._counters[OLDEST]), self._members.nbytes


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
        self._width = TO + 2 + signature.arity + among.columns
        self.consumers: list[Node] = []
        self.clear()

    def arrive(self, arrived: Arrived) -> None:
        """Insert elements of the predicate; those of others are in no group."""
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
        """The rows with their times in the window, when all elements are known."""
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

    def expire(self) -> None:
        """Nothing expires: only new elements push members out."""

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
        check_elements(rows, self._width)
        require((np.diff(rows[:, TIME]) >= 0).all(), "a partition window is out of order")
        self.clear()
        self._reserve(len(rows))
        group_arrivals.run(
            self._groups, self._heads, self._members, self._counters, rows, self._keys, self._past
        )

    def size(self) -> tuple[int, int]:
        counters = self._counters
        members = int(counters[MEMBERS_USED] - counters[MEMBERS_IDLE])
        return members, self._groups.nbytes + self._members.nbytes + self._heads.nbytes

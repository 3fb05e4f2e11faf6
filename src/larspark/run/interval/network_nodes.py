"""The nodes of the network through which changes flow.

A change is a sign and a batch of rows: `+1` inserts the rows, `-1` retracts them. Rows are
tentative about the future: they hold if nothing more arrives. Only what lies before the clock's
`floor` is final. So a negation or a tuple window never waits: it retracts what it has emitted too
early.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from larspark.run.interval.count_profiles import Profile
from larspark.run.interval.kernels.layout import FOREVER, FROM, KEYS, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.kernels.select import cut
from larspark.run.interval.row_programs import RowProgram, all_columns, projection
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.store import Run, Store

State = dict[str, Ints]


class Node(Protocol):
    """Receives changes, and passes on what follows from them."""

    def receive(self, sign: int, batch: Ints) -> None: ...


class Reader(Protocol):
    """Receives changes together with the row program to run over them."""

    def take(self, sign: int, batch: Ints, program: RowProgram) -> None: ...


class Keeper(Protocol):
    """A node with a state."""

    def expire(self) -> None:
        """Drop what only matters before the clock's floor."""

    def clear(self) -> None:
        """Drop everything."""

    def state(self) -> State: ...

    def load(self, state: Mapping[str, Ints]) -> None: ...

    def size(self) -> tuple[int, int]:
        """How many rows are kept, in how many bytes."""


@dataclass(slots=True)
class Fan:
    """Passes changes on as they are."""

    consumers: list[Node] = field(default_factory=list)

    def receive(self, sign: int, batch: Ints) -> None:
        for consumer in self.consumers:
            consumer.receive(sign, batch)

    def take(self, sign: int, batch: Ints, program: RowProgram) -> None:
        _pass_on(sign, program(batch), self.consumers)


def _pass_on(sign: int, rows: Ints, consumers: Sequence[Node]) -> None:
    """Pass rows on to consumers, if there are any."""
    if len(rows):
        for consumer in consumers:
            consumer.receive(sign, rows)


class Distinct:
    """Removes duplicates: passes on when a row begins or ceases to hold at all.

    Without retractions a store is enough, as adding an interval twice changes nothing. With them
    the derivations of a row are counted, unless there is never more than one.
    """

    __slots__ = ("_clock", "all_columns", "consumers", "listeners", "profile", "store")

    def __init__(self, width: int, clock: Clock, *, counted: bool) -> None:
        self._clock = clock
        self.store = Store(width, clock.floor - 1)
        self.profile = Profile(width, clock.floor - 1) if counted else None
        self.all_columns = all_columns(width)
        self.consumers: list[Node] = []
        # The consumers that receive new rows; the stores of the others follow this one.
        self.listeners = self.consumers

    def let_stores_follow(self) -> None:
        """Let the stores of consumers that only keep new rows follow this one.

        No consumer may be added afterwards.
        """
        self.listeners = []
        for consumer in self.consumers:
            if isinstance(consumer, ScanNode) and consumer.follower is not None:
                self.store.lead(consumer.follower, consumer.program)
            else:
                self.listeners.append(consumer)

    @property
    def is_counted(self) -> bool:
        """Are the derivations of a row counted?"""
        return self.profile is not None

    @property
    def is_leaf(self) -> bool:
        """Does it keep everything and pass nothing on?"""
        return self.profile is None and not self.consumers

    def receive(self, sign: int, batch: Ints) -> None:
        self.take(sign, batch, self.all_columns)

    def take(self, sign: int, batch: Ints, program: RowProgram) -> None:
        floor, store = self._clock.floor, self.store
        if self.profile is not None:
            batch, program = self.profile.change(batch, sign, floor, program), self.all_columns
            if not len(batch):
                return
        if sign < 0:
            _pass_on(sign, store.remove(batch, floor, program), self.consumers)
        elif self.consumers:
            _pass_on(sign, store.add(batch, floor, program), self.listeners)
        else:
            store.keep(batch, floor, program)
        if program.fallback and store.stopped_at is not None:
            self.receive(sign, program.run_fallback(batch[store.stopped_at :]))

    def expire(self) -> None:
        self.store.expire(self._clock.floor - 1)
        if self.profile is not None:
            self.profile.expire(self._clock.floor - 1)

    def clear(self) -> None:
        self.store.clear(self._clock.floor - 1)
        if self.profile is not None:
            self.profile.clear(self._clock.floor - 1)

    def state(self) -> State:
        state = self.store.state()
        if self.profile is not None:
            counted = self.profile.state()
            state |= {f"profile.{name}": array for name, array in counted.items()}
        return state

    def load(self, state: Mapping[str, Ints]) -> None:
        self.store.load(state)
        if self.profile is not None:
            prefix = "profile."
            inner = {k[len(prefix) :]: v for k, v in state.items() if k.startswith(prefix)}
            self.profile.load(inner)

    def size(self) -> tuple[int, int]:
        rows, size = self.store.live(self._clock.last), self.store.bytes
        if self.profile is not None:
            return rows + len(self.profile), size + self.profile.bytes
        return rows, size

    def covering(self, first: int, last: int) -> Ints:
        """The rows that hold within [first, last], cut to it."""
        return cut_rows([self.store.rows()], first, last)


@dataclass(frozen=True, slots=True, eq=False)
class ScanNode:
    """Evaluates a body formula over the rows of its predicate, by a row program."""

    program: RowProgram
    filters: tuple["Patterns", ...]
    target: Reader

    @property
    def follower(self) -> Store | None:
        """The store that receives the result, if nothing else happens to it."""
        target = self.target
        if self.filters or self.program.fallback or not isinstance(target, Distinct):
            return None
        return target.store if target.is_leaf else None

    def receive(self, sign: int, batch: Ints) -> None:
        for patterns in self.filters:
            batch = patterns.select(batch)
        self.target.take(sign, batch, self.program)


@dataclass(frozen=True, slots=True)
class Patterns:
    """A filter: the rows that match one of some patterns, each a list of (column, code)."""

    alternatives: tuple[tuple[tuple[int, int], ...], ...]

    def select(self, batch: Ints) -> Ints:
        """The rows that match."""
        return batch[self.matching(batch)]

    def matching(self, batch: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which rows match."""
        found = np.zeros(len(batch), bool)
        for pattern in self.alternatives:
            here = np.ones(len(batch), bool)
            for column, code in pattern:
                here &= batch[:, column] == code
            found |= here
        return found


class Runs:
    """`[n] always` over input: a run [s, e] of time points gives [s + n, e].

    From the start of the timeline on the window has only the time points of the run, so a run that
    begins there counts from its first time point.
    """

    __slots__ = ("_clock", "run", "store", "target")

    def __init__(self, width: int, clock: Clock, past: int | None, target: Node) -> None:
        self._clock = clock
        self.run = Run(clock.start, FOREVER if past is None else past)
        self.store = Store(width, clock.floor - 1)
        self.target = target

    def take(self, sign: int, batch: Ints, program: RowProgram) -> None:
        self.expire()
        rows = self.store.add(batch, -FOREVER, program, self.run)
        if len(rows):
            self.target.receive(sign, rows)

    def expire(self) -> None:
        self.store.expire(self._clock.floor - 1)

    def clear(self) -> None:
        self.store.clear(self._clock.floor - 1)

    def state(self) -> State:
        return self.store.state()

    def load(self, state: Mapping[str, Ints]) -> None:
        self.store.load(state)

    def size(self) -> tuple[int, int]:
        return self.store.live(self._clock.last), self.store.bytes


class Sweep:
    """`always` in general: a row holds where as many time points see it as its window has.

    Receives a row for each time point, at most once. From other nodes it comes with the time point
    as the last column, which is dropped.
    """

    __slots__ = ("_clock", "profile", "target", "without_time")

    def __init__(self, profile: Profile, clock: Clock, target: Node) -> None:
        self._clock = clock
        self.profile = profile
        self.without_time = projection(range(KEYS, KEYS + profile.width))
        self.target = target

    def receive(self, sign: int, batch: Ints) -> None:
        self.take(sign, batch, self.without_time)

    def take(self, sign: int, batch: Ints, program: RowProgram) -> None:
        changed = self.profile.change(batch, sign, self._clock.floor, program)
        if len(changed):
            self.target.receive(sign, changed)

    def expire(self) -> None:
        self.profile.expire(self._clock.floor - 1)

    def clear(self) -> None:
        self.profile.clear(self._clock.floor - 1)

    def state(self) -> State:
        return self.profile.state()

    def load(self, state: Mapping[str, Ints]) -> None:
        self.profile.load(state)

    def size(self) -> tuple[int, int]:
        return len(self.profile), self.profile.bytes


class Spread:
    """Turns atoms that hold at the evaluation time into atoms at a time point.

    An atom that holds at every t of [f, h] holds at T = t, seen from t alone. That takes one row
    for each time point, so rows are made only up to the clock.
    """

    __slots__ = ("_clock", "_source", "consumers")

    def __init__(self, clock: Clock, source: Distinct | None) -> None:
        self._clock = clock
        # Without a source it spreads remembered atoms: seen from every later time point, too.
        self._source = source
        self.consumers: list[Node] = []

    def tick(self) -> None:
        """Time has advanced: spread what holds at the new time points."""
        if self._source is not None:
            self.receive(1, self._source.store.rows())

    def receive(self, sign: int, batch: Ints) -> None:
        if self._source is not None:
            batch = cut_rows([batch], self._clock.floor, self._clock.last)
        _pass_on(sign, self._spread(batch), self.consumers)

    def _spread(self, batch: Ints) -> Ints:
        lengths = batch[:, TO] - batch[:, FROM] + 1
        repeated = np.repeat(batch, lengths, axis=0)
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        times = repeated[:, FROM] + np.arange(len(repeated)) - starts
        rows = np.empty((len(repeated), batch.shape[1] + 1), np.int64)
        rows[:, FROM] = times
        rows[:, TO] = times if self._source is not None else FOREVER
        rows[:, TIME] = times
        rows[:, TIME + 1 :] = repeated[:, TO + 1 :]
        return rows


def cut_rows(parts: Sequence[Ints], first: int, last: int) -> Ints:
    """The rows of all parts as far as they hold within [first, last]."""
    rows = np.empty((sum(map(len, parts)), parts[0].shape[1]), np.int64)
    count = 0
    for part in parts:
        count = cut.run(part, first, last, rows, count)
    return rows[:count]

"""The nodes of the network through which changes flow.

A change is a sign and a batch of rows: with `+1` the rows hold from now on, with `-1` they do not
hold after all. Rows promise what holds in the future if nothing more arrives; only what lies
before the clock's `floor` is final. So a negation, or a tuple window, is never late: it takes back
what it had promised.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from larspark.run.interval.count_profiles import Profile
from larspark.run.interval.kernels.layout import FOREVER, FROM, KEYS, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.kernels.select import cut
from larspark.run.interval.row_programs import Reading, picking, whole
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.store import Run, Store

State = dict[str, Ints]


class Node(Protocol):
    """Takes changes in, and passes on what follows from them."""

    def receive(self, sign: int, batch: Ints) -> None: ...


class Reader(Protocol):
    """Takes in what it reads off a batch itself."""

    def take(self, sign: int, batch: Ints, reading: Reading) -> None: ...


class Keeper(Protocol):
    """A node with a state."""

    def settle(self) -> None:
        """Forget what only matters to the time before the clock's floor."""

    def clear(self) -> None:
        """Forget everything."""

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

    def take(self, sign: int, batch: Ints, reading: Reading) -> None:
        _pass_on(sign, reading(batch), self.consumers)


def _pass_on(sign: int, rows: Ints, consumers: Sequence[Node]) -> None:
    """Hand rows to consumers, if there are any."""
    if len(rows):
        for consumer in consumers:
            consumer.receive(sign, rows)


class Distinct:
    """Makes a set of what may be a bag: passes on when a row begins or ceases to hold at all.

    Without retractions adding an interval twice does no harm, and a cover is enough. With them the
    derivations of a row are counted, unless it is known that there is never more than one.
    """

    __slots__ = ("_clock", "_listeners", "_profile", "_whole", "consumers", "store")

    def __init__(self, width: int, clock: Clock, *, counted: bool) -> None:
        self._clock = clock
        self.store = Store(width, clock.floor - 1)
        self._profile = Profile(width, clock.floor - 1) if counted else None
        self._whole = whole(width)
        self.consumers: list[Node] = []
        # Those consumers that have to be told what is new: others follow the store.
        self._listeners = self.consumers

    def let_stores_follow(self) -> None:
        """Where a consumer only keeps what is new, let its store follow this one.

        From here on there must be no new consumers.
        """
        self._listeners = []
        for consumer in self.consumers:
            if isinstance(consumer, ScanNode) and consumer.follower is not None:
                self.store.lead(consumer.follower, consumer.reading)
            else:
                self._listeners.append(consumer)

    @property
    def is_leaf(self) -> bool:
        """Is everything that it takes kept, and nothing passed on?"""
        return self._profile is None and not self.consumers

    def receive(self, sign: int, batch: Ints) -> None:
        self.take(sign, batch, self._whole)

    def take(self, sign: int, batch: Ints, reading: Reading) -> None:
        floor, store = self._clock.floor, self.store
        if self._profile is not None:
            batch, reading = self._profile.change(batch, sign, floor, reading), self._whole
            if not len(batch):
                return
        if sign < 0:
            _pass_on(sign, store.remove(batch, floor, reading), self.consumers)
        elif self.consumers:
            _pass_on(sign, store.add(batch, floor, reading), self._listeners)
        else:
            store.keep(batch, floor, reading)
        if reading.slowly and store.unread is not None:
            self.receive(sign, reading.slow(batch[store.unread :]))

    def settle(self) -> None:
        self.store.settle(self._clock.floor - 1)
        if self._profile is not None:
            self._profile.settle(self._clock.floor - 1)

    def clear(self) -> None:
        self.store.clear(self._clock.floor - 1)
        if self._profile is not None:
            self._profile.clear(self._clock.floor - 1)

    def state(self) -> State:
        state = self.store.state()
        if self._profile is not None:
            counted = self._profile.state()
            state |= {f"profile.{name}": array for name, array in counted.items()}
        return state

    def load(self, state: Mapping[str, Ints]) -> None:
        self.store.load(state)
        if self._profile is not None:
            prefix = "profile."
            inner = {k[len(prefix) :]: v for k, v in state.items() if k.startswith(prefix)}
            self._profile.load(inner)

    def size(self) -> tuple[int, int]:
        rows, size = self.store.live(self._clock.last), self.store.bytes
        if self._profile is not None:
            return rows + len(self._profile), size + self._profile.bytes
        return rows, size

    def covering(self, first: int, last: int) -> Ints:
        """The rows that hold within [first, last], cut to it."""
        return cut_rows([self.store.rows()], first, last)


@dataclass(frozen=True, slots=True, eq=False)
class ScanNode:
    """Lets a body formula be read off the rows of its predicate."""

    reading: Reading
    filters: tuple["Patterns", ...]
    target: Reader

    @property
    def follower(self) -> Store | None:
        """The store that takes in all that is read, if that is all that happens."""
        target = self.target
        if self.filters or self.reading.slowly or not isinstance(target, Distinct):
            return None
        return target.store if target.is_leaf else None

    def receive(self, sign: int, batch: Ints) -> None:
        for patterns in self.filters:
            batch = patterns.select(batch)
        self.target.take(sign, batch, self.reading)


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

    __slots__ = ("_clock", "_run", "_store", "target")

    def __init__(self, width: int, clock: Clock, past: int | None, target: Node) -> None:
        self._clock = clock
        self._run = Run(clock.start, FOREVER if past is None else past)
        self._store = Store(width, clock.floor - 1)
        self.target = target

    def take(self, sign: int, batch: Ints, reading: Reading) -> None:
        self.settle()
        rows = self._store.add(batch, -FOREVER, reading, self._run)
        if len(rows):
            self.target.receive(sign, rows)

    def settle(self) -> None:
        self._store.settle(self._clock.floor - 1)

    def clear(self) -> None:
        self._store.clear(self._clock.floor - 1)

    def state(self) -> State:
        return self._store.state()

    def load(self, state: Mapping[str, Ints]) -> None:
        self._store.load(state)

    def size(self) -> tuple[int, int]:
        return self._store.live(self._clock.last), self._store.bytes


class Sweep:
    """`always` in general: a row holds where as many time points see it as its window has.

    Takes a row for each time point, at most once; handed on by others, with the time point as the
    last column, which it drops.
    """

    __slots__ = ("_clock", "_profile", "_without_time", "target")

    def __init__(self, profile: Profile, clock: Clock, target: Node) -> None:
        self._clock = clock
        self._profile = profile
        self._without_time = picking(range(KEYS, KEYS + profile.width))
        self.target = target

    def receive(self, sign: int, batch: Ints) -> None:
        self.take(sign, batch, self._without_time)

    def take(self, sign: int, batch: Ints, reading: Reading) -> None:
        changed = self._profile.change(batch, sign, self._clock.floor, reading)
        if len(changed):
            self.target.receive(sign, changed)

    def settle(self) -> None:
        self._profile.settle(self._clock.floor - 1)

    def clear(self) -> None:
        self._profile.clear(self._clock.floor - 1)

    def state(self) -> State:
        return self._profile.state()

    def load(self, state: Mapping[str, Ints]) -> None:
        self._profile.load(state)

    def size(self) -> tuple[int, int]:
        return len(self._profile), self._profile.bytes


class Spread:
    """Turns atoms that hold at the evaluation time into atoms at a time point.

    An atom that holds at every t of [f, h] holds at T = t, seen from t alone: one row for each time
    point, so they are made only as far as the clock has come.
    """

    __slots__ = ("_clock", "_source", "consumers")

    def __init__(self, clock: Clock, source: Distinct | None) -> None:
        self._clock = clock
        # Without a source it spreads what is remembered: seen from every later time point, too.
        self._source = source
        self.consumers: list[Node] = []

    def tick(self) -> None:
        """Time has come further: what was promised for the new time points counts now."""
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

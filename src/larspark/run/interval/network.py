"""The network of a program: inputs, stages in the order of evaluation, outputs and state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.run.interval.columns_of_codes import atoms_of
from larspark.run.interval.firing import Firing, Head, Tally
from larspark.run.interval.interval_answers import Outputs
from larspark.run.interval.kernels.layout import FOREVER, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.network_nodes import Distinct, Fan, Keeper, Spread, State
from larspark.run.interval.recomputed_windows import RecomputedWindows
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.session_windows import TupleNode
from larspark.run.interval.tuple_windows import Arrived
from larspark.run.protocol import Derived


@dataclass(slots=True)
class Memory:
    """`#remember`: feeds the output of a predicate at t back as atoms of the stream at t."""

    clock: Clock
    output: Distinct
    fan: Fan
    # Remember only when time advances, because the time point may still change?
    late: bool

    def run(self) -> None:
        if not self.late:
            self._remember(self.clock.floor, self.clock.last)

    def tick(self, first: int, last: int) -> None:
        """Time advances past the time points [first, last]."""
        if self.late:
            self._remember(first, last)

    def _remember(self, first: int, last: int) -> None:
        rows = self.output.covering(first, last)
        if len(rows):
            self.fan.receive(1, rows)


class RememberedRows:
    """Remembered rows of a recursion that is recomputed from scratch.

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
        """Keep rows; remembered rows are never retracted."""
        if sign < 0:
            raise ValueError("a remembered row was retracted")
        self._rows = np.concatenate([self._rows, batch])

    def replay(self) -> None:
        """Pass on everything that the recursion can still see."""
        if len(self._rows):
            self.fan.receive(1, self._rows.copy())

    def expire(self) -> None:
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


# A recursion with more rounds than this is taken for one that does not end.
ROUNDS_LIMIT = 100_000


class Stage(Protocol):
    """Predicates that depend on each other, evaluated after those they depend on."""

    def run(self) -> None: ...


@dataclass(slots=True)
class Recursion:
    """Predicates that depend on each other, evaluated to the fixpoint."""

    heads: list[Head]

    def run(self) -> None:
        until_done(self.heads)


@dataclass(slots=True)
class Recomputed:
    """A recursion over rows that can be retracted, recomputed for the current time points.

    Counting cannot retract atoms that support each other in a cycle. So nothing is derived ahead of
    time here: the current time points are evaluated from scratch, and the result is final.
    """

    clock: Clock
    # Heads inside the recursion, and those that the rest of the network reads.
    scratch: list[Head]
    given: list[Head]
    inner: list[Keeper]
    # Rules that the recursion does not fire, and the formula that does (None: no formula).
    starts: list[tuple[Firing, Distinct | None]]
    # Outputs of the recursion at earlier time points.
    remembered: list[RememberedRows]
    _done: dict[int, Ints] = field(default_factory=dict)
    _floor: int | None = None

    def run(self) -> None:
        floor, last = self.clock.floor, self.clock.last
        for keeper in self.inner:
            keeper.clear()
        for remembered in self.remembered:
            remembered.replay()
        for firing, source in self.starts:
            rows = moments(floor, last) if source is None else source.covering(floor, last)
            if len(rows):
                firing.receive(1, rows)
        until_done(self.scratch)
        for number, (scratch, given) in enumerate(zip(self.scratch, self.given, strict=True)):
            rows = scratch.distinct.covering(floor, last)
            if self._floor == floor and len(self._done[number]):
                given.distinct.receive(-1, self._done[number])
            if len(rows):
                given.distinct.receive(1, rows)
            self._done[number] = rows
        self._floor = floor


@dataclass(slots=True)
class PinnedBackground:
    """`@T` over background atoms, which hold at every time point of the timeline."""

    clock: Clock
    atoms: Ints
    fan: Fan
    # How far ahead of the evaluation time the formula looks.
    ahead: int

    def begin(self) -> None:
        if self.clock.end is not None and not self.clock.is_open:
            self._emit(self.clock.start, self.clock.end, self.clock.start)
        elif self.clock.is_open:
            self._emit(self.clock.start, self.clock.start + self.ahead - 1, self.clock.start)

    def tick(self) -> None:
        """Emit the time points that the clock has reached."""
        if self.clock.end is None:
            self._emit(self.clock.floor, self.clock.last, None)
        elif self.clock.is_open:
            self._emit(
                self.clock.floor + self.ahead, self.clock.last + self.ahead, self.clock.start
            )

    def _emit(self, first: int, last: int, known: int | None) -> None:
        if first > last:
            return
        times = np.repeat(np.arange(first, last + 1), len(self.atoms))
        rows = np.empty((len(times), TIME + 1 + self.atoms.shape[1]), np.int64)
        rows[:, 0] = times if known is None else known
        rows[:, TO] = FOREVER
        rows[:, TIME] = times
        rows[:, TIME + 1 :] = np.tile(self.atoms, (last - first + 1, 1))
        self.fan.receive(1, rows)


@dataclass(slots=True)
class Network:
    """The nodes of a program whose timeline has begun."""

    clock: Clock
    tally: Tally
    inputs: dict[Signature, Fan] = field(default_factory=dict)
    # Inputs of which every element is inserted once.
    distinct_inputs: set[Signature] = field(default_factory=set)
    # Rows derived by the engines of other stages.
    imported: dict[Derived, Distinct] = field(default_factory=dict)
    windows: list[TupleNode] = field(default_factory=list)
    background: list[tuple[Fan, Ints]] = field(default_factory=list)
    pinned_background: list[PinnedBackground] = field(default_factory=list)
    spreads: list[Spread] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    # Rules without a positive formula: they fire once, at the start.
    starters: list[Firing] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    outputs: Outputs = field(default_factory=lambda: Outputs({}))
    # Derived rows by predicate: at the evaluation time (False), at a time point (True).
    heads: dict[Signature, dict[bool, Distinct]] = field(default_factory=dict)
    keepers: list[Keeper] = field(default_factory=list)
    # What every keeper holds, for the printed network.
    labels: dict[Keeper, str] = field(default_factory=dict)

    # Does every time point have to be evaluated by itself?
    single_steps: bool = False
    _before: tuple[int, int] | None = None

    @property
    def counts_time_points(self) -> bool:
        """Is every time point work, also one at which nothing arrives?"""
        return bool(self.pinned_background) or any(
            isinstance(window, RecomputedWindows) for window in self.windows
        )

    def begin(self) -> None:
        """Insert what holds from the start.

        Rules without a positive formula fire first: background data can only retract what is there.
        """
        for firing in self.starters:
            firing.receive(1, moments(self.clock.start, FOREVER))
        for fan, rows in self.background:
            fan.receive(1, rows)
        for eternity in self.pinned_background:
            eternity.begin()

    def move(self, floor: int, last: int) -> None:
        """Advance the clock to [floor, last], before the elements of these time points."""
        before, self._before = self._before, (floor, last)
        self.clock.floor, self.clock.last = floor, last
        self.tally.time_points += last - floor + 1
        # The rows that ended before were emitted, or nobody reads them.
        self.outputs.expire(floor - 1)
        if before is not None:
            for memory in self.memories:
                memory.tick(*before)
        for eternity in self.pinned_background:
            eternity.tick()
        for spread in self.spreads:
            spread.tick()

    def resume(self, floor: int, last: int) -> None:
        """Continue after [floor, last], with restored stores."""
        self.clock.floor, self.clock.last = floor, last
        self._before = (floor, last)

    def derived_at(
        self, t: int, shown: frozenset[Signature], values: Sequence[Constant]
    ) -> dict[int, frozenset[Atom]]:
        """The derived atoms by time point, seen from the evaluation time t."""
        found: dict[int, set[Atom]] = {}
        for signature in shown & self.heads.keys():
            for pinned, head in self.heads[signature].items():
                rows = head.covering(t, t)
                times = rows[:, TO + 1].tolist() if pinned else [t] * len(rows)
                atoms = atoms_of(signature, rows[:, TO + 1 + pinned :], values)
                for time, atom in zip(times, atoms, strict=True):
                    found.setdefault(time, set()).add(atom)
        return {time: frozenset(found[time]) for time in sorted(found)}

    def feed(self, signature: Signature, rows: Ints) -> None:
        """Insert elements of a predicate, as rows of pinned atoms."""
        fan = self.inputs.get(signature)
        if fan is not None:
            fan.receive(1, rows)

    def import_derived(self, derived: Derived, rows: Ints) -> None:
        """Insert rows derived by the engines of other stages."""
        self.imported[derived].receive(1, rows)

    def arrive(self, arrived: Arrived) -> None:
        """Pass elements through the tuple windows."""
        for window in self.windows:
            window.arrive(arrived)

    def work(self) -> None:
        """Evaluate all stages."""
        for stage in self.stages:
            stage.run()

    def expire(self) -> None:
        """Expire what no window can see any more."""
        for keeper in self.keepers:
            keeper.expire()

    def rest(self) -> None:
        """Expire what only matters up to the present, which is answered.

        The next step would do so first; doing it before makes a saved state smaller.
        """
        if any(memory.late for memory in self.memories):
            # What holds now is remembered when time advances.
            return
        floor = self.clock.floor
        self.clock.floor = self.clock.last + 1
        self.expire()
        self.clock.floor = floor


def until_done(heads: Sequence[Head]) -> None:
    """Run heads that depend on each other until nothing is pending."""
    for _ in range(ROUNDS_LIMIT):
        pending = [head for head in heads if head.pending]
        if not pending:
            return
        for head in pending:
            head.run()
    message = f"the recursion does not end: no fixpoint after {ROUNDS_LIMIT} rounds"
    hint = "bound what the recursion computes, e.g. with a comparison"
    raise LarsparkError(Problem("L403", message, hint=hint))


def moments(first: int, last: int) -> Ints:
    """The one row without variables that holds over an interval."""
    return np.array([[first, last]], np.int64)

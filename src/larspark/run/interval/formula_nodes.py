"""Body formulas in the network: from the rows of a predicate to bindings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

import numpy as np

from larspark.base.atoms import Atom, Signature
from larspark.plan.operators import Contents, Mode, Reach, Sessions, Tuples, may_retract
from larspark.run.interval.count_profiles import Profile, WindowSize
from larspark.run.interval.firing import Firing, Head
from larspark.run.interval.formula_shapes import (
    Shape,
    patterns_of,
    scanner,
    shape_text,
    tuples_text,
)
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import FROM, TO, Ints
from larspark.run.interval.kernels.scan import KEEP, NOW, RUN, WINDOW
from larspark.run.interval.key_columns import KeyColumns, key_columns
from larspark.run.interval.network import Network, PinnedBackground
from larspark.run.interval.network_nodes import (
    Distinct,
    Fan,
    Keeper,
    Node,
    Patterns,
    Reader,
    Runs,
    ScanNode,
    Spread,
    Sweep,
)
from larspark.run.interval.recomputed_windows import RecomputedWindows
from larspark.run.interval.row_programs import RowProgram
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.session_windows import SessionRows, TupleNode
from larspark.run.interval.tuple_windows import Among, LastOfGroups, LastTuples

Source: TypeAlias = Fan | Distinct | Spread | TupleNode


class Kind(Enum):
    """The form of the rows of a predicate."""

    # With a time point of their own: elements of the stream, and atoms of `@T` heads.
    PINNED = auto()
    # At the evaluation time.
    PLAIN = auto()
    # Remembered outputs, at every time point of an interval.
    MEMORY = auto()
    # Background atoms, which always hold.
    BACKGROUND = auto()


class Channel(NamedTuple):
    """A source of rows: can they be retracted, and does each come only once?"""

    kind: Kind
    source: Source
    retracts: bool
    unique: bool


@dataclass(slots=True)
class Predicate:
    """The channels of a predicate, and its heads: of plain rules (False) and of `@T` (True)."""

    channels: list[Channel] = field(default_factory=list)
    heads: dict[bool, Head] = field(default_factory=dict)
    spread: Spread | None = None


class Formula(NamedTuple):
    """A formula in the network: the node of its bindings, and whether each comes once."""

    sink: Fan | Distinct
    unique: bool


class FormulaBuilder:
    """Builds the nodes of formulas; `stored` are the shapes whose bindings are looked up."""

    def __init__(
        self,
        network: Network,
        clock: Clock,
        constants: Constants,
        stored: set[Shape],
        background: Mapping[Signature, Sequence[Atom]],
    ) -> None:
        self._network = network
        self._clock = clock
        self._constants = constants
        self._stored = stored
        self._background = background
        self._windows: dict[tuple[Signature, Tuples | Sessions | Contents], TupleNode] = {}
        self._scans: list[tuple[Source, ScanNode]] = []

    def formula(self, shape: Shape, predicate: Predicate, keepers: list[Keeper]) -> Formula:
        """A formula over a predicate; the stores it needs are added to the keepers."""
        channels = self._channels(shape, predicate)
        retracts = any(channel.retracts for channel in channels)
        unique = len(channels) == 1 and channels[0].unique and _keeps_apart(shape, channels[0])
        sink: Fan | Distinct = Fan()
        if shape in self._stored:
            sink = Distinct(shape.width, self._clock, counted=retracts and not unique)
            self._keep(sink, shape_text(shape), keepers)
        streamed = [channel for channel in channels if channel.kind is not Kind.BACKGROUND]
        if streamed:
            target: Reader = sink
            if shape.mode is Mode.ALWAYS:
                target = self._always(shape, streamed, sink, keepers)
            for channel in streamed:
                self._attach(shape, channel, predicate, target)
        for channel in channels:
            if channel.kind is Kind.BACKGROUND:
                self._attach_background(shape, channel, sink)
        return Formula(sink, unique or isinstance(sink, Distinct))

    def _keep(self, keeper: Keeper, label: str, keepers: list[Keeper]) -> None:
        keepers.append(keeper)
        self._network.labels[keeper] = label

    def _channels(self, shape: Shape, predicate: Predicate) -> list[Channel]:
        """The sources of rows: a tuple window over the stream, if there is one."""
        if shape.tuples is not None:
            window = self._window(shape.signature, shape.tuples)
            retracts = may_retract(shape.tuples, hindsight=self._clock.hindsight)
            return [Channel(Kind.PINNED, window, retracts=retracts, unique=True)]
        if shape.mode is Mode.NOW:
            # Remembered atoms of the present are those that hold at present.
            return [channel for channel in predicate.channels if channel.kind is not Kind.MEMORY]
        return predicate.channels

    def _attach(self, shape: Shape, channel: Channel, predicate: Predicate, target: Reader) -> None:
        """Scan the rows of a channel."""
        source = channel.source
        mode = NOW if shape.mode is Mode.NOW else WINDOW
        if isinstance(target, Runs):
            # Every time point is scanned by itself; the window comes afterwards.
            mode, shape = NOW, shape._replace(reach=Reach())
        match channel.kind, shape.mode:
            case Kind.PLAIN, (Mode.NOW | Mode.SOME) if shape.reach.every == 1:
                mode = KEEP
            case Kind.MEMORY, Mode.SOME:
                mode = RUN
            case ((Kind.PLAIN | Kind.MEMORY), _):
                source = self._spread(channel, predicate)
            case _:
                pass
        sweep = shape.mode is Mode.ALWAYS and isinstance(target, Distinct)
        scan = scanner(shape, mode, self._constants, target, sweep=sweep)
        if scan is not None:
            source.consumers.append(scan)
            self._scans.append((source, scan))

    def fuse_scans(self) -> None:
        """Fuse scans whose bindings are not stored with the rules that they fire."""
        for source, scan in self._scans:
            fan = scan.target
            if not isinstance(fan, Fan) or scan.filters:
                continue
            firings = [each.after(scan.program) for each in fan.consumers if type(each) is Firing]
            if len(firings) == len(fan.consumers):
                place = source.consumers.index(scan)
                source.consumers[place : place + 1] = firings

    def _spread(self, channel: Channel, predicate: Predicate) -> Spread:
        if channel.kind is Kind.MEMORY or not isinstance(channel.source, Distinct):
            spread = Spread(self._clock, None)
            channel.source.consumers.append(spread)
            return spread
        if predicate.spread is None:
            predicate.spread = Spread(self._clock, channel.source)
            channel.source.consumers.append(predicate.spread)
            self._network.spreads.append(predicate.spread)
        return predicate.spread

    def _always(
        self,
        shape: Shape,
        channels: Sequence[Channel],
        sink: Fan | Distinct,
        keepers: list[Keeper],
    ) -> Reader:
        reach, clock = shape.reach, self._clock
        from_stream = all(isinstance(channel.source, Fan) for channel in channels)
        from_stream &= all(channel.kind is Kind.PINNED for channel in channels)
        if from_stream and reach.every == 1 and (clock.end is None or reach.future == 0):
            runs = Runs(shape.width, clock, reach.past, sink)
            self._keep(runs, f"runs of {shape_text(shape)}", keepers)
            return runs
        window = WindowSize(clock.start, reach.past, reach.future, reach.every, clock.end)
        sweep = Sweep(Profile(shape.width, clock.floor - 1, window), clock, sink)
        self._keep(sweep, f"time points counted for {shape_text(shape)}", keepers)
        if len(channels) == 1 and channels[0].unique and shape.keeps_arguments:
            return sweep
        counted = any(channel.retracts for channel in channels)
        each = Distinct(shape.width + 1, clock, counted=counted)
        each.consumers.append(sweep)
        self._keep(each, f"time points of {shape_text(shape)}", keepers)
        return each

    def _attach_background(self, shape: Shape, channel: Channel, sink: Fan | Distinct) -> None:
        # Filters do not apply to background atoms.
        shape = shape._replace(only=())
        if shape.mode is Mode.AT:
            rows = next(rows for fan, rows in self._network.background if fan is channel.source)
            atoms = np.ascontiguousarray(rows[:, TO + 1 :])
            fan = Fan()
            scan = scanner(shape, WINDOW, self._constants, sink)
            self._network.pinned_background.append(
                PinnedBackground(self._clock, atoms, fan, shape.reach.future or 0)
            )
            if scan is not None:
                fan.consumers.append(scan)
            return
        target: Reader = sink
        if shape.mode is not Mode.NOW and shape.reach.every > 1:
            target = _NotBefore(self._first_window(shape.reach), sink)
        scan = scanner(shape, KEEP, self._constants, target)
        if scan is not None:
            channel.source.consumers.append(scan)

    def _first_window(self, reach: Reach) -> int:
        """The first evaluation time whose window has a time point."""
        start = self._clock.start
        if reach.future is None:
            return start
        return max(start, -((reach.future - start) // reach.every) * reach.every)

    def _window(self, signature: Signature, tuples: Tuples | Sessions | Contents) -> TupleNode:
        key = (signature, tuples)
        if key not in self._windows:
            if isinstance(tuples, Contents):
                window: TupleNode = self._recomputed(tuples)
            else:
                window = self._new_window(signature, tuples)
            self._windows[key] = window
            self._network.windows.append(window)
            self._keep(window, f"{tuples_text(tuples)} over {signature}", self._network.keepers)
        return self._windows[key]

    def _recomputed(self, contents: Contents) -> RecomputedWindows:
        signature = contents.signature
        atoms = () if signature is None else self._background.get(signature, ())
        codes = [tuple(map(self._constants.code_term, atom.args)) for atom in atoms]
        return RecomputedWindows(contents, codes, self._constants, self._clock)

    def _new_window(self, signature: Signature, tuples: Tuples | Sessions) -> TupleNode:
        by: tuple[int, ...] | None = None
        terms: KeyColumns | None = None
        if tuples.by is not None:
            terms, by = key_columns(tuples.by, signature.arity, self._constants)
        among = Among(self._filters(tuples), terms)
        if isinstance(tuples, Sessions):
            return SessionRows(signature, among, by, tuples.window, self._clock)
        past, future = tuples.past, tuples.future
        if by is None:
            return LastTuples(signature, among, past, future, self._clock)
        return LastOfGroups(signature, among, by, past, future, self._clock)

    def _filters(
        self, tuples: Tuples | Sessions
    ) -> Mapping[Signature, tuple[Patterns, ...]] | None:
        if not tuples.among:
            return None
        passing = {
            signature: patterns_of(tuples.among, signature, TO + 2, self._constants)
            for signature in {atom.signature for atom in tuples.among[0]}
        }
        return {name: found for name, found in passing.items() if found is not None}


def _keeps_apart(shape: Shape, channel: Channel) -> bool:
    """Do different rows of the channel give different bindings at every evaluation time?"""
    if shape.mode is Mode.ALWAYS:
        return True
    drops_time = shape.mode is Mode.SOME and channel.kind is not Kind.PLAIN
    return shape.keeps_arguments and not drops_time


@dataclass(frozen=True, slots=True)
class _NotBefore:
    """Lets rows begin no earlier than a time point."""

    first: int
    target: Node

    def take(self, sign: int, batch: Ints, program: RowProgram) -> None:
        rows = program(batch)
        rows[:, FROM] = np.maximum(rows[:, FROM], self.first)
        if len(rows):
            self.target.receive(sign, rows)

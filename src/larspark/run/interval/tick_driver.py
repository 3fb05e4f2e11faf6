"""A network as tables for the kernel that runs a time point in one call."""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from larspark.base.atoms import Atom, Signature
from larspark.run.interval.body_steps import JoinStep, SubtractStep
from larspark.run.interval.count_profiles import Profile
from larspark.run.interval.firing import Firing, Head
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels import tick_tables as layout
from larspark.run.interval.kernels.addressing import address_of
from larspark.run.interval.kernels.layout import NONE, Ints
from larspark.run.interval.kernels.tick import (
    NEEDS_COUNTS,
    NEEDS_FALLBACK,
    NEEDS_MEMORY,
    NEEDS_ROOM,
    NEEDS_ROOM_TO_REMOVE,
    NEEDS_STEP,
    NEEDS_WHEEL,
    run_tick,
)
from larspark.run.interval.network import Network
from larspark.run.interval.network_nodes import Distinct, Fan, Runs, ScanNode, Sweep
from larspark.run.interval.row_programs import RowProgram, Step, all_columns
from larspark.run.interval.store import Store
from larspark.run.interval.tick_changes import Decoder, TickChanges, flat_copy
from larspark.run.interval.tick_records import Records

# Integers of memory for one time point, to begin with.
_MEMORY = 1 << 16
# Room is made for so many rows at least: doing it takes much longer than a time point.
_ROOM = 128


class _UnknownNodeError(Exception):
    """The kernel does not know a node of the network."""


class _Span(NamedTuple):
    first: int
    end: int


class _Tables:
    """The lines of all tables, written as the network is walked through."""

    def __init__(self, network: Network) -> None:
        self.ops: list[list[int]] = []
        self.nodes: list[list[int]] = []
        self.steps: list[list[int]] = []
        self.needs: list[int] = []
        self.inputs: list[list[int]] = []
        self.names: list[Signature] = []
        # What the numbers stand for, where Python has to help.
        self.programs: dict[int, RowProgram] = {}
        self.python_steps: list[Step] = []
        self.stores: dict[int, Store] = {}
        self.profiles: dict[int, Profile] = {}
        # Whatever an address leads to must not go.
        self.alive: list[Ints] = []
        self._known: dict[int, int] = {}
        self._heads: dict[int, int] = {}
        for stage in network.stages:
            if type(stage) is not Head:
                raise _UnknownNodeError
            self._heads[id(stage)] = len(self._heads)
        for signature, fan in network.inputs.items():
            span = self._consumers(fan.consumers)
            self.names.append(signature)
            self.inputs.append([*span, signature.arity, 0, 0, 0, 0])
        self.outputs = [self.header(store) for store in network.outputs.stores.values()]

    def header(self, store: Store) -> int:
        address = address_of(store.header)
        self.stores[address] = store
        return address

    def _consumers(self, consumers: Sequence[object]) -> _Span:
        """The operations of a list of consumers, which stand one after another."""
        first = len(self.ops)
        self.ops.extend([0] * layout.OP_SIZE for _ in consumers)
        for number, consumer in enumerate(consumers, first):
            self._consumer(number, consumer)
        return _Span(first, first + len(consumers))

    def _consumer(self, number: int, consumer: object) -> None:
        # Subclasses may do something else.
        if type(consumer) is Firing:
            self._firing(number, consumer)
        elif type(consumer) is ScanNode and not consumer.filters:
            self._take(number, self._node(consumer.target), consumer.program)
        elif type(consumer) in (Distinct, Sweep):
            self._take(number, self._node(consumer), self._as_they_are(consumer))
        else:
            raise _UnknownNodeError

    def _as_they_are(self, node: object) -> RowProgram:
        """The row program by which a node receives batches."""
        match node:
            case Distinct():
                return node.all_columns
            case Sweep():
                return node.without_time
            case _:
                raise _UnknownNodeError

    def _take(self, number: int, node: int, program: RowProgram) -> None:
        address, size = self._encoded(program.encoded)
        self.programs[number] = program
        self.ops[number][:4] = [0, node, address, size]

    def _encoded(self, encoded: Ints) -> tuple[int, int]:
        self.alive.append(encoded)
        return address_of(encoded), len(encoded)

    def _firing(self, number: int, firing: Firing) -> None:
        need, step = len(self.needs), len(self.steps)
        self.needs.extend(self.header(store) for store in firing.needs)
        for each in firing.steps:
            self.steps.append(self._step(each))
            self.python_steps.append(each)
        end = len(self.steps)
        if not isinstance(firing.head, Head):
            raise _UnknownNodeError
        take = len(self.ops)
        self.ops.append([0] * layout.OP_SIZE)
        self._take(take, self._node(firing.head.distinct), firing.program)
        head = self._heads[id(firing.head)]
        self.ops[number] = [
            *(1, take, 0, 0),
            *(need, len(self.needs), step, end, firing.sign, head),
        ]

    def _step(self, step: Step) -> list[int]:
        match step:
            case RowProgram():
                return [layout.SCANS, *self._encoded(step.encoded), 0]
            case JoinStep(index, lookup) | SubtractStep(index, lookup):
                return [layout.PROBES, *self._encoded(lookup), self.header(index.store)]
            case _:
                return [layout.PYTHON, 0, 0, 0]

    def _node(self, node: object) -> int:
        """The number of a node; its consumers are written when it is met first."""
        if id(node) in self._known:
            return self._known[id(node)]
        number = self._known[id(node)] = len(self.nodes)
        line = [0] * layout.NODE_SIZE
        self.nodes.append(line)
        line[layout.NODE_PAST] = NONE
        if type(node) is Distinct:
            if node.profile is not None:
                # The profile passes its changes on to the store, which is a node of its own.
                stored = len(self.nodes)
                self.nodes.append(list(line))
                self._store(self.nodes[stored], node)
                self._profile(line, node.profile)
                self._receives(stored, self.nodes[stored], all_columns(node.store.width))
                op = self.nodes[stored][layout.NODE_RECEIVES]
                line[layout.NODE_OP : layout.LISTENER_OP_END + 1] = [op, op + 1, op, op + 1]
            else:
                self._store(line, node)
            self._receives(number, line, node.all_columns)
        elif type(node) is Sweep:
            self._profile(line, node.profile)
            self._passes_to(line, node.target)
            self._receives(number, line, all_columns(node.profile.width))
        elif type(node) is Runs:
            line[layout.NODE_KIND] = layout.RUNS
            line[layout.NODE_HEADER] = self.header(node.store)
            line[layout.NODE_START], line[layout.NODE_PAST] = node.run
            line[layout.EMITS] = 1
            self._passes_to(line, node.target)
            self._receives(number, line, all_columns(node.store.width))
        elif type(node) is Fan:
            line[layout.NODE_KIND] = layout.FANNED
            self._passes_to(line, node)
        else:
            raise _UnknownNodeError
        return number

    def _receives(self, number: int, line: list[int], program: RowProgram) -> None:
        op = len(self.ops)
        self.ops.append([0] * layout.OP_SIZE)
        self._take(op, number, program)
        line[layout.NODE_RECEIVES] = op

    def _passes_to(self, line: list[int], target: object) -> None:
        span = self._consumers(target.consumers if type(target) is Fan else [target])
        line[layout.NODE_OP : layout.LISTENER_OP_END + 1] = [*span, *span]

    def _profile(self, line: list[int], profile: Profile) -> None:
        address = address_of(profile.header)
        self.profiles[address] = profile
        line[layout.NODE_KIND] = layout.COUNTED
        line[layout.NODE_HEADER], line[layout.NODE_WIDTH] = address, profile.width

    def _store(self, line: list[int], node: Distinct) -> None:
        line[layout.NODE_KIND] = layout.STORED
        line[layout.NODE_HEADER] = self.header(node.store)
        line[layout.EMITS] = bool(node.consumers)
        every = self._consumers(node.consumers)
        listeners = self._consumers(node.listeners)
        line[layout.NODE_OP : layout.LISTENER_OP_END + 1] = [*every, *listeners]
        for store, _ in node.store.followers:
            self.header(store)
        table = node.store.follower_table
        self.alive.append(table)
        line[layout.FOLLOWERS] = address_of(table) if len(table) else 0
        line[layout.FOLLOWERS_COUNT] = len(table)


class TickDriver:
    """Runs the kernel over the tables of a network, and helps where it asks for help."""

    def __init__(self, network: Network, tables: _Tables, constants: Constants) -> None:
        self.network = network
        self._clock = network.clock
        # Time points that were not counted yet.
        self._time_points = 0
        self._tables = tables
        self._run: Callable[[Ints, int, int], int] | None = None
        # The number of every input, for records of facts.
        self._numbers: dict[tuple[str, int], int] = {
            (name.predicate, name.arity): number for number, name in enumerate(tables.names)
        }
        self._constants = constants
        self.records = Records(self._numbers, constants)
        self._decoder = Decoder(tuple(network.outputs.stores), constants.values)
        self._state = np.zeros(layout.STATE_SIZE, np.int64)
        # The same memory, whose numbers are read in less time.
        self._words = self._state.data
        self._inputs = _table(tables.inputs, layout.INPUT_SIZE)
        # Every change on its way belongs to a node, with perhaps a second one that waits.
        depth = 4 * len(tables.nodes) + 16
        self._frames = np.zeros((depth, layout.FRAME_SIZE), np.int64)
        self._kept = [
            self._point(layout.OPS, _table(tables.ops, layout.OP_SIZE)),
            self._point(layout.NODES, _table(tables.nodes, layout.NODE_SIZE)),
            self._point(layout.STEPS_TABLE, _table(tables.steps, layout.STEP_SIZE)),
            self._point(layout.STORES, np.array([*tables.needs, 0], np.int64)),
            self._point(layout.INPUTS, self._inputs),
            self._point(layout.HEADS, np.zeros((len(network.stages) + 1, 2), np.int64)),
            self._point(layout.OUTPUTS, np.array([*tables.outputs, 0], np.int64)),
            self._point(layout.FRAMES, self._frames),
        ]
        state = self._state
        state[layout.FRAMES_ROOM] = depth
        state[layout.INPUTS_COUNT] = len(self._inputs)
        state[layout.HEADS_COUNT] = len(network.stages)
        state[layout.OUTPUTS_COUNT] = len(tables.outputs)
        self._chunks: list[Ints] = []
        self._base = self._size = 0
        # How much room the records of the time point take.
        self._given = 0
        # Is there memory that a time point needed and the next one does not?
        self._is_untidy = False
        self._memory(_MEMORY)
        self._begin_again()
        # Batches made by Python; the kernel has their addresses until the time point is over.
        self._lent: list[Ints] = []
        self._make_records(64)

    def _make_records(self, size: int) -> None:
        """Make room for the records of a time point."""
        self._kept_records = self._point(layout.RECORDS, np.zeros(size, np.int64))
        self._buffer = self._kept_records.data.cast("B")

    def _point(self, place: int, array: Ints) -> Ints:
        self._state[place] = array.ctypes.data
        return array

    def is_ready(self) -> bool:
        """Is the kernel compiled? If not, it will be after a while."""
        self._run = run_tick.if_ready(self._state, 0, 0)
        return self._run is not None

    def take(self, atoms: Sequence[Atom], check: Callable[[Iterable[Atom]], None]) -> None:
        """Let the kernel have facts of the next time point, once they are checked."""
        records = self.records.of(atoms, check)
        size = len(records)
        if size > len(self._buffer):
            self._make_records(size // 4)
        self._buffer[:size] = records
        self._given = size >> 3

    def take_back(self) -> None:
        """The next time point has none of the facts that were taken."""
        self._given = 0

    def give(self, signature: Signature, rows: Ints) -> None:
        """Let an input have rows of pinned atoms at the next time point."""
        number = self._numbers.get((signature.predicate, signature.arity))
        if number is None:
            return
        self._lent.append(rows)
        self._is_untidy = True
        line = self._inputs[number]
        line[layout.INPUT_ROWS], line[layout.INPUT_LINES] = rows.ctypes.data, len(rows)

    def run(self, t: int) -> TickChanges:
        """Work off a time point, with what was taken and given."""
        if self._run is None:
            raise ValueError("the kernel of a time point is not compiled")
        self._clock.floor = self._clock.last = t
        self._time_points += 1
        size, self._given = self._given, 0
        found = self._run(self._state, t, size)
        while found < 0:
            self._is_untidy = True
            self._help(found, t)
            found = self._run(self._state, t, size)
        flat = None
        if found:
            at = (self._words[layout.CHANGES] - self._base) >> 3
            flat = flat_copy(self._view[at : at + found])
            if self._decoder.values is not self._constants.values:
                self._decoder = Decoder(self._decoder.outputs, self._constants.values)
        if self._is_untidy:
            self._tidy()
        return TickChanges(t, flat, self._decoder)

    def _tidy(self) -> None:
        self._lent, self._is_untidy = [], False
        if len(self._chunks) > 1:
            self._chunks = self._chunks[-1:]
            self._begin_again()

    def count(self) -> None:
        """Add the work done to the counters of the network."""
        fired, joined = self._state[layout.FIRED : layout.JOINED + 1].tolist()
        self.network.tally.time_points += self._time_points
        self._time_points = 0
        self.network.tally.fired += fired
        self.network.tally.joined += joined
        self._state[layout.FIRED : layout.JOINED + 1] = 0

    def _memory(self, size: int) -> None:
        """Let the kernel write into new memory; what it wrote before stays where it is."""
        state = self._state
        chunk = np.empty(size, np.int64)
        begin = chunk.ctypes.data
        top = begin
        if state[layout.CHANGES]:
            # The changes of all outputs stand one after another.
            count = int(state[layout.TOP] - state[layout.CHANGES]) >> 3
            chunk[:count] = _at(int(state[layout.CHANGES]), (count,))
            state[layout.CHANGES], top = begin, begin + 8 * count
        state[layout.TOP], state[layout.LIMIT] = top, begin + chunk.nbytes
        self._chunks.append(chunk)
        self._view = chunk.data
        self._base, self._size = begin, size

    def _begin_again(self) -> None:
        """Let the next time point begin with the last and largest memory."""
        self._state[layout.BASE] = self._base

    def _help(self, status: int, t: int) -> None:
        """Do what the kernel asks for, which it then continues with."""
        state, tables = self._state, self._tables
        awaiting = int(state[layout.AWAITING])
        if status == NEEDS_MEMORY:
            done = int(state[layout.TOP] - state[layout.CHANGES]) >> 3
            written = done if state[layout.CHANGES] else 0
            self._memory(2 * (self._size + int(state[layout.NEEDED]) + written))
        elif status in (NEEDS_ROOM, NEEDS_ROOM_TO_REMOVE):
            tables.stores[awaiting].make_room(self._lines())
        elif status == NEEDS_WHEEL:
            tables.stores[awaiting].rebuild()
        elif status == NEEDS_COUNTS:
            tables.profiles[awaiting].reserve(self._lines(), t)
        elif status == NEEDS_STEP:
            self._run_step()
        elif status == NEEDS_FALLBACK:
            self._run_fallback()
        else:
            raise ValueError(f"the kernel asks for {status}")

    def _lines(self) -> int:
        """How many lines may be added to the store that has no room.

        Those of the batch, or of what follows from it; and room for some time points to come.
        """
        frame = self._frames[int(self._state[layout.DEPTH]) - 1]
        return max(int(frame[layout.FRAME_LINES]), int(self._state[layout.OUT_LINES]), _ROOM)

    def _run_step(self) -> None:
        """Run one step of a firing over its batch."""
        state = self._state
        number = int(state[layout.STEP])
        batch = _at(
            int(state[layout.BATCH]),
            (int(state[layout.BATCH_LINES]), int(state[layout.BATCH_WIDTH])),
        )
        rows = np.ascontiguousarray(self._tables.python_steps[number](batch))
        self._lent.append(rows)
        state[layout.BATCH] = rows.ctypes.data
        state[layout.BATCH_LINES], state[layout.BATCH_WIDTH] = rows.shape
        state[layout.STEP] = number + 1

    def _run_fallback(self) -> None:
        """Replace the batch of the change on top by the result of a row program."""
        frame = self._frames[int(self._state[layout.DEPTH]) - 1]
        program = self._tables.programs[~int(frame[layout.FRAME_OP_END])]
        shape = (int(frame[layout.FRAME_LINES]), int(frame[layout.FRAME_WIDTH]))
        rows = program.run_fallback(_at(int(frame[layout.FRAME_BATCH]), shape))
        rows = np.ascontiguousarray(rows)
        self._lent.append(rows)
        frame[layout.FRAME_BATCH] = rows.ctypes.data
        frame[layout.FRAME_LINES], frame[layout.FRAME_WIDTH] = rows.shape
        frame[layout.FRAME_OP_END] = frame[layout.FRAME_OP] + int(len(rows) > 0)


def tick_driver(network: Network, constants: Constants) -> TickDriver | None:
    """The driver of a network, if the kernel knows all of its nodes."""
    foreign = (
        network.windows,
        network.spreads,
        network.memories,
        network.pinned_background,
        network.imported,
        network.distinct_inputs,
    )
    if any(foreign) or network.single_steps or network.clock.hindsight:
        return None
    try:
        return TickDriver(network, _Tables(network), constants)
    except _UnknownNodeError:
        return None


def _table(lines: Sequence[Sequence[int]], width: int) -> Ints:
    return np.array(lines, np.int64).reshape(-1, width)


def _at(address: int, shape: tuple[int, ...]) -> Ints:
    """The integers that the kernel wrote to an address."""
    count = int(np.prod(shape))
    memory = memoryview((ctypes.c_int64 * count).from_address(address))
    found = np.frombuffer(memory, np.int64)
    return found.reshape(shape)

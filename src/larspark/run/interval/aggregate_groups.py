"""Aggregates: for every group of tuples a value that changes over evaluation time.

Tuples that are inserted and retracted change the values of groups at the time points at which they
begin and end to hold. What is emitted holds until it is retracted: nothing is known of what will
arrive.
"""

import struct
from collections.abc import Mapping

import numpy as np

from larspark.base.terms import Constant
from larspark.language.tree import AggregateFunction
from larspark.run.interval.firing import Pending
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.accumulate import add_tuples, advance_groups, rebuild_groups
from larspark.run.interval.kernels.addressing import address_of
from larspark.run.interval.kernels.coded_numbers import (
    FLOAT,
    INTEGER,
    ODD,
    TABLE_TAG,
    TAG,
    TAG_BITS,
)
from larspark.run.interval.kernels.compile import LARGE, compile_soon
from larspark.run.interval.kernels.event_wheel import (
    EVENT_COUNTERS,
    EVENT_TIME,
    EVENTS_USED,
    FREE_EVENT_COUNT,
    FREE_EVENTS,
    LEVELS,
    NOW,
    SLOTS,
)
from larspark.run.interval.kernels.exact_sum import LIMB_COUNT, LIMBS, SUM_SIZE
from larspark.run.interval.kernels.extremes import COUNTER_COUNT, FREE_NODES, NODE_SIZE
from larspark.run.interval.kernels.group_table import (
    AVERAGE,
    COUNT,
    FLOAT_SUM,
    FREE_GROUP_COUNT,
    FREE_GROUPS,
    FREE_SUM_COUNT,
    FREE_SUMS,
    FUNCTION,
    GROUP_HEADER_SIZE,
    GROUP_KEYS,
    GROUPS,
    GROUPS_USED,
    LARGEST,
    LEAST,
    RETRACTS,
    RUNS,
    SHORTAGE,
    START,
    SUM,
    SUMS_USED,
    WAITING,
    WITH_PRESENT,
)
from larspark.run.interval.kernels.group_values import LAST_TIME, NUMBER, WAKE_UP, WHAT
from larspark.run.interval.kernels.layout import KEYS, NONE, Ints
from larspark.run.interval.kernels.saved_groups import (
    EVENT_COLUMNS,
    MEMBER_COLUMNS,
    SAVED_GROUP,
    load_groups,
    take_members,
)
from larspark.run.interval.network_nodes import Node, State
from larspark.run.interval.row_programs import all_columns
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.store import grown

_SMALLEST = 16
_NUMBERS: dict[AggregateFunction, int] = {
    "count": COUNT,
    "sum": SUM,
    "avg": AVERAGE,
    "min": LEAST,
    "max": LARGEST,
}


class AggregateGroups:
    """Values of one aggregate, as rows of the group and the value; and the groups with a tuple."""

    _groups: Ints
    _events: Ints
    _nodes: Ints
    _sums: Ints

    def __init__(
        self,
        function: AggregateFunction,
        width: int,
        clock: Clock,
        constants: Constants,
        *,
        retracts: bool,
    ) -> None:
        # The number of group columns.
        self._width = width
        self._clock = clock
        self._constants = constants
        self._all_columns = all_columns(width + 1)
        # What rules derive, and tuples: they wait until the stage runs.
        self.pending: list[Pending] = []
        self.values: Node | None = None
        self.present: Node | None = None
        # What kernels receive; it keeps its address.
        self._header = np.zeros(GROUP_HEADER_SIZE, np.int64)
        self._header[[FUNCTION, RETRACTS, START]] = _NUMBERS[function], retracts, clock.start
        self.clear()

    def clear(self) -> None:
        function = self._header[FUNCTION]
        self._groups = np.empty((_SMALLEST, GROUP_KEYS + self._width), np.int64)
        self._heads = np.full(_SMALLEST, NONE, np.int32)
        # Without numbers, with them, and with the times at which they leave.
        knows_ends = function >= LEAST and not self._header[RETRACTS]
        columns = WHAT + 1 + int(function >= SUM) + int(knows_ends)
        self._events = np.empty((_SMALLEST, columns), np.int64)
        self._event_counts = np.zeros(EVENT_COUNTERS, np.int64)
        self._event_counts[FREE_EVENTS] = NONE
        self._wheels = np.full(LEVELS * SLOTS, NONE, np.int64)
        self._nodes = np.empty((_SMALLEST, NODE_SIZE), np.int64)
        self._node_counts = np.zeros(COUNTER_COUNT, np.int64)
        self._node_counts[FREE_NODES] = NONE
        self._sums = np.empty((1, SUM_SIZE), np.int64)
        header = self._header
        header[[GROUPS_USED, FREE_GROUP_COUNT, SUMS_USED, FREE_SUM_COUNT, RUNS, SHORTAGE]] = 0
        header[[FREE_GROUPS, FREE_SUMS]] = NONE
        self._write_addresses()

    def _write_addresses(self) -> None:
        """Write the addresses of the arrays into the header."""
        arrays = (
            self._groups,
            self._heads,
            self._events,
            self._event_counts,
            self._wheels,
            self._nodes,
            self._node_counts,
            self._sums,
        )
        places = [number for array in arrays for number in (address_of(array), *array.shape)]
        self._header[GROUPS:] = places
        if len(self._events) > LARGE:
            compile_soon()

    def receive(self, sign: int, batch: Ints) -> None:
        """Take tuples in, until the stage runs."""
        self.pending.append((sign, batch, self._all_columns))

    def run(self) -> None:
        """Bring all groups up to the clock."""
        self._header[WITH_PRESENT] = self.present is not None
        for sign, batch, program in self.pending:
            rows = batch if program is self._all_columns else program(batch)
            self._reserve(len(rows))
            table = self._numbers_of(rows)
            add_tuples.run(self._header, rows, table, sign, self._clock.floor)
        self.pending.clear()
        while True:
            self._advance()
            shortage = int(self._header[SHORTAGE])
            if not shortage:
                return
            if self._header[FUNCTION] >= LEAST:
                self._nodes = grown(self._nodes, shortage)
            else:
                self._sums = grown(self._sums, shortage)
            self._write_addresses()

    def _advance(self) -> None:
        values, present, odd, counts = advance_groups.run(self._header, self._clock.last)
        began, ended, begun_present, ended_present, odd_count, _ = counts.tolist()
        if odd_count:
            codes = np.array([self._code(*number) for number in odd[:odd_count].tolist()])
            column = values[:, -1]
            lines = np.concatenate([np.arange(began), np.arange(len(values) - ended, len(values))])
            lines = lines[column[lines] & TAG == ODD]
            column[lines] = codes[column[lines] >> TAG_BITS]
        for target, rows, begun_rows, ended_rows in (
            (self.values, values, began, ended),
            (self.present, present, begun_present, ended_present),
        ):
            if target is not None:
                if ended_rows:
                    target.receive(-1, rows[len(rows) - ended_rows :])
                if begun_rows:
                    target.receive(1, rows[:begun_rows])

    def _code(self, kind: int, bits: int) -> int:
        number: Constant = bits
        if kind == FLOAT:
            number = struct.unpack("<d", struct.pack("<q", bits))[0]
        return self._constants.code(number)

    def _numbers_of(self, batch: Ints) -> Ints:
        """The numbers among the values that are codes of places: code, kind, bits."""
        none = np.empty((0, 3), np.int64)
        if self._header[FUNCTION] < SUM:
            return none
        codes = batch[:, KEYS + self._width]
        codes = codes[codes & TAG == TABLE_TAG]
        if not len(codes):
            return none
        found: list[tuple[int, int, int]] = []
        for code in np.unique(codes).tolist():
            number = self._constants.decode(code)
            if isinstance(number, float):
                found.append((code, FLOAT, struct.unpack("<q", struct.pack("<d", number))[0]))
            elif isinstance(number, int):
                found.append((code, INTEGER, number))
        return np.array(found, np.int64).reshape(len(found), 3)

    def _reserve(self, more: int) -> None:
        """Make room for so many tuples."""
        header, counts = self._header, self._event_counts
        crowded = False
        room = len(self._groups) - int(header[GROUPS_USED]) + int(header[FREE_GROUP_COUNT])
        if more > room:
            self._groups = grown(self._groups, more - room)
            crowded = len(self._groups) > len(self._heads)
            if crowded:
                self._heads = np.empty(1 << (len(self._groups) - 1).bit_length(), np.int32)
        missing = 2 * more + int(counts[EVENTS_USED]) - int(counts[FREE_EVENT_COUNT])
        missing -= len(self._events)
        if missing > 0:
            self._events = grown(self._events, missing)
        if more > room or missing > 0:
            self._write_addresses()
        if crowded:
            rebuild_groups.run(header)

    def expire(self) -> None:
        """Nothing expires: tuples leave when they end."""

    def state(self) -> State:
        groups = self._groups[: self._header[GROUPS_USED]]
        groups = groups[groups[:, WAITING] != NONE]
        keys = groups[:, GROUP_KEYS:]
        summed = groups[:, FLOAT_SUM] != NONE
        limbs = self._sums[groups[summed, FLOAT_SUM], LIMBS:]
        return {
            "groups": np.column_stack([groups[:, list(SAVED_GROUP)], keys]),
            "sums": np.column_stack([limbs, keys[summed]]),
            "members": self._members(),
            "events": self._event_lines(),
            "now": self._event_counts[[NOW]],
        }

    def _members(self) -> Ints:
        """The numbers of all groups, taken from a copy."""
        kept = self._groups, self._nodes, self._node_counts
        self._groups, self._nodes, self._node_counts = (array.copy() for array in kept)
        self._write_addresses()
        members = take_members.run(self._header)
        self._groups, self._nodes, self._node_counts = kept
        self._write_addresses()
        return members

    def _event_lines(self) -> Ints:
        events = self._events[: self._event_counts[EVENTS_USED]]
        events = events[events[:, EVENT_TIME] != NONE]
        what = events[:, WHAT]
        events, what = events[what & 3 != WAKE_UP], what[what & 3 != WAKE_UP]
        zeros = np.zeros(len(events), np.int64)
        columns = [
            events[:, EVENT_TIME] + self._clock.start,
            what & 3,
            what >> 2 & 3,
            events[:, NUMBER] if events.shape[1] > NUMBER else zeros,
            events[:, LAST_TIME] if events.shape[1] > LAST_TIME else zeros,
        ]
        return np.column_stack([*columns, self._groups[what >> 4, GROUP_KEYS:]])

    def load(self, state: Mapping[str, Ints]) -> None:
        widths = {
            "groups": len(SAVED_GROUP),
            "sums": LIMB_COUNT,
            "members": MEMBER_COLUMNS,
            "events": EVENT_COLUMNS,
        }
        for name, width in widths.items():
            if state[name].ndim != 2 or state[name].shape[1] != width + self._width:
                raise ValueError("the groups of an aggregate have another width")
        self.clear()
        self._event_counts[NOW] = max(0, int(state["now"][0]))
        lines = [np.ascontiguousarray(state[name]) for name in widths]
        self._reserve(sum(map(len, lines)))
        self._sums = grown(self._sums, len(state["sums"]))
        self._nodes = grown(self._nodes, len(state["members"]))
        self._write_addresses()
        load_groups.run(self._header, *lines)

    def size(self) -> tuple[int, int]:
        header, counts = self._header, self._event_counts
        groups = header[GROUPS_USED] - header[FREE_GROUP_COUNT]
        events = counts[EVENTS_USED] - counts[FREE_EVENT_COUNT]
        arrays = (self._groups, self._heads, self._events, self._nodes, self._sums)
        return int(groups + events), sum(array.nbytes for array in arrays)

"""Groups of tuples emit what a simple twin emits: every function, retractions, saved states."""

import math
import os
from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from tests.run.interval.plain_groups import PlainGroups

from larspark.base.terms import Constant, constant
from larspark.language.tree import AggregateFunction
from larspark.run.interval.aggregate_groups import AggregateGroups
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import FOREVER, Ints
from larspark.run.interval.run_clock import Clock

FUNCTIONS: tuple[AggregateFunction, ...] = ("count", "sum", "avg", "min", "max")
NUMBERS: tuple[Constant, ...] = (
    *(0, 1, 2, -1, 7, 0.1, 0.2, 0.3, 1.5, -2.5, 1e-9, "x"),
    *(1e16, -1e16, 1e300, -1e300, 1e308, -1.7976931348623157e308, 5e-324, -5e-324, 2.3e-308),
    *(2**61, -(2**61), 2**62 + 1, 2**63 - 1, -(2**63), 2**53 + 1),
)


class Collector:
    """Collects the changes of a node."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, list[int]]] = []

    def receive(self, sign: int, batch: Ints) -> None:
        self.rows.extend((sign, row) for row in batch.tolist())

    def take(self) -> dict[tuple[int, ...], int]:
        """When what begins and ends: a row may also end by a retraction."""
        steps: Counter[tuple[int, ...]] = Counter()
        for sign, (low, high, *key) in self.rows:
            steps[low, *key] += sign
            steps[high + 1, *key] -= sign
        self.rows = []
        return {step: change for step, change in steps.items() if change}


class Pair:
    """The groups and their twin, with what both emit."""

    def __init__(self, function: AggregateFunction, *, retracts: bool, width: int = 1) -> None:
        self.clock = Clock(3, None, 3, 3, hindsight=False)
        self.constants = Constants()
        self._made = (function, width, self.clock, self.constants, retracts)
        self.groups = self.fresh()
        self.plain = PlainGroups(function, width, self.clock, self.constants)
        self.plain.values, self.plain.present = Collector(), Collector()

    def fresh(self) -> AggregateGroups:
        function, width, clock, constants, retracts = self._made
        groups = AggregateGroups(function, width, clock, constants, retracts=retracts)
        groups.values = Collector()  # type: ignore[assignment]
        if function in ("count", "sum"):
            groups.present = Collector()  # type: ignore[assignment]
        return groups

    def receive(self, sign: int, rows: list[list[int]]) -> None:
        for each in (self.groups, self.plain):
            each.receive(sign, np.array(rows, np.int64))

    def step(self, floor: int, last: int) -> None:
        self.clock.floor, self.clock.last = floor, last
        for each in (self.groups, self.plain):
            each.run()
        assert taken(self.groups.values) == taken(self.plain.values)
        if self.groups.present is not None:
            assert taken(self.groups.present) == taken(self.plain.present)

    def restore(self) -> None:
        state = self.groups.state()
        self.groups = self.fresh()
        self.groups.load(state)
        again = self.groups.state()
        for name, array in state.items():
            # Numbers that can never be the best may be dropped on the way.
            assert name == "members" or sorted(array.tolist()) == sorted(again[name].tolist())


def taken(collector: object) -> dict[tuple[int, ...], int]:
    assert isinstance(collector, Collector)
    return collector.take()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("retracts", [False, True])
def test_groups_emit_what_their_twin_emits(function: AggregateFunction, retracts: bool) -> None:
    for seed in range(12):
        random = Random(seed)
        pair = Pair(function, retracts=retracts)
        numbers = random.sample(NUMBERS, random.randint(1, 8))
        groups = [pair.constants.code(f"g{n}") for n in range(random.choice([1, 2, 5]))]
        span = random.choice([0, 3, 40, 3_000])
        # Tuples that are in the window, with the time up to which they are.
        inside: list[list[int]] = []
        floor = pair.clock.start
        for _ in range(25):
            last = floor + random.choice([0, 0, 0, 1, 7, 300, 70_000])
            new = []
            for _ in range(random.choice([0, 1, 3, 12])):
                low = random.randint(floor, last) + random.choice([0, 0, 0, 2])
                high = (
                    FOREVER if retracts and random.random() < 0.3 else low + random.randint(0, span)
                )
                code = pair.constants.code(random.choice(numbers))
                new.append([low, high, random.choice(groups), code])
            if retracts:
                gone = [row for row in inside if row[1] >= floor and random.random() < 0.3]
                inside = [row for row in inside if row not in gone]
                if gone:
                    pair.receive(-1, [[max(row[0], floor), *row[1:]] for row in gone])
                inside += new
            if new:
                pair.receive(1, new)
            pair.step(floor, last)
            if random.random() < 0.2:
                pair.restore()
            floor = last + 1
        pair.step(floor, floor + 10_000_000)
        if not retracts:
            assert pair.groups.size()[0] == 0


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize("disorder", [0.0, 0.1])
def test_the_best_of_a_queue(function: AggregateFunction, disorder: float) -> None:
    """Numbers leave in the order in which they came, and sometimes one out of order."""
    for seed in range(6):
        random = Random(seed)
        pair = Pair(function, retracts=True)
        numbers = random.sample(NUMBERS, random.randint(2, 12))
        size = random.choice([1, 2, 5, 30])
        windows: dict[int, list[int]] = {pair.constants.code(f"g{n}"): [] for n in range(3)}
        t = pair.clock.start
        for _ in range(40):
            begun, gone = [], []
            for group, window in windows.items():
                for _ in range(random.choice([0, 0, 1, 1, 4, size])):
                    code = pair.constants.code(random.choice(numbers))
                    window.append(code)
                    begun.append([t, FOREVER, group, code])
                while len(window) > size or (window and random.random() < 0.05):
                    place = random.randrange(len(window)) if random.random() < disorder else 0
                    gone.append([t, FOREVER, group, window.pop(place)])
            for sign, rows in ((-1, gone), (1, begun)):
                if rows:
                    pair.receive(sign, rows)
            pair.step(t, t)
            if random.random() < 0.1:
                pair.restore()
            t += random.choice([1, 1, 1, 200])
        assert pair.groups.size()[0] <= 3


@pytest.mark.usefixtures("way")
def test_changes_at_one_time_point_follow_each_other() -> None:
    pair = Pair("sum", retracts=True, width=0)
    one, two = pair.constants.code(1), pair.constants.code(0.5)
    for sign, row in ((1, [3, FOREVER, one]), (1, [3, 9, two]), (-1, [3, FOREVER, one])):
        pair.receive(sign, [row])
        pair.step(3, 3)
    pair.step(4, 20)


@pytest.mark.usefixtures("way")
def test_sums_are_exact_and_leave_no_trace() -> None:
    """A million changes by numbers of all magnitudes, and what is left is one number."""
    random = Random(7)
    pair = Pair("sum", retracts=True, width=0)
    numbers = [
        constant(math.ldexp(random.uniform(-1, 1), random.randint(-1074, 1023))) for _ in range(300)
    ]
    rows = [[3, FOREVER, pair.constants.code(number)] for number in numbers]
    pair.groups.receive(1, np.array(rows, np.int64))
    exact = sum(map(Fraction, numbers), Fraction(0))
    pair.clock.last = 3
    pair.groups.run()
    code = next(iter(taken(pair.groups.values)))[-1]
    assert pair.constants.decode(code) == constant(exact.numerator / exact.denominator)
    pair.clock.floor = pair.clock.last = 4
    pair.groups.receive(-1, np.array([[4, *row[1:]] for row in rows[1:]], np.int64))
    pair.groups.run()
    (code,) = [
        key[-1] for key, change in taken(pair.groups.values).items() if change > 0 and key[0] == 4
    ]
    assert pair.constants.decode(code) == numbers[0]


def test_memory_is_proportional_to_live_groups() -> None:
    """`LARSPARK_GROUPS` says how many groups live at the same time; each has a float sum."""
    count = int(os.environ.get("LARSPARK_GROUPS", "1000"))
    clock = Clock(0, None, 0, 0, hindsight=False)
    groups = AggregateGroups("avg", 1, clock, Constants(), retracts=False)
    sizes = []
    for t in range(6):
        clock.floor = clock.last = 10 * t
        keys = np.arange(count * t, count * (t + 1)) << 2
        halves = np.full(count, Constants().code(0.5))
        times = np.full(count, 10 * t)
        groups.receive(1, np.column_stack([times, times + 9, keys, halves]))
        groups.run()
        assert groups.size()[0] == 2 * count
        sizes.append(groups.size()[1])
    # When others come, those that leave are still there; from then on they change places.
    assert sizes[0] <= 1_500 * count + 10_000
    assert sizes[1] <= 3 * sizes[0]
    assert sizes[1:] == sizes[1:2] * 5
    clock.floor = clock.last = 70
    groups.run()
    assert groups.size()[0] == 0


@pytest.mark.parametrize("retracts", [False, True])
def test_groups_that_vanish_leave_nothing(retracts: bool) -> None:
    """In a stream with ever new groups, memory is proportional to the groups that are alive."""
    for function in FUNCTIONS:
        groups = AggregateGroups(
            function,
            1,
            clock := Clock(0, None, 0, 0, hindsight=False),
            Constants(),
            retracts=retracts,
        )
        largest = 0
        for t in range(400):
            clock.floor = clock.last = t
            keys = np.arange(50 * t, 50 * (t + 1)) << 2
            rows = np.column_stack([np.full(50, t), np.full(50, t + 3), keys, keys | 2 | 3 << 54])
            groups.receive(1, rows)
            groups.run()
            if t == 20:
                largest = groups.size()[1]
        assert groups.size()[0] <= 50 * 4 * 3
        assert groups.size()[1] <= 2 * largest


def test_a_saved_state_of_another_width_is_refused() -> None:
    clock = Clock(0, None, 0, 0, hindsight=False)
    state = AggregateGroups("sum", 1, clock, Constants(), retracts=True).state()
    with pytest.raises(ValueError, match="another width"):
        AggregateGroups("sum", 2, clock, Constants(), retracts=True).load(state)

"""Facts of several partitions, read in any order, come out in one order."""

from random import Random

import pytest

from larspark.base.atoms import fact
from larspark.feeds.partition_order import PartitionOrder
from larspark.feeds.reading import Options, Reading


def drawn(rng, lateness):
    """Arrivals of each partition; their times go back by the lateness at most."""
    parts = []
    for partition in range(rng.randrange(1, 4)):
        t, arrivals = 0, []
        for number in range(rng.randrange(1, 15)):
            t += rng.choice((0, 0, 1, 2))
            late = max(0, t - rng.randrange(lateness + 1))
            arrivals.append((late, (fact("p", partition, number),), number))
        parts.append([*arrivals, (1000, (), 99)])
    return parts


def read(parts, lateness, rng, pause=False):
    """The facts in the order in which they are released, the partitions read in any order."""
    awaited = frozenset(range(len(parts)))
    rest = [list(part) for part in parts]
    reading, found, times = Reading(), [], []
    order = PartitionOrder("s", Options(lateness=lateness), reading)
    while any(rest):
        partition = rng.choice([p for p in awaited if rest[p]])
        count = rng.randrange(1, 4)
        block, rest[partition] = rest[partition][:count], rest[partition][count:]
        order.begin(partition, awaited)
        assert order.take(iter(block)) is None
        for batch in order.release():
            found += [(row.t, row.atom) for row in batch.rows()]
            times.append(batch.last_t)
        if pause and rng.random() < 0.3:
            saved = order.checkpoint()
            order = PartitionOrder("s", Options(lateness=lateness), reading)
            order.resume(saved)
    for batch in order.release(everything=True):
        found += [(row.t, row.atom) for row in batch.rows()]
    assert times == sorted(times)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_order_depends_on_partitions_and_times_only(seed):
    rng = Random(seed)
    lateness = rng.choice((0, 0, 1, 3))
    parts = drawn(rng, lateness)
    rows = [
        (t, p, n, atom)
        for p, part in enumerate(parts)
        for n, (t, a, _) in enumerate(part)
        for atom in a
    ]
    expected = [(t, atom) for t, _, _, atom in sorted(rows, key=lambda row: row[:3])]
    for _ in range(5):
        assert read(parts, lateness, rng) == expected
        assert read(parts, lateness, rng, pause=True) == expected


def test_a_partition_that_is_not_awaited_may_come_back_late():
    order = PartitionOrder("s", Options(), reading := Reading())
    order.begin(0, frozenset((0, 1)))
    order.take(iter([(t, (fact("a", t),), t) for t in (1, 2, 5)]))
    assert list(order.release()) == []
    order.begin(0, frozenset((0,)))
    assert [[row.t for row in batch.rows()] for batch in order.release()][-1] == [1, 2]
    assert reading.last_t == 5
    order.begin(1, frozenset((0, 1)))
    refused = order.take(iter([(4, (fact("b"),), 7)]))
    assert refused is not None
    assert refused[0].render().startswith("s[1]:7:1: error L314: the time 4 comes after 5")
    assert order.take(iter([(5, (fact("b"),), 8)])) is None

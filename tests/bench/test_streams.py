"""Generated streams are the same every time, and what they claim to be."""

from collections.abc import Callable

import numpy as np
import pytest

from larspark.bench import generated_streams as streams
from larspark.bench.generated_streams import Facts

GENERATORS: dict[str, Callable[[], Facts]] = {
    "unique pairs": lambda: streams.unique_pairs(7, 5),
    "unique names": lambda: streams.unique_pairs(7, 5, text=True),
    "chain": lambda: streams.chain(7, 5),
    "chain of names": lambda: streams.chain(7, 5, text=True),
    "thirds": lambda: streams.thirds(30, 5),
    "readings": lambda: streams.readings(30, 5),
    "steady pairs": lambda: streams.steady_pairs({"p": None, "q": 3}, 4, 9),
    "linked": lambda: streams.linked(20, 3, 9, marks=5),
    "interrupted": lambda: streams.interrupted(20, 6, 12),
    "sensors": lambda: streams.sensors(streams.regular(3, 9), keys=4),
    "jobs": lambda: streams.jobs(41, 50),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_gives_the_same_facts_every_time(name: str) -> None:
    first, second = GENERATORS[name](), GENERATORS[name]()
    assert [s.signature for s in first.segments] == [s.signature for s in second.segments]
    assert all(
        a.table.equals(b.table) for a, b in zip(first.segments, second.segments, strict=True)
    )


@pytest.mark.parametrize("name", GENERATORS)
def test_batches_by_time_point_hold_the_whole_stream_in_order(name: str) -> None:
    facts = GENERATORS[name]()
    batches = facts.by_time_point()
    assert [batch.last_t for batch in batches] == list(range(facts.first, facts.last + 1))
    rows = [row for batch in batches for row in batch.rows()]
    assert rows == list(facts.whole().rows())
    assert [row.seq for row in rows] == list(range(len(facts)))
    assert [row.t for row in rows] == sorted(row.t for row in rows)


def test_a_predicate_with_a_period_misses_just_those_time_points() -> None:
    facts = streams.steady_pairs({"p": None, "q": 3}, 2, 7)
    p, q = (set(segment.table["t"].to_pylist()) for segment in facts.segments)
    assert p == set(range(1, 8))
    assert q == {1, 2, 4, 5, 7}


def test_an_interrupted_pair_is_missing_once_in_a_period() -> None:
    (segment,) = streams.interrupted(5, 4, 40).segments
    pairs = np.bincount(segment.table["0"].to_numpy())
    assert pairs.tolist() == [30] * 5


@pytest.mark.parametrize("window", [1, 20])
def test_linked_pairs_meet_about_two_others_whatever_the_window(window: int) -> None:
    (segment,) = streams.linked(20, window, 6 * (window + 1)).segments
    t, a, b = (segment.table[name].to_numpy() for name in ("t", "0", "1"))
    near = np.abs(t[:, None] - t[None, :]) <= window
    meetings = int(((b[:, None] == a[None, :]) & near).sum())
    assert 1.4 < meetings / len(t) < 2.6

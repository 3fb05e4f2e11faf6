"""Queries and encodings written by hand mean what the programs mean, by the definitions."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.bench import interval_workloads as laser
from larspark.bench.by_clingo import Clingo
from larspark.bench.by_duckdb import DuckDB
from larspark.bench.by_larspark import TickByTick, WholeTimeline
from larspark.bench.by_polars import Polars
from larspark.bench.generated_streams import Facts, stream
from larspark.bench.suite import AGGREGATES
from larspark.bench.workload import Answer, Contestant, Workload, at_times, checksum, of_atoms
from larspark.run.session import Session

NUMBERS = {
    f"{name} {function}": partial(make, function)
    for name, make in (("time", laser.time_window), ("tuples", laser.tuple_window))
    for function in AGGREGATES
}
WORKLOADS: dict[str, Callable[[int, int], Workload]] = {
    "diamond": laser.diamond,
    "box": laser.box,
    "join": laser.join,
    "cooling": laser.cooling,
}
WITHOUT_CLINGO: list[Callable[[Workload], Contestant]] = [
    TickByTick,
    WholeTimeline,
    Polars,
    DuckDB,
]
CONTESTANTS: list[Callable[[Workload], Contestant]] = [
    *WITHOUT_CLINGO,
    lambda workload: Clingo(workload, evaluations=workload.facts.last),
]


def by_definition(workload: Workload) -> Answer:
    session = Session(workload.checked(), engine="oracle")
    session.append(workload.facts.whole())
    return of_atoms(session.advance(workload.facts.last).intervals())


def agree(workload: Workload) -> None:
    expected = by_definition(workload)
    for make in CONTESTANTS if workload.measure is None else WITHOUT_CLINGO:
        contestant = make(workload)
        due = expected if contestant.times is None else at_times(expected, contestant.times)
        assert checksum(contestant.answer()) == checksum(due), contestant.name


@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("name", WORKLOADS)
def test_all_contestants_give_the_answer_of_the_definitions(name: str, window: int) -> None:
    agree(WORKLOADS[name](window, 6, measured=6))


@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_those_of_the_definitions(name: str, window: int) -> None:
    agree(NUMBERS[name](window, 6, measured=6))


def test_sessions_are_those_of_the_definitions() -> None:
    agree(laser.sessions(1, 3, measured=12))


@st.composite
def other_streams(draw: st.DrawFn, predicate: str, arity: int, largest: int) -> Facts:
    """Streams unlike the generated ones: atoms come again, time points stay empty."""
    last = draw(st.integers(1, 8))
    times = np.array(sorted(draw(st.lists(st.integers(1, last), min_size=1, max_size=10))))
    # The timeline begins with the first fact.
    times -= times[0] - 1
    values = st.lists(st.integers(0, largest), min_size=len(times), max_size=len(times))
    columns = [np.array(draw(values)) for _ in range(arity)]
    return stream({predicate: columns}, {predicate: times}, last)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 4), st.data())
@pytest.mark.parametrize("name", WORKLOADS)
def test_they_agree_on_streams_they_were_not_written_for(
    name: str, window: int, data: st.DataObject
) -> None:
    model = WORKLOADS[name](window, 3, measured=3)
    ((signature, _),) = model.facts.segments
    largest = 200 if name == "cooling" else 3
    facts = data.draw(other_streams(*signature, largest))
    agree(Workload(model.program, facts, window, 1, model.by_hand))


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 4), st.data())
@pytest.mark.parametrize("name", [*NUMBERS, "sessions"])
def test_numbers_agree_on_streams_they_were_not_written_for(
    name: str, window: int, data: st.DataObject
) -> None:
    model = NUMBERS.get(name, laser.sessions)(window, 3, measured=3)
    facts = data.draw(other_streams("load", 2, 3))
    agree(Workload(model.program, facts, window, 1, model.by_hand, measure=model.measure))

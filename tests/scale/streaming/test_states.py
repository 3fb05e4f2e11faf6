"""The state of a shard: checked before use, and bound to its program."""

from random import Random
from typing import Any

import pytest
from tests.scale.streaming.simulated import Simulated, live_for

from larspark.base.atoms import Element, fact
from larspark.base.problems import LarsparkError
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare
from larspark.scale.streaming.shard_state import read_state

OLD = "p(X) :- [1] some a(X)."
NEW = "p(X) :- [3] some a(X). q(X) :- a(X)."


def run_of(program: str, shards: int = 1, background: Any = (), **options: Any) -> Simulated:
    settings = Settings(options.get("start"))
    ready = prepare(program, background, "auto", settings, RequestedCuts())
    return Simulated(live_for(ready, shards, **options))


def feed(run: Simulated, *times: int) -> None:
    run.micro_batch([(0, Element(t, fact("a", "x"))) for t in times], Random(0))


def gone_on(before: Simulated, after: Simulated) -> Simulated:
    """Another run that goes on from the states of the one before."""
    after.states = dict(before.states)
    return after


def refusal(before: Simulated, after: Simulated) -> str:
    with pytest.raises(LarsparkError) as caught:
        feed(gone_on(before, after), 9)
    [problem] = caught.value.problems
    return f"{problem.code} {problem.message}"


@pytest.fixture
def before() -> Simulated:
    run = run_of(OLD)
    feed(run, 1, 4, 6)
    return run


def test_a_state_comes_back_as_it_was(before: Simulated) -> None:
    [state] = before.states.values()
    assert read_state(state).to_bytes() == state
    assert read_state(state).answered == 5


@pytest.mark.parametrize("place", [0, 30, 84, 200, -400, -1])
def test_a_state_with_one_wrong_byte_is_refused(before: Simulated, place: int) -> None:
    state = bytearray(before.states[0, 0])
    state[place] ^= 1
    before.states[0, 0] = bytes(state)
    before.restart()
    with pytest.raises(LarsparkError, match="error L492: the state of a shard"):
        feed(before, 9)


def test_another_program_is_refused_with_the_lines_that_differ(before: Simulated) -> None:
    assert refusal(before, run_of(NEW)) == (
        "L491 the checkpoint belongs to another program: gone: `p(X) :- [1] some a(X).`; "
        "new: `p(X) :- [3] some a(X).`, `q(X) :- a(X).`"
    )


def test_other_background_data_and_settings_are_another_program(before: Simulated) -> None:
    other = refusal(before, run_of(OLD, background=["k(1)"], start=3))
    assert other == (
        "L491 the checkpoint belongs to another program: the background data differs; "
        "start was None and is 3"
    )


def test_other_shards_and_sources_are_refused_even_to_restart(before: Simulated) -> None:
    other = run_of(NEW, shards=2, on_program_change="restart")
    assert refusal(before, other) == "L494 the checkpoint has 1 shards, not 2"
    other = run_of(OLD, sources=2, on_program_change="restart")
    assert refusal(before, other) == "L494 the checkpoint was made with 1 DataFrames, not 2"


def test_a_new_program_takes_over_where_the_old_one_stopped(before: Simulated) -> None:
    assert before.intervals == [("p(x)", 1, 2)]
    after = gone_on(before, run_of(NEW, on_program_change="restart"))
    feed(after, 7)
    feed(after, 20)
    # What the old program said up to 5 goes on; the fact at 6 was held back, and both count it.
    assert after.intervals == [("p(x)", 4, 10), ("q(x)", 6, 7)]


def test_a_later_start_leaves_a_gap(before: Simulated) -> None:
    after = gone_on(before, run_of(NEW, on_program_change="restart", start=8))
    feed(after, 7, 8)
    feed(after, 20)
    assert after.intervals == [("p(x)", 4, 5), ("p(x)", 8, 11), ("q(x)", 8, 8)]


def test_how_output_and_delay_go_may_change(before: Simulated) -> None:
    after = gone_on(before, run_of(OLD, form="changes", delay=4))
    feed(after, 20)
    assert after.changes == [(8, "del", "p(x)")]

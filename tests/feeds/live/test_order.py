"""Facts that the clock brings into order: none lost, none early, none out of place."""

from hypothesis import given
from hypothesis import strategies as st

from larspark.base.atoms import Atom
from larspark.base.problems import Problem
from larspark.feeds.live.wall_clock import Clock, ClockOrder
from larspark.feeds.reading import Options, Reading

# What the clock shows when something comes, and the times that the facts of it carry.
EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(-4, 4), max_size=4)), max_size=12
)


@given(EVENTS, st.integers(0, 3))
def test_every_fact_is_delivered_in_time_order_or_refused(events, lateness):
    reading = Reading()
    order = ClockOrder(Clock(1_000_000), Options(lateness=lateness), reading)
    now, number = 20, 0
    accepted, refused, delivered = [], [], []
    order.move(now)
    batches = [(now, list(order.release()))]
    for step, offsets in events:
        now += step
        order.move(now)
        for offset in offsets:
            atom = Atom("p", (number,))
            problem = order.take(iter([(now + offset, (atom,), number)]), "here")
            fair = -lateness <= offset <= max(1, lateness)
            assert (problem is None) is fair
            (accepted if fair else refused).append((now + offset, atom))
            number += 1
        batches.append((now, list(order.release())))
    batches.append((None, list(order.release(everything=True))))
    last = -1
    for now_then, released in batches:
        for batch in released:
            rows = list(batch.rows())
            # What was released is settled: nothing at or after it can come before it any more.
            if now_then is not None:
                assert batch.last_t == now_then - lateness
                assert all(row.t <= now_then - lateness for row in rows)
            assert all(row.t >= last for row in rows)
            last = batch.last_t
            delivered += rows
    assert [(row.t, row.atom) for row in delivered] == sorted(accepted, key=lambda pair: pair[0])
    assert [row.seq for row in delivered] == list(range(len(delivered)))
    assert reading.facts == len(accepted)


def test_what_is_late_or_ahead_is_told_with_the_unit_of_the_clock():
    order = ClockOrder(Clock(1_000_000), Options(), Reading())
    order.move(100)

    def told(t: int) -> str:
        refused = order.take(iter([(t, (Atom("p"),), 3)]), "tcp://here:1")
        assert refused is not None
        problem, _ = refused
        assert isinstance(problem, Problem)
        return problem.render()

    hint = "\n  hint: times count 1000000 microseconds each, since 1970"
    assert told(98) == (
        "tcp://here:1:3:1: error L314: the time 98 lies 2 time points before the clock, "
        "and the lateness allowed is 0" + hint
    )
    assert told(100_000) == (
        "tcp://here:1:3:1: error L322: the time 100000 lies 99900 time points ahead of the clock"
        + hint
    )

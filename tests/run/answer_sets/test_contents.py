"""What windows hold, kept up to date, against the same windows applied from scratch."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.answer_sets.random_programs import examples, seeded, stream

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Wildcard
from larspark.language.windows import (
    FilterWindow,
    GroupWindow,
    SessionWindow,
    TimeWindow,
    TupleWindow,
    Window,
)
from larspark.run.answer_sets.stream_views import (
    Arrival,
    Elements,
    View,
    apply,
)
from larspark.run.answer_sets.window_contents import ComputedContent, content

P, S = Signature("p", 1), Signature("s", 2)
PREDICATES = (P, Signature("q", 1), Signature("r", 0), S)


def windows(random: Random) -> tuple[Window, ...]:
    def one() -> Window:
        hop = random.randint(1, 3)
        return random.choice(
            (
                TimeWindow(random.randint(0, 4)),
                TimeWindow(random.randint(0, 4), random.randint(0, 2)),
                TimeWindow(hop + random.randint(0, 3), random.randint(0, 1), hop),
                TimeWindow(None),
                TupleWindow(random.randint(1, 3)),
                TupleWindow(random.randint(0, 2), random.randint(1, 2)),
                GroupWindow(TupleWindow(random.randint(1, 2)), ((P, (0,)), (S, (1,)))),
                SessionWindow(random.randint(0, 2), random.choice((None, 3))),
                GroupWindow(SessionWindow(1, None, True), ((P, (0,)), (S, (1,)))),
                FilterWindow((Atom("p", (Wildcard(),)), Atom("s", (0, Wildcard())))),
            )
        )

    return tuple(one() for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3))))


class Shown:
    """The elements that a content has let in and not yet out."""

    def __init__(self) -> None:
        self.inside: set[Arrival] = set()

    def enter(self, arrival: Arrival) -> None:
        assert arrival not in self.inside
        self.inside.add(arrival)

    def leave(self, arrival: Arrival) -> None:
        self.inside.remove(arrival)


@given(st.integers(0, 2**32))
@settings(max_examples=examples(500), deadline=None)
def test_a_content_shows_what_its_windows_leave(seed: int) -> None:
    random = seeded(seed)
    chain = windows(random)
    elements = Elements()
    hindsight = random.random() < 0.3
    arrivals = [
        arrival
        for t, atom in stream(random, most=15, last=10)
        if (arrival := elements.add(t, atom, counted=random.random() < 0.9)) is not None
    ]
    kept = elements if hindsight else Elements()
    inside = content(chain, kept)
    shown = Shown()
    for signature in PREDICATES:
        inside.listen(signature, shown)
    if hindsight:
        for arrival in arrivals:
            inside.add(arrival)
    for t in range(12):
        whole = View(0, 12 if hindsight else t)
        inside.begin(t, whole)
        for arrival in arrivals:
            if not hindsight and arrival.t == t:
                kept.add(t, arrival.atom, counted=arrival.number is not None)
                inside.add(arrival)
        if isinstance(inside, ComputedContent):
            inside.refresh()
        view = whole
        for window in chain:
            view = apply(window, view, t, kept)
        expected = {(a.t, a.atom) for a in kept if view.shows(a)}
        assert {(a.t, a.atom) for a in shown.inside} == expected
        assert (inside.view().start, inside.view().end) == (view.start, view.end) or view.is_empty

"""The part of the stream that is kept: input elements in arrival order, and remembered atoms."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from larspark.base.atoms import Atom, Element, Signature
from larspark.base.terms import Term
from larspark.language.windows import Window
from larspark.logic.values import matches
from larspark.logic.window_selection import Selection, select


class Arrival(NamedTuple):
    """An element of the stream; `number` counts input arrivals, None for a remembered atom."""

    t: int
    atom: Atom
    number: int | None


class Elements:
    """What the stream holds, in time order and, at one time point, in the order of arrival."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._arrivals: list[Arrival] = []
        self._at: dict[int, dict[Atom, Arrival]] = {}
        self._by_signature: dict[Signature, dict[int, list[Arrival]]] = {}
        # How many input elements there were, also those that are forgotten.
        self.arrived = 0

    def __len__(self) -> int:
        return len(self._arrivals)

    def __iter__(self) -> Iterator[Arrival]:
        return iter(self._arrivals)

    @property
    def last_time(self) -> int | None:
        return self._times[-1] if self._times else None

    def add(self, t: int, atom: Atom, *, counted: bool = True) -> Arrival | None:
        """Add an element; None when the stream holds it already.

        Input comes in time order; a remembered atom can come after later input.
        """
        if atom in self._at.get(t, ()):
            return None
        arrival = Arrival(t, atom, self.arrived if counted else None)
        self.arrived += counted
        self._index(arrival)
        place = bisect_right(self._times, t)
        self._times.insert(place, t)
        self._arrivals.insert(place, arrival)
        return arrival

    def extended(self, derived: Iterable[Element]) -> "Elements":
        """A copy that also holds derived elements, which no tuple window counts."""
        copy = Elements()
        copy.arrived = self.arrived
        copy._rebuild(list(self._arrivals))
        for t, atom in derived:
            copy.add(t, atom, counted=False)
        return copy

    def holds(self, t: int, atom: Atom) -> Arrival | None:
        """The arrival of an atom at t, if the stream holds it there."""
        return self._at.get(t, {}).get(atom)

    def at(self, t: int) -> list[Arrival]:
        return list(self._at.get(t, {}).values())

    def of(self, signature: Signature) -> dict[int, list[Arrival]]:
        """The arrivals of one predicate by time point."""
        return self._by_signature.get(signature, {})

    def during(self, start: int, end: int | None) -> list[Arrival]:
        """The arrivals at the time points from `start` to `end`."""
        low = bisect_left(self._times, start)
        high = len(self._times) if end is None else bisect_right(self._times, end)
        return self._arrivals[low:high]

    def forget_before(self, t: int, tuples: int = 0) -> None:
        """Drop what lies before t, except the last `tuples` input arrivals."""
        first = bisect_left(self._times, t)
        while first and tuples:
            first -= 1
            tuples -= self._arrivals[first].number is not None
        # Forgetting in large pieces keeps the cost per element constant.
        if 2 * first > len(self._times):
            self._rebuild(self._arrivals[first:])

    def keep(self, needed: Callable[[Arrival], bool]) -> None:
        """Drop everything else."""
        self._rebuild([arrival for arrival in self._arrivals if needed(arrival)])

    def _rebuild(self, arrivals: list[Arrival]) -> None:
        self._arrivals = arrivals
        self._times = [arrival.t for arrival in arrivals]
        self._at = {}
        self._by_signature = {}
        for arrival in arrivals:
            self._index(arrival)

    def _index(self, arrival: Arrival) -> None:
        self._at.setdefault(arrival.t, {})[arrival.atom] = arrival
        moments = self._by_signature.setdefault(arrival.atom.signature, {})
        moments.setdefault(arrival.t, []).append(arrival)


@dataclass(frozen=True, slots=True)
class View:
    """The timeline [start, end], open when `end` is None, and what is seen on it.

    `numbers` are the arrivals that tuple windows left; None when there was no such window.
    `filters` are the patterns of each filter window: an atom must match one of each.
    """

    start: int
    end: int | None
    numbers: frozenset[int] | None = None
    filters: tuple[tuple[Atom, ...], ...] = ()

    def has_time(self, t: int) -> bool:
        return t >= self.start and (self.end is None or t <= self.end)

    @property
    def is_empty(self) -> bool:
        return self.end is not None and self.end < self.start

    def shows(self, arrival: Arrival) -> bool:
        """Is the element of the stream seen?"""
        if self.numbers is not None and arrival.number not in self.numbers:
            return False
        return self.has_time(arrival.t) and self._passes(arrival.atom)

    def shows_derived(self, t: int, atom: Atom) -> bool:
        """Would the atom be seen if it were derived at t?"""
        return self.numbers is None and self.has_time(t) and self._passes(atom)

    def _passes(self, atom: Atom) -> bool:
        return all(any(matches(p, atom) for p in patterns) for patterns in self.filters)

    def during(self, start: int, end: int | None) -> "View":
        start = max(start, self.start)
        if end is None or (self.end is not None and self.end < end):
            end = self.end
        return replace(self, start=start, end=end)


def apply(window: Window, view: View, t: int, elements: Elements) -> View:
    """w(S, t); outside the timeline all windows but filters give the view itself."""
    if window.filters is not None:
        return replace(view, filters=(*view.filters, window.filters))
    if not view.has_time(t):
        return view
    if window.bounds is not None:
        start, end = window.bounds.at(t)
        return view.during(view.start if start is None else start, end)
    seen = Selection(view.start, view.end, _seen(view, elements))
    start, end, members = select(window, seen, t, _parts)
    return replace(view, start=start, end=end, numbers=_numbers(members))


def _parts(arrival: Arrival) -> tuple[Signature, Sequence[Term]]:
    return arrival.atom.signature, arrival.atom.args


def _seen(view: View, elements: Elements) -> list[Arrival]:
    """The input that a view shows, in arrival order."""
    return [
        arrival
        for arrival in elements.during(view.start, view.end)
        if arrival.number is not None and view.shows(arrival)
    ]


def _numbers(arrivals: Iterable[Arrival]) -> frozenset[int]:
    return frozenset(arrival.number for arrival in arrivals if arrival.number is not None)

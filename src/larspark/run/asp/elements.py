"""The part of the stream that is kept: input elements in arrival order, and remembered atoms."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from larspark.base.atoms import Atom, Signature


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
        """Take an element in; None when the stream holds it already.

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

"""What a chain of windows leaves of the stream: a timeline, and which elements are still seen.

Tuple windows choose among input alone, so what a view shows of the input is known before anything
is derived. Derived atoms are seen where the timeline and the filters allow, and never through a
tuple window.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Wildcard
from larspark.language.tree import FilterWindow, TimeWindow, TupleWindow
from larspark.run.asp.elements import Arrival, Elements

# The predicates of a partition, each with the positions of the keys.
Keys: TypeAlias = tuple[tuple[Signature, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class GroupWindow:
    """A tuple window on each group of elements: a predicate with the values at its keys."""

    past: int
    future: int
    keys: Keys


GroundWindow: TypeAlias = TimeWindow | TupleWindow | GroupWindow | FilterWindow


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
        return View(start, end, self.numbers, self.filters)


def matches(pattern: Atom, atom: Atom) -> bool:
    """Is the atom an instance of a pattern whose only open places are wildcards?

    >>> matches(Atom("p", ("a", Wildcard())), Atom("p", ("a", 3)))
    True
    """
    return (
        pattern.predicate == atom.predicate
        and len(pattern.args) == len(atom.args)
        and all(
            wanted == given or isinstance(wanted, Wildcard)
            for wanted, given in zip(pattern.args, atom.args, strict=True)
        )
    )


def apply(window: GroundWindow, view: View, t: int, elements: Elements) -> View:
    """w(S, t); outside the timeline all windows but filters give the view itself."""
    if isinstance(window, FilterWindow):
        return View(view.start, view.end, view.numbers, (*view.filters, window.patterns))
    if not view.has_time(t):
        return view
    match window:
        case TimeWindow(past, future, every):
            pivot = t // every * every
            start = view.start if past is None else pivot - past
            return view.during(start, pivot + future)
        case TupleWindow(past, future):
            return _last_and_next(view, t, _seen(view, elements), past, future)
        case GroupWindow():
            return _groups(window, view, t, elements)
        case _:
            assert_never(window)


def _seen(view: View, elements: Elements) -> list[Arrival]:
    """The input that a view shows, in arrival order."""
    return [
        arrival
        for arrival in elements.during(view.start, view.end)
        if arrival.number is not None and view.shows(arrival)
    ]


def _last_and_next(view: View, t: int, seen: Sequence[Arrival], past: int, future: int) -> View:
    """The window of the last `past` arrivals up to t and the next `future` ones."""
    before = [arrival for arrival in seen if arrival.t <= t]
    after = [arrival for arrival in seen if arrival.t > t][:future]
    last = before[-past:] if past else []
    # With too few tuples the window reaches to the end of the timeline on that side.
    start = view.start if len(last) < past else min(t, *(arrival.t for arrival in last), t)
    end = view.end if len(after) < future else max(t, *(arrival.t for arrival in after), t)
    return View(start, end, _numbers((*last, *after)), view.filters)


def _groups(window: GroupWindow, view: View, t: int, elements: Elements) -> View:
    places = dict(window.keys)
    groups: dict[tuple[object, ...], list[Arrival]] = {}
    for arrival in _seen(view, elements):
        positions = places.get(arrival.atom.signature)
        if positions is not None:
            key = (arrival.atom.signature, *(arrival.atom.args[place] for place in positions))
            groups.setdefault(key, []).append(arrival)
    parts = [
        _last_and_next(view, t, members, window.past, window.future) for members in groups.values()
    ]
    start = min([t, *(part.start for part in parts)])
    ends = [part.end for part in parts if part.end is not None]
    end = max([t, *ends]) if len(ends) == len(parts) else None
    numbers = frozenset[int]().union(*(part.numbers or () for part in parts))
    return View(start, end, numbers, view.filters)


def _numbers(arrivals: Iterable[Arrival]) -> frozenset[int]:
    return frozenset(arrival.number for arrival in arrivals if arrival.number is not None)

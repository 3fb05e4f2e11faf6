"""Streams as the definitions have them: a timeline T and the atoms v(t) at its time points.

All streams that one evaluation meets are substreams of a single one. Its elements are numbered
once in a `Universe`; a `Stream` is then a timeline together with a set of those numbers, kept as
the bits of an integer. Two substreams are equal when timeline and bits are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from larspark.base.atoms import Atom, Element, Signature


class Universe:
    """The elements a structure can hold: what arrived, in time and arrival order, then the rest.

    The rest is what tuple windows never see: remembered and derivable atoms. It may grow.
    """

    def __init__(self, arrived: Iterable[tuple[int, Atom]]) -> None:
        # Sorting is stable, so elements of one time point stay in the order of their arrival.
        distinct = sorted(dict.fromkeys(arrived), key=lambda element: element[0])
        self.elements: list[Element] = []
        self.numbers: dict[tuple[int, Atom], int] = {}
        self.by_signature: dict[Signature, dict[int, list[int]]] = {}
        self.last_time: int | None = None
        self._others_at: dict[int, int] = {}
        self._ranges: dict[tuple[int, int | None], int] = {}
        for t, atom in distinct:
            self._number(Element(t, atom))
        self._arrival_times = [t for t, _ in distinct]
        self.arrived = (1 << len(distinct)) - 1

    def add(self, t: int, atom: Atom) -> int:
        """The number of an element, a new one when it has none yet."""
        known = self.numbers.get((t, atom))
        if known is not None:
            return known
        number = self._number(Element(t, atom))
        self._others_at[t] = self._others_at.get(t, 0) | 1 << number
        self._ranges.clear()
        return number

    def _number(self, element: Element) -> int:
        number = len(self.elements)
        self.elements.append(element)
        self.numbers[element] = number
        moments = self.by_signature.setdefault(element.atom.signature, {})
        moments.setdefault(element.t, []).append(number)
        if self.last_time is None or element.t > self.last_time:
            self.last_time = element.t
        return number

    def during(self, start: int, end: int | None) -> int:
        """The elements of the time points from `start` to `end`, as bits."""
        known = self._ranges.get((start, end))
        if known is not None:
            return known
        below = (1 << bisect_left(self._arrival_times, start)) - 1
        if end is None:
            bits = self.arrived & ~below
        else:
            bits = (1 << bisect_right(self._arrival_times, end)) - 1 & ~below
        for t, others in self._others_at.items():
            if t >= start and (end is None or t <= end):
                bits |= others
        self._ranges[start, end] = bits
        return bits

    def whole(self, start: int, end: int | None) -> "Stream":
        """The stream with this timeline and all elements in it."""
        if end is not None and start > end:
            return Stream(self, *EMPTY, 0)
        return Stream(self, start, end, self.during(start, end))


# The one form of a timeline without time points.
EMPTY = (1, 0)


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream (T, v): T = [start, end], open to the right when `end` is None.

    >>> stream = Universe([(3, Atom("a")), (5, Atom("b"))]).whole(0, 9)
    >>> stream.during(4, 20).elements()
    (Element(t=5, atom=Atom(predicate='b', args=())),)
    >>> stream.during(4, 20).end
    9
    """

    universe: Universe = field(repr=False)
    start: int
    end: int | None
    bits: int

    @property
    def is_empty(self) -> bool:
        """Has the timeline no time point?"""
        return self.end is not None and self.start > self.end

    def has_time(self, t: int) -> bool:
        """Is t in the timeline?"""
        return t >= self.start and (self.end is None or t <= self.end)

    def elements(self) -> tuple[Element, ...]:
        """The elements by time point; at one time point what arrived comes first, in order."""
        found = [self.universe.elements[number] for number in numbers_of(self.bits)]
        return tuple(sorted(found, key=lambda element: element.t))

    def at(self, t: int) -> frozenset[Atom]:
        """v(t)."""
        return frozenset(element.atom for element in self.elements() if element.t == t)

    def during(self, start: int, end: int | None) -> "Stream":
        """The restriction to the time points of the timeline from `start` to `end`."""
        start = max(start, self.start)
        if end is None or (self.end is not None and self.end < end):
            end = self.end
        if end is not None and start > end:
            return Stream(self.universe, *EMPTY, 0)
        return Stream(self.universe, start, end, self.bits & self.universe.during(start, end))

    def only(self, keep: Callable[[Element], bool]) -> "Stream":
        """The elements for which `keep` is true, on the same timeline."""
        bits = 0
        for number in numbers_of(self.bits):
            if keep(self.universe.elements[number]):
                bits |= 1 << number
        return self.with_bits(bits)

    def with_bits(self, bits: int) -> "Stream":
        """The same timeline with only these of its elements."""
        return Stream(self.universe, self.start, self.end, self.bits & bits)

    def is_substream_of(self, other: "Stream") -> bool:
        """T ⊆ T' and v(t) ⊆ v'(t) for all t."""
        if self.universe is not other.universe or self.bits & ~other.bits:
            return False
        if self.is_empty:
            return True
        return other.has_time(self.start) and (
            other.end is None if self.end is None else other.has_time(self.end)
        )


def numbers_of(bits: int) -> Iterator[int]:
    """The numbers whose bits are set, ascending.

    >>> list(numbers_of(0b10110))
    [1, 2, 4]
    """
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest

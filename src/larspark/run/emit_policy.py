"""When answers are written: at time points, at changes, or when facts have come."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, assert_never

from larspark.base.atoms import Atom, atom_text
from larspark.base.facts import AnyBatch
from larspark.run.protocol import Change, Point

_WRITTEN = re.compile(r"\s*(?:([1-9][0-9]{0,17})\s*)?(time|change|signal)s?\s*")


class Occasion(StrEnum):
    TIME = "time"
    CHANGE = "change"
    SIGNAL = "signal"


class Every(NamedTuple):
    """Every so many time points, changes of the output, or facts (signals)."""

    number: int = 1
    occasion: Occasion = Occasion.TIME

    @classmethod
    def parse(cls, text: str) -> "Every | None":
        """What a text such as `change` or `10 signals` says; None when it says nothing.

        >>> Every.parse("10 signals")
        Every(number=10, occasion=<Occasion.SIGNAL: 'signal'>)
        """
        found = _WRITTEN.fullmatch(text)
        return None if found is None else cls(int(found[1] or 1), Occasion(found[2]))


class Occasions:
    """Chooses the points that are written.

    >>> points = [Point(t, frozenset({Atom("p")} if t % 4 > 1 else ())) for t in range(1, 9)]
    >>> [point.t for point in Occasions(Every(3)).chosen(points)]
    [3, 6]
    >>> [point.t for point in Occasions(Every(1, Occasion.CHANGE)).chosen(points)]
    [2, 4, 6, 8]
    """

    def __init__(self, every: Every) -> None:
        self._every = every
        # How many facts came for the time points that were not looked at yet.
        self._coming: Counter[int] = Counter()

    def hear(self, batch: AnyBatch) -> None:
        """Count the facts of a batch, before its time points are looked at."""
        if self._every.occasion is Occasion.SIGNAL:
            self._coming.update(row.t for row in batch.rows())

    def chosen(self, points: Iterable[Point]) -> Iterator[Point]:
        number, occasion = self._every
        done = 0
        for point, happened in self._counted(points, occasion):
            if happened // number > done // number:
                yield point
            done = happened

    def _counted(self, points: Iterable[Point], occasion: Occasion) -> Iterator[tuple[Point, int]]:
        """Each point with the number of occasions up to it."""
        match occasion:
            case Occasion.TIME:
                return _times(points)
            case Occasion.CHANGE:
                return _changes(points)
            case Occasion.SIGNAL:
                return self._signals(points)
            case _:
                assert_never(occasion)

    def _signals(self, points: Iterable[Point]) -> Iterator[tuple[Point, int]]:
        arrived = 0
        for point in points:
            arrived += self._coming.pop(point.t, 0)
            yield point, arrived if point.c is None else point.c


def _times(points: Iterable[Point]) -> Iterator[tuple[Point, int]]:
    first: int | None = None
    for point in points:
        first = point.t if first is None else first
        yield point, point.t - first + 1


def _changes(points: Iterable[Point]) -> Iterator[tuple[Point, int]]:
    count = 0
    before: frozenset[Atom] | None = frozenset()
    for point in points:
        count += point.atoms != before
        before = point.atoms
        yield point, count


def changes_between(points: Iterable[Point]) -> Iterator[Change]:
    """What changed from each point to the next, where something did."""
    before: frozenset[Atom] = frozenset()
    for point in points:
        now = point.atoms or frozenset()
        if now != before:
            yield Change(point.t, _sorted(now - before), _sorted(before - now))
        before = now


def _sorted(atoms: frozenset[Atom]) -> tuple[Atom, ...]:
    return tuple(sorted(atoms, key=atom_text))

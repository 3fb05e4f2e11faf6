"""When answers are written: at time points, at changes, or when facts have come."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Literal, NamedTuple

from larspark.base.atoms import Atom, atom_text
from larspark.base.facts import AnyBatch
from larspark.run.protocol import Change, Point

_WRITTEN = re.compile(
    r"\s*(?:([1-9][0-9]{0,17})\s*)?(?:(time)s?(?:\s+from\s+([0-9]{1,18}))?|(change|signal)s?)\s*"
)


class Occasion(StrEnum):
    TIME = "time"
    CHANGE = "change"
    SIGNAL = "signal"


class Every(NamedTuple):
    """Every so many time points, changes of the output, or facts (signals).

    Time points are counted from `start`: by default those that the number divides.
    """

    number: int = 1
    occasion: Occasion = Occasion.TIME
    start: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Every | None":
        """What a text such as `change` or `10 signals` says; None when it says nothing.

        >>> Every.parse("10 signals")
        Every(number=10, occasion=<Occasion.SIGNAL: 'signal'>, start=None)
        >>> Every.parse("3 time from 1")
        Every(number=3, occasion=<Occasion.TIME: 'time'>, start=1)
        """
        found = _WRITTEN.fullmatch(text)
        if found is None:
            return None
        start = None if found[3] is None else int(found[3])
        return cls(int(found[1] or 1), Occasion(found[2] or found[4]), start)


class Occasions:
    """Chooses the points that are written.

    >>> points = [Point(t, frozenset({Atom("p")} if t % 4 > 1 else ())) for t in range(1, 9)]
    >>> [point.t for point in Occasions(Every(3)).chosen(points)]
    [3, 6]
    >>> [point.t for point in Occasions(Every(3, start=2)).chosen(points)]
    [2, 5, 8]
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
        number, occasion, start = self._every
        if occasion is Occasion.TIME:
            yield from (p for p in points if _is_due(p.t, number, start))
            return
        done = 0
        for point, happened in self._counted(points, occasion):
            if happened // number > done // number:
                yield point
            done = happened

    def _counted(
        self, points: Iterable[Point], occasion: Literal[Occasion.CHANGE, Occasion.SIGNAL]
    ) -> Iterator[tuple[Point, int]]:
        """Each point with the number of occasions up to it."""
        return _changes(points) if occasion is Occasion.CHANGE else self._signals(points)

    def _signals(self, points: Iterable[Point]) -> Iterator[tuple[Point, int]]:
        arrived = 0
        for point in points:
            arrived += self._coming.pop(point.t, 0)
            yield point, arrived if point.c is None else point.c


def _is_due(t: int, number: int, start: int | None) -> bool:
    if start is None:
        return t % number == 0
    return t >= start and (t - start) % number == 0


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

"""When answers are written: at time points, at changes, or when facts have come."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from larspark.base.atoms import Atom, atom_text
from larspark.base.facts import AnyBatch
from larspark.run.protocol import Change, Point
from larspark.run.state import atom_fields, atom_of, time_of, whole_number

_WRITTEN = re.compile(
    r"\s*(?:([1-9][0-9]{0,17})\s*)?(?:(time)s?(?:\s+from\s+([0-9]{1,18}))?|(change|signal)s?)\s*"
)


class Unit(StrEnum):
    TIME = "time"
    CHANGE = "change"
    SIGNAL = "signal"


class Every(NamedTuple):
    """Every so many time points, changes of the output, or facts (signals).

    Time points are counted from `start`: by default those that the number divides.
    """

    number: int = 1
    unit: Unit = Unit.TIME
    start: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Every | None":
        """What a text such as `change` or `10 signals` says; None when it says nothing.

        >>> Every.parse("10 signals")
        Every(number=10, unit=<Unit.SIGNAL: 'signal'>, start=None)
        >>> Every.parse("3 time from 1")
        Every(number=3, unit=<Unit.TIME: 'time'>, start=1)
        """
        found = _WRITTEN.fullmatch(text)
        if found is None:
            return None
        start = None if found[3] is None else int(found[3])
        return cls(int(found[1] or 1), Unit(found[2] or found[4]), start)


class EmitPolicy:
    """Chooses the points that are written.

    >>> points = [Point(t, frozenset({Atom("p")} if t % 4 > 1 else ())) for t in range(1, 9)]
    >>> [point.t for point in EmitPolicy(Every(3)).chosen(points)]
    [3, 6]
    >>> [point.t for point in EmitPolicy(Every(3, start=2)).chosen(points)]
    [2, 5, 8]
    >>> [point.t for point in EmitPolicy(Every(1, Unit.CHANGE)).chosen(points)]
    [2, 4, 6, 8]
    """

    def __init__(self, every: Every) -> None:
        self._every = every
        # How many facts came for the time points that were not looked at yet.
        self._coming: Counter[int] = Counter()
        # How many facts and changes there were, now and at the last time point.
        self._arrived = 0
        self._changed = 0
        self._done = 0
        self._before: frozenset[Atom] | None = frozenset()
        self._written: frozenset[Atom] = frozenset()

    def hear(self, batch: AnyBatch) -> None:
        """Count the facts of a batch, before its time points are looked at."""
        if self._every.unit is Unit.SIGNAL:
            self._coming.update(row.t for row in batch.rows())

    def chosen(self, points: Iterable[Point]) -> Iterator[Point]:
        number, unit, start = self._every
        if unit is Unit.TIME:
            yield from (p for p in points if _is_due(p.t, number, start))
            return
        for point in points:
            happened = self._happened(point)
            before, self._done = self._done, happened
            if happened // number > before // number:
                yield point

    def changes(self, points: Iterable[Point]) -> Iterator[Change]:
        """What changed from each chosen point to the next, where something did."""
        for point in self.chosen(points):
            before, now = self._written, point.atoms or frozenset()
            self._written = now
            if now != before:
                yield Change(point.t, _sorted(now - before), _sorted(before - now))

    def _happened(self, point: Point) -> int:
        """The number of changes or of facts up to a point."""
        if self._every.unit is Unit.CHANGE:
            self._changed += point.atoms != self._before
            self._before = point.atoms
            return self._changed
        self._arrived += self._coming.pop(point.t, 0)
        return self._arrived if point.c is None else point.c

    def save(self) -> Any:
        """What was counted so far, as JSON values."""
        before = None if self._before is None else _fields(self._before)
        counted = [self._arrived, self._changed, self._done]
        return [*counted, sorted(self._coming.items()), before, _fields(self._written)]

    def restore(self, saved: Any) -> None:
        """Go on after the points before `save`."""
        *counted, coming, before, written = saved
        self._arrived, self._changed, self._done = (whole_number(n, 0, 2**62) for n in counted)
        self._coming = Counter({time_of(t): whole_number(n, 0, 2**62) for t, n in coming})
        self._before = None if before is None else frozenset(map(atom_of, before))
        self._written = frozenset(map(atom_of, written))


def _is_due(t: int, number: int, start: int | None) -> bool:
    if start is None:
        return t % number == 0
    return t >= start and (t - start) % number == 0


def _fields(atoms: frozenset[Atom]) -> list[Any]:
    return [atom_fields(atom) for atom in _sorted(atoms)]


def _sorted(atoms: frozenset[Atom]) -> tuple[Atom, ...]:
    return tuple(sorted(atoms, key=atom_text))

"""Answers of engines that work time point by time point, and the answers of a run in pieces.

What is carried from one piece to the next can be saved, so that a run can be resumed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from larspark.base.atoms import Atom, atom_text
from larspark.run.protocol import Answers, Change, Model, Point
from larspark.run.state import atom_fields, atom_of, time_of


class PointAnswers:
    """The output over [first, last], given point by point.

    Where a time point has several ticks, changes and intervals look at the last one.

    >>> p, q = Atom("p"), Atom("q")
    >>> answers = PointAnswers(1, 3, [Point(1, frozenset({p})), Point(2, frozenset({p, q})),
    ...                               Point(3, None)])
    >>> [(str(atom), start, end) for atom, start, end in answers.intervals()]
    [('p', 1, 2), ('q', 2, 2)]
    >>> [(t, len(added), len(removed)) for t, added, removed in answers.changes()]
    [(1, 1, 0), (2, 1, 0), (3, 0, 2)]
    """

    def __init__(self, first: int, last: int, points: Sequence[Point]) -> None:
        self.first = first
        self.last = last
        self._points = points

    def points(self) -> Iterator[Point]:
        return iter(self._points)

    def changes(self) -> Iterator[Change]:
        before: frozenset[Atom] = frozenset()
        for t, atoms in self._outputs():
            if atoms != before:
                yield Change(t, _in_text_order(atoms - before), _in_text_order(before - atoms))
            before = atoms

    def intervals(self) -> Sequence[tuple[Atom, int, int]]:
        begun: dict[Atom, int] = {}
        found: list[tuple[Atom, int, int]] = []
        for t, added, removed in self.changes():
            found += [(atom, begun.pop(atom), t - 1) for atom in removed]
            begun.update((atom, t) for atom in added)
        found += [(atom, start, self.last) for atom, start in begun.items()]
        return sorted(found, key=lambda interval: (interval[1], atom_text(interval[0])))

    def inconsistent(self) -> Iterable[int]:
        return dict.fromkeys(point.t for point in self._points if point.atoms is None)

    def table(self) -> pa.Table:
        rows = self.intervals()
        return pa.table(
            {
                "atom": pa.array([atom_text(atom) for atom, _, _ in rows], pa.string()),
                "from": pa.array([start for _, start, _ in rows], pa.int64()),
                "to": pa.array([end for _, _, end in rows], pa.int64()),
            }
        )

    def _outputs(self) -> Iterator[tuple[int, frozenset[Atom]]]:
        """The output of each time point; without an answer stream nothing holds."""
        final = {point.t: point.atoms or frozenset() for point in self._points}
        return iter(final.items())


def _in_text_order(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Atoms in the order of their texts."""
    return tuple(sorted(atoms, key=atom_text))


class ListedModels(ABC):
    """Looks at every answer stream."""

    @abstractmethod
    def models(self, at: int, limit: int | None = None) -> Iterator[Model]: ...

    def closest(self, at: int) -> Model | None:
        """The answer stream to follow, where there can be only one."""
        return next(self.models(at), None)

    def count(self, at: int) -> int:
        """How many answer streams there are at a time point."""
        return sum(1 for _ in self.models(at))

    def cautious(self, at: int) -> Model | None:
        """What every answer stream at a time point holds; None without one."""
        return _combined(self.models(at), lambda atoms: frozenset.intersection(*atoms))

    def brave(self, at: int) -> Model | None:
        """What at least one answer stream at a time point holds; None without one."""
        return _combined(self.models(at), lambda atoms: frozenset[Atom]().union(*atoms))


def _combined(
    models: Iterable[Model], combine: Callable[[list[frozenset[Atom]]], frozenset[Atom]]
) -> Model | None:
    streams = [model.stream for model in models]
    if not streams:
        return None
    times = sorted({t for stream in streams for t in stream})
    combined = {t: combine([stream.get(t, frozenset()) for stream in streams]) for t in times}
    return Model({t: atoms for t, atoms in combined.items() if atoms})


class JoinedChanges:
    """The changes of a run; each piece starts from nothing, so its first change is compared."""

    def __init__(self) -> None:
        self._holding: set[Atom] = set()

    def of(self, pieces: Iterable[Answers]) -> Iterator[Change]:
        for piece in pieces:
            carried = self._holding
            self._holding = holding = set[Atom]()
            first = True
            for t, added, removed in piece.changes():
                if first and t > piece.first and carried:
                    yield Change(piece.first, (), _in_text_order(carried))
                    carried = set()
                first = False
                now = set(added)
                gone = {*removed, *(carried - now)}
                new = now - carried
                holding |= now
                holding -= set(removed)
                carried = set()
                if new or gone:
                    yield Change(t, _in_text_order(new), _in_text_order(gone))
            if first and carried:
                yield Change(piece.first, (), _in_text_order(carried))

    def save(self) -> Any:
        """What holds after the pieces so far, as JSON values."""
        return list(map(atom_fields, self._holding))

    def restore(self, saved: Any) -> None:
        """Go on after the pieces before `save`."""
        self._holding = set(map(atom_of, saved))


class OpenIntervals:
    """The intervals that reach to the end of the last piece, each with its begin."""

    def __init__(self) -> None:
        self.begins: dict[Atom, int] = {}
        self.last = 0

    def join(self, piece: Answers) -> Iterator[tuple[Atom, int, int]]:
        """The maximal intervals that end before or within a piece, which follows the last one."""
        before, self.begins = self.begins, {}
        self.last = piece.last
        for atom, start, end in piece.intervals():
            begin = before.pop(atom, start) if start == piece.first else start
            if end == piece.last:
                self.begins[atom] = begin
            else:
                yield atom, begin, end
        # What was open and is not continued ended with the piece before.
        for atom, begin in before.items():
            yield atom, begin, piece.first - 1

    def close(self) -> Iterator[tuple[Atom, int, int]]:
        """The open intervals, as if they ended with the last piece."""
        return ((atom, begin, self.last) for atom, begin in self.begins.items())


class JoinedIntervals:
    """Maximal intervals over all pieces, sorted by start, then by the atom's text."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, str, Atom, int]] = []
        self._open = OpenIntervals()

    def of(self, pieces: Iterable[Answers]) -> Iterator[tuple[Atom, int, int]]:
        joined = self._open
        for piece in pieces:
            for interval in joined.join(piece):
                self._add(*interval)
            yield from self._ready(min(joined.begins.values(), default=piece.last + 1))
        for interval in joined.close():
            self._add(*interval)
        yield from self._ready(None)

    def _add(self, atom: Atom, begin: int, end: int) -> None:
        self._waiting.append((begin, atom_text(atom), atom, end))

    def _ready(self, horizon: int | None) -> Iterator[tuple[Atom, int, int]]:
        """Remove the intervals that begin before a time point, or all, in their order."""
        waiting = self._waiting
        waiting.sort(key=lambda row: row[:2])
        count = len(waiting)
        if horizon is not None:
            count = next((i for i, row in enumerate(waiting) if row[0] >= horizon), count)
        ready = waiting[:count]
        del waiting[:count]
        yield from ((atom, begin, end) for begin, _, atom, end in ready)

    def save(self) -> Any:
        """The intervals that wait or are open, as JSON values."""
        waiting = [[begin, end, *atom_fields(atom)] for begin, _, atom, end in self._waiting]
        return [waiting, [[begin, *atom_fields(atom)] for atom, begin in self._open.begins.items()]]

    def restore(self, saved: Any) -> None:
        """Go on after the pieces before `save`."""
        waiting, still_open = saved
        self._waiting, self._open = [], OpenIntervals()
        for begin, end, *fields in waiting:
            self._add(atom_of(fields), time_of(begin), time_of(end))
        for begin, *fields in still_open:
            self._open.begins[atom_of(fields)] = time_of(begin)

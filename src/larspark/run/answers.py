"""Answers of engines that work time point by time point."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from larspark.base.atoms import Atom, atom_text
from larspark.run.protocol import Change, Model, Point


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
                yield Change(t, _sorted(atoms - before), _sorted(before - atoms))
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


def _sorted(atoms: frozenset[Atom]) -> tuple[Atom, ...]:
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

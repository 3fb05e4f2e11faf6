"""The pieces of the answers of a run, put together as changes and as intervals.

What is carried from one piece to the next can be saved, so that a run can go on later.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from larspark.base.atoms import Atom, atom_text
from larspark.run.protocol import Answers, Change
from larspark.run.state import atom_fields, atom_of, time_of


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
                    yield Change(piece.first, (), _sorted(carried))
                    carried = set()
                first = False
                now = set(added)
                gone = {*removed, *(carried - now)}
                new = now - carried
                holding |= now
                holding -= set(removed)
                carried = set()
                if new or gone:
                    yield Change(t, _sorted(new), _sorted(gone))
            if first and carried:
                yield Change(piece.first, (), _sorted(carried))

    def save(self) -> Any:
        """What holds after the pieces so far, as JSON values."""
        return [atom_fields(atom) for atom in _sorted(self._holding)]

    def restore(self, saved: Any) -> None:
        """Go on after the pieces before `save`."""
        self._holding = set(map(atom_of, saved))


class JoinedIntervals:
    """Maximal intervals over all pieces, sorted by start, then by the atom's text."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, str, Atom, int]] = []
        self._open: dict[Atom, int] = {}

    def of(self, pieces: Iterable[Answers]) -> Iterator[tuple[Atom, int, int]]:
        last = 0
        for piece in pieces:
            reopened: dict[Atom, int] = {}
            for atom, start, end in piece.intervals():
                begin = self._open.pop(atom, start) if start == piece.first else start
                if end == piece.last:
                    reopened[atom] = begin
                else:
                    self._add(begin, atom, end)
            # What was open and is not continued ended with the piece before.
            for atom, start in self._open.items():
                self._add(start, atom, piece.first - 1)
            self._open = reopened
            last = piece.last
            yield from self._ready(min(reopened.values(), default=last + 1))
        for atom, begin in self._open.items():
            self._add(begin, atom, last)
        yield from self._ready(None)

    def _add(self, begin: int, atom: Atom, end: int) -> None:
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
        return [waiting, [[begin, *atom_fields(atom)] for atom, begin in self._open.items()]]

    def restore(self, saved: Any) -> None:
        """Go on after the pieces before `save`."""
        waiting, still_open = saved
        self._waiting, self._open = [], {}
        for begin, end, *fields in waiting:
            self._add(time_of(begin), atom_of(fields), time_of(end))
        for begin, *fields in still_open:
            self._open[atom_of(fields)] = time_of(begin)


def _sorted(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    return tuple(sorted(atoms, key=atom_text))

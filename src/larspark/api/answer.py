"""Answers of a reasoner: what changed at a time point, and what holds there.

Most of it is made only when it is read. What changed costs what changed; what holds is kept in one
set, which changes bring from one time point to the next.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any
from weakref import ref

import numpy as np
import pyarrow as pa

from larspark.base.atoms import Atom, atom_text
from larspark.feeds.time_format import TimeValue
from larspark.run.protocol import Changed
from larspark.show.notebook import answer_html

# Answers still in use after so many others, or so much change, are cut off from later ones, but
# never the last few: a loop holds one of them.
_KEPT_TOGETHER = 256
_CHANGED_TOGETHER = 1 << 13
_RECENT = 8
# More changes than this, and many more than there are atoms, are not worth being applied.
_MANY = 10_000


class Difference:
    """What changed between two sets of atoms."""

    __slots__ = ("added", "removed")

    added: AbstractSet[Atom]
    removed: AbstractSet[Atom]

    def __init__(self, before: AbstractSet[Atom], now: AbstractSet[Atom]) -> None:
        self.added = now - before
        self.removed = before - now

    @property
    def size(self) -> int:
        """How much changed."""
        return len(self.added) + len(self.removed)

    def texts(self) -> tuple[pa.Array, int]:
        """The texts of what begins to hold, whose number is returned, and of what ends after it."""
        texts = [*map(atom_text, self.added), *map(atom_text, self.removed)]
        return pa.array(texts, pa.string()), len(self.added)


class _Both(Difference):
    """A change that follows another one, as one."""

    __slots__ = ()

    def __init__(self, first: Changed, then: Changed) -> None:
        begun, ended = set(first.added), set(first.removed)
        self.added = begun.difference(then.removed).union(set(then.added) - ended)
        self.removed = ended.difference(then.added).union(set(then.removed) - begun)


class _AtomSet(AbstractSet[Atom]):
    """A set of atoms whose operators give frozen sets."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __repr__(self) -> str:
        return f"{{{', '.join(sorted(map(atom_text, self)))}}}"

    @classmethod
    def _from_iterable(cls, atoms: Iterable[Any]) -> Any:
        return frozenset(atoms)


class ChangedAtoms(_AtomSet):
    """Atoms that began or ceased to hold; hashed only when one is looked up."""

    __slots__ = ("_atoms",)

    def __init__(self, atoms: Collection[Atom]) -> None:
        self._atoms = atoms

    def __contains__(self, atom: object) -> bool:
        if not isinstance(self._atoms, frozenset):
            self._atoms = frozenset(self._atoms)
        return atom in self._atoms

    def __iter__(self) -> Iterator[Atom]:
        return iter(self._atoms)

    def __len__(self) -> int:
        return len(self._atoms)


_NOTHING = ChangedAtoms(())


class HoldingAtoms(_AtomSet):
    """The atoms that hold at the time point of an answer."""

    __slots__ = ("_answer",)

    def __init__(self, answer: "Answer") -> None:
        self._answer = answer

    def __contains__(self, atom: object) -> bool:
        return atom in self._answer.known_atoms()

    def __iter__(self) -> Iterator[Atom]:
        return iter(self._answer.known_atoms())

    def __len__(self) -> int:
        return len(self._answer.known_atoms())


class Output:
    """The atoms that hold at the last answer, kept up to date as far as somebody reads them.

    `holding` gives them anew: those at the time point up to which the engine has answered.
    """

    def __init__(self, holding: Callable[[], AbstractSet[Atom]]) -> None:
        self._holding = holding
        # None: nobody knows them, for nobody has read them for long.
        self._atoms: set[Atom] | None = None
        self._changes: list[Changed] = []
        self._size = 0
        self._last: Answer | None = None
        # Answers lead to later ones: as far as this one, if it is in use. How many came after it,
        # and how much changed.
        self._joint: ref[Answer] | None = None
        self._count = self._changed = 0
        # What other rules changed since the last answer.
        self._rules: Difference | None = None

    def prepare(self) -> None:
        """Read the atoms before the engine answers several time points at once."""
        self._current()

    def next(self, changed: Changed, t: TimeValue, *, several: bool) -> "Answer":
        """The answer after the last one; with `several` the engine has already advanced further."""
        if self._rules is not None:
            changed = _Both(self._rules, changed)
            self._rules = None
        answer = Answer(t, changed, None, self)
        if self._last is not None:
            self._last._following = answer
        self._last = answer
        self._count += 1
        size = changed.size
        if size:
            self._changed += size
            if self._atoms is not None:
                self._changes.append(changed)
                self._size += size
                if not several and self._size > _MANY + 8 * len(self._atoms):
                    self._atoms, self._changes, self._size = None, [], 0
        if self._count >= _KEPT_TOGETHER or self._changed > _CHANGED_TOGETHER:
            self._separate(answer)
        return answer

    def replaced(self, before: AbstractSet[Atom]) -> None:
        """The rules were replaced after the last answer, with which the next one is compared."""
        self._atoms, self._changes, self._size = set(before), [], 0
        self._rules = Difference(before, self._holding())

    def atoms_at(self, answer: "Answer") -> AbstractSet[Atom]:
        """The atoms of an answer; those of the last one change with the next answer."""
        if answer is self._last:
            return self._current()
        later: list[Changed] = []
        while answer._following is not None:
            answer = answer._following
            later.append(answer._changed)
        atoms = set(answer.known_atoms())
        for changed in reversed(later):
            atoms.difference_update(changed.added)
            atoms.update(changed.removed)
        return frozenset(atoms)

    def _separate(self, last: "Answer") -> None:
        """Let old answers in use lead to one that has atoms of its own, and not further."""
        if self._count < _RECENT:
            return
        joint = None if self._joint is None else self._joint()
        if joint is not None:
            joint.known_atoms()
        self._joint, self._count, self._changed = ref(last), 0, 0

    def _current(self) -> set[Atom]:
        if self._atoms is None:
            self._atoms = set(self._holding())
        for changed in self._changes:
            self._atoms.difference_update(changed.removed)
            self._atoms.update(changed.added)
        self._changes, self._size = [], 0
        return self._atoms


class Answer:
    """The output at a time point.

    `t` is a timestamp where time points were given as timestamps.
    """

    __slots__ = ("__weakref__", "_atoms", "_changed", "_following", "_output", "t")

    def __init__(
        self,
        t: TimeValue,
        changed: Changed,
        atoms: AbstractSet[Atom] | None = None,
        output: Output | None = None,
    ) -> None:
        self.t = t
        self._changed = changed
        # Without an output these are all there are.
        self._atoms = atoms
        self._output = output
        # The answer after this one, as long as its atoms follow from those of later ones.
        self._following: Answer | None = None

    @property
    def added(self) -> AbstractSet[Atom]:
        """The atoms that hold now and did not at the previous answer."""
        added = self._changed.added
        return ChangedAtoms(added) if added else _NOTHING

    @property
    def removed(self) -> AbstractSet[Atom]:
        """The atoms that held at the previous answer and do not now."""
        removed = self._changed.removed
        return ChangedAtoms(removed) if removed else _NOTHING

    @property
    def atoms(self) -> AbstractSet[Atom] | None:
        """The atoms that hold; None when there is no answer stream."""
        return self._atoms if self._output is None else HoldingAtoms(self)

    def known_atoms(self) -> AbstractSet[Atom]:
        """The atoms that hold, as a set that may change when the reasoner advances."""
        if self._output is not None:
            found = self._output.atoms_at(self)
            if isinstance(found, frozenset):
                self._atoms, self._output, self._following = found, None, None
            return found
        return self._atoms or frozenset()

    def table(self) -> pa.Table:
        """What changed, as a table: the time point, the atom as text, and if it was added."""
        texts, begun = self._changed.texts()
        return pa.table(
            {
                "t": pa.repeat(self.t, len(texts)),
                "atom": texts,
                "added": pa.array(np.arange(len(texts)) < begun),
            }
        )

    def __repr__(self) -> str:
        return f"<answer at {self.t}: {len(self.added)} added, {len(self.removed)} removed>"

    def _repr_html_(self) -> str:
        return answer_html(self.t, self.atoms, self.added, self.removed)


class Unread(Iterator[Answer]):
    """Answers that are made when they are read, or when the reasoner advances."""

    def __init__(self, answers: Iterator[Answer]) -> None:
        self._answers = answers
        self._kept: deque[Answer] = deque()

    def __next__(self) -> Answer:
        return self._kept.popleft() if self._kept else next(self._answers)

    def keep(self) -> None:
        """Make the answers that were not read yet."""
        self._kept.extend(self._answers)

"""Changes of the outputs at one time point, decoded when they are read."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.terms import Constant
from larspark.run.interval.columns_of_codes import atoms_of, texts_of
from larspark.run.interval.interning import decode
from larspark.run.interval.kernels.layout import FROM, KEYS, TO, Ints

# Numbers of changes, one after another.
Flat: TypeAlias = list[int] | Ints

# Fewer integers than this, in keys, are decoded row by row, more of them column by column.
_MANY = 128
# So many atoms of an output are remembered.
_REMEMBERED = 1 << 12


class Decoder:
    """What the numbers in changes stand for: outputs, and constants by place.

    Atoms that are decoded one by one are remembered, as they usually come again.
    """

    __slots__ = ("_arities", "_known", "outputs", "values")

    def __init__(self, outputs: Sequence[Signature], values: Sequence[Constant]) -> None:
        self.outputs = outputs
        self.values = values
        self._arities = [signature.arity for signature in outputs]
        self._known: list[dict[tuple[int, ...], Atom]] = [{} for _ in outputs]

    def decode(self, flat: Sequence[int]) -> tuple[list[Atom], list[Atom]]:
        """The atoms that begin to hold, and those that cease to, row by row."""
        added: list[Atom] = []
        removed: list[Atom] = []
        at, size = 0, len(flat)
        while at < size:
            number, began = flat[at], flat[at + 1]
            arity, known = self._arities[number], self._known[number]
            width = KEYS + arity
            first = at + 3
            at += 3 + (began + flat[at + 2]) * width
            add = added.append
            for place in range(first, at, width):
                if not began:
                    add = removed.append
                began -= 1
                codes = tuple(flat[place + KEYS : place + width])
                add(known.get(codes) or self._remember(number, codes))
        return added, removed

    def _remember(self, number: int, codes: tuple[int, ...]) -> Atom:
        known, values = self._known[number], self.values
        if len(known) >= _REMEMBERED:
            known.clear()
        atom = known[codes] = Atom(
            self.outputs[number].predicate, tuple([decode(code, values) for code in codes])
        )
        return atom


class TickChanges:
    """The atoms that begin to hold at a time point, and those that cease to.

    `flat` has for every output with changes its number, how many rows began and how many ended, and
    these rows: as a list if it is short. `size` is about how much changed: an upper bound of the
    number of atoms.
    """

    __slots__ = ("_added", "_decoder", "_removed", "flat", "size", "t")

    def __init__(self, t: int, flat: Flat | None, decoder: Decoder) -> None:
        self.t = t
        self.flat = flat
        self._decoder = decoder
        self._added: Sequence[Atom] | None = None
        if flat is None:
            self.size = 0
            self._added = self._removed = _NO_ATOMS
        else:
            self.size = len(flat)

    @property
    def added(self) -> Sequence[Atom]:
        """The atoms that begin to hold."""
        return self._decode() if self._added is None else self._added

    @property
    def removed(self) -> Sequence[Atom]:
        """The atoms that held at the time point before and do not any more."""
        if self._added is None:
            self._decode()
        return self._removed

    def texts(self) -> tuple[pa.Array, int]:
        """The texts of what begins to hold, whose number is returned, and of what ends after it."""
        if not isinstance(self.flat, np.ndarray):
            added = self.added
            texts = [*map(atom_text, added), *map(atom_text, self._removed)]
            return pa.array(texts, pa.string()), len(added)
        begun: list[pa.Array] = []
        ended: list[pa.Array] = []
        for signature, count, rows in self._blocks():
            found = texts_of(signature, rows[:, TO + 1 :], self._decoder.values)
            begun.append(found.slice(0, count))
            ended.append(found.slice(count))
        return pa.concat_arrays([*begun, *ended]), sum(map(len, begun))

    def blocks(self) -> list[tuple[Signature, Ints, Ints]]:
        """For every output the rows that began, and those that ended."""
        return [(name, rows[:began], rows[began:]) for name, began, rows in self._blocks()]

    def _blocks(self) -> Iterator[tuple[Signature, int, Ints]]:
        """For every output how many rows began, and these rows before those that ended."""
        at, flat = 0, np.asarray(() if self.flat is None else self.flat, np.int64)
        while at < len(flat):
            number, began, ended = flat[at : at + 3].tolist()
            signature = self._decoder.outputs[number]
            width = KEYS + signature.arity
            rows = flat[at + 3 : at + 3 + (began + ended) * width].reshape(-1, width)
            yield signature, began, rows
            at += 3 + rows.size

    def _decode(self) -> Sequence[Atom]:
        """Decode all rows: few one by one, many column by column."""
        if isinstance(self.flat, list):
            added, self._removed = self._decoder.decode(self.flat)
        else:
            values = self._decoder.values
            added, removed = list[Atom](), list[Atom]()
            for signature, began, ended in self.blocks():
                added += atoms_of(signature, began[:, TO + 1 :], values)
                removed += atoms_of(signature, ended[:, TO + 1 :], values)
            self._removed = removed
        self._added = added
        return added


_NO_ATOMS: Sequence[Atom] = ()


def flat_copy(numbers: memoryview | Ints) -> Flat:
    """Changes as `TickChanges` has them: as a list if they are few."""
    return numbers.tolist() if len(numbers) <= _MANY * KEYS else np.array(numbers)


def flat_changes(
    first: int, last: int, outputs: Sequence[tuple[Signature, Ints, Ints]]
) -> list[Flat | None]:
    """For every time point of [first, last] what begins and ends at it, as `TickChanges` reads it.

    Given are for every output the rows that began, and those that ended before `last`.
    """
    parts: list[list[Ints]] = [[] for _ in range(last - first + 1)]
    for number, (_, began, ended) in enumerate(outputs):
        begins, ends = began[:, FROM] - first, ended[:, TO] + 1 - first
        begin_order, end_order = np.argsort(begins), np.argsort(ends)
        times = np.unique(np.concatenate([begins, ends]))
        begin_at = np.searchsorted(begins[begin_order], [times, times + 1])
        end_at = np.searchsorted(ends[end_order], [times, times + 1])
        for place, t in enumerate(times.tolist()):
            new = began[begin_order[begin_at[0, place] : begin_at[1, place]]]
            gone = ended[end_order[end_at[0, place] : end_at[1, place]]]
            head = np.array([number, len(new), len(gone)], np.int64)
            parts[t] += [head, new.ravel(), gone.ravel()]
    return [flat_copy(np.concatenate(part)) if part else None for part in parts]

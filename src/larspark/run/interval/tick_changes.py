"""Changes of the outputs at one time point, decoded when they are read."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.terms import Constant
from larspark.run.interval.columns_of_codes import atoms_of, texts_of
from larspark.run.interval.interning import decode
from larspark.run.interval.kernels.layout import FROM, KEYS, TO, Ints

_TAG, _TAG_BITS, _TABLE = 3, 2, 1
# Fewer integers than this, in keys, are decoded row by row, more of them column by column.
_MANY = 128


class TickChanges:
    """The atoms that begin to hold at a time point, and those that cease to.

    `flat` has for every output with changes its number, how many rows began and how many ended, and
    these rows.
    """

    __slots__ = ("_added", "_outputs", "_removed", "_values", "flat", "t")

    def __init__(
        self, t: int, flat: Ints | None, outputs: Sequence[Signature], values: Sequence[Constant]
    ) -> None:
        self.t = t
        self.flat = flat
        self._outputs = outputs
        self._values = values
        self._added: list[Atom] | None = None if flat is not None else []
        self._removed: list[Atom] = []

    def __len__(self) -> int:
        """About how much changed: an upper bound of the number of atoms."""
        return 0 if self.flat is None else len(self.flat)

    @property
    def added(self) -> list[Atom]:
        """The atoms that begin to hold."""
        return self._decode() if self._added is None else self._added

    @property
    def removed(self) -> list[Atom]:
        """The atoms that held at the time point before and do not any more."""
        if self._added is None:
            self._decode()
        return self._removed

    def texts(self) -> tuple[pa.Array, int]:
        """The texts of what begins to hold, whose number is returned, and of what ends after it."""
        if not self._is_large:
            added = self.added
            texts = [*map(atom_text, added), *map(atom_text, self._removed)]
            return pa.array(texts, pa.string()), len(added)
        begun: list[pa.Array] = []
        ended: list[pa.Array] = []
        for signature, count, rows in self._blocks():
            found = texts_of(signature, rows[:, TO + 1 :], self._values)
            begun.append(found.slice(0, count))
            ended.append(found.slice(count))
        return pa.concat_arrays([*begun, *ended]), sum(map(len, begun))

    @property
    def _is_large(self) -> bool:
        return self.flat is not None and len(self.flat) > _MANY * KEYS

    def blocks(self) -> list[tuple[Signature, Ints, Ints]]:
        """For every output the rows that began, and those that ended."""
        return [(name, rows[:began], rows[began:]) for name, began, rows in self._blocks()]

    def _blocks(self) -> Iterator[tuple[Signature, int, Ints]]:
        """For every output how many rows began, and these rows before those that ended."""
        at, flat = 0, self.flat
        while flat is not None and at < len(flat):
            number, began, ended = flat[at : at + 3].tolist()
            signature = self._outputs[number]
            width = KEYS + signature.arity
            rows = flat[at + 3 : at + 3 + (began + ended) * width].reshape(-1, width)
            yield signature, began, rows
            at += 3 + rows.size

    def _decode(self) -> list[Atom]:
        """Decode all rows: few one by one, many column by column."""
        added: list[Atom] = []
        removed: list[Atom] = []
        if self.flat is None or self._is_large:
            for signature, began, ended in self.blocks():
                added += atoms_of(signature, began[:, TO + 1 :], self._values)
                removed += atoms_of(signature, ended[:, TO + 1 :], self._values)
        else:
            self._decode_few(self.flat.tolist(), added, removed)
        self._added, self._removed = added, removed
        return added

    def _decode_few(self, flat: list[int], added: list[Atom], removed: list[Atom]) -> None:
        values = self._values
        at, size = 0, len(flat)
        while at < size:
            predicate, arity = self._outputs[flat[at]]
            began, ended = flat[at + 1], flat[at + 2]
            at += 3
            for number in range(began + ended):
                args = tuple(
                    [
                        code >> _TAG_BITS
                        if not code & _TAG
                        else values[code >> _TAG_BITS]
                        if code & _TAG == _TABLE
                        else decode(code, values)
                        for code in flat[at + KEYS : at + KEYS + arity]
                    ]
                )
                (added if number < began else removed).append(Atom(predicate, args))
                at += KEYS + arity


def flat_changes(
    first: int, last: int, outputs: Sequence[tuple[Signature, Ints, Ints]]
) -> list[Ints | None]:
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
    return [np.concatenate(part) if part else None for part in parts]

"""Background data and past facts, found by the arguments that are known."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant

Row: TypeAlias = tuple[Constant, ...]

_CONSTANTS = frozenset((int, float, str))


class Background:
    """Atoms that hold at every time point.

    A predicate is background data if atoms of it are given; it is (also) a stream predicate if
    rules derive it, if the program lists it as input, or if there is no background data for it.
    """

    def __init__(
        self,
        atoms: Iterable[Atom],
        signatures: Iterable[Signature] = (),
        stream: Iterable[Signature] = (),
    ) -> None:
        self._rows: dict[Signature, list[Row]] = {signature: [] for signature in signatures}
        self._stream = frozenset(stream)
        self._indexes: dict[tuple[Signature, tuple[int, ...]], dict[Row, list[Row]]] = {}
        for atom in dict.fromkeys(atoms):
            self._rows.setdefault(atom.signature, []).append(row_of(atom))

    def gives(self, signature: Signature) -> bool:
        return signature in self._rows

    def streams(self, signature: Signature) -> bool:
        return signature not in self._rows or signature in self._stream

    def rows(self, signature: Signature) -> Sequence[Row]:
        return self._rows.get(signature, ())

    def matching(self, signature: Signature, known: Sequence[Constant | None]) -> Sequence[Row]:
        """The rows that have the known arguments (None: any)."""
        positions = tuple(i for i, value in enumerate(known) if value is not None)
        if not positions:
            return self.rows(signature)
        index = self._indexes.get((signature, positions))
        if index is None:
            index = {}
            for row in self.rows(signature):
                index.setdefault(tuple(row[i] for i in positions), []).append(row)
            self._indexes[signature, positions] = index
        key = tuple(value for value in known if value is not None)
        return index.get(key, ())


class History:
    """The facts of some predicates by time point, as long as something can still ask for them."""

    def __init__(self, keep: dict[Signature, int | None]) -> None:
        # How many time points a fact is kept; None is for ever.
        self._keep = keep
        self._facts: dict[Signature, dict[int, Sequence[Row]]] = {name: {} for name in keep}

    def add(self, t: int, facts: Mapping[Signature, Sequence[Row]]) -> None:
        for signature, kept in self._facts.items():
            rows = facts.get(signature)
            if rows:
                kept[t] = rows

    def at(self, signature: Signature, t: int) -> Sequence[Row]:
        return self._facts[signature].get(t, ())

    def times(self, signature: Signature, first: int, last: float) -> Iterator[int]:
        """The time points between first and last that have facts, in no order."""
        facts = self._facts[signature]
        if last - first < len(facts):
            return (t for t in range(first, int(last) + 1) if t in facts)
        return (t for t in facts if first <= t <= last)

    def forget(self, t: int) -> None:
        """Drop what no question after t can need."""
        for signature, keep in self._keep.items():
            facts = self._facts[signature]
            if keep is not None:
                # Time points were added in order, so the oldest come first.
                while facts and (oldest := next(iter(facts))) < t - keep:
                    del facts[oldest]


def row_of(atom: Atom) -> Row:
    """The arguments of a ground atom."""
    if not _CONSTANTS.issuperset(map(type, atom.args)):
        hint = "constants are integers, floats and text"
        raise LarsparkError(Problem("L477", f"`{atom}` is no fact: it is not ground", hint=hint))
    return cast(Row, atom.args)

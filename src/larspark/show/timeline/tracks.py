"""Facts and intervals of atoms as columns, one track for each predicate: millions fit."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from larspark.base.arrow_numpy import numpy_array
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch, Row, RowBatch
from larspark.base.terms import Constant, Term, constant
from larspark.show.timeline.lanes import Origin


@dataclass(frozen=True)
class Track:
    """The atoms of a predicate with the time they hold, sorted by its beginning.

    `codes` has an array for each argument, of places in the list of the same number in `values`.
    """

    signature: Signature
    origin: Origin
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    # The order of arrival.
    order: NDArray[np.int64]
    codes: tuple[NDArray[np.int64], ...]
    values: tuple[Sequence[Constant], ...]
    _groups: dict[tuple[int, ...], tuple[NDArray[np.int64], int]] = field(default_factory=dict)
    _numbers: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def atom(self, row: int) -> Atom:
        """The atom of a row."""
        args = (
            values[int(codes[row])] for codes, values in zip(self.codes, self.values, strict=True)
        )
        return Atom(self.signature.predicate, tuple(args))

    def grouped(self, places: tuple[int, ...]) -> tuple[NDArray[np.int64], int]:
        """The rows numbered by their arguments at some places, and how many numbers there are."""
        if places not in self._groups:
            self._groups[places] = self._grouped(places)
        return self._groups[places]

    def _grouped(self, places: tuple[int, ...]) -> tuple[NDArray[np.int64], int]:
        keys = np.zeros(len(self.begin), np.int64)
        count = min(1, len(keys))
        for place in places:
            keys = keys * len(self.values[place]) + self.codes[place]
            found, keys = np.unique(keys, return_inverse=True)
            count = len(found)
        return keys, count

    @cached_property
    def by_atom(self) -> tuple[NDArray[np.int64], int]:
        """The rows numbered by their atoms."""
        return self.grouped(tuple(range(self.signature.arity)))

    @cached_property
    def number(self) -> int | None:
        """The argument that is a number, if it changes: the last such one.

        For derived atoms it is one number at a time.
        """
        places = reversed(range(self.signature.arity))
        return next((place for place in places if self._is_curve(place)), None)

    def numbers(self, place: int) -> NDArray[np.float64]:
        """The argument at a place as floats."""
        if place not in self._numbers:
            self._numbers[place] = np.asarray(self.values[place], np.float64)[self.codes[place]]
        return self._numbers[place]

    def _is_curve(self, place: int) -> bool:
        if any(isinstance(value, str) for value in self.values[place]):
            return False
        others = tuple(other for other in range(self.signature.arity) if other != place)
        keys, count = self.grouped(others)
        if count == self.by_atom[1]:
            return False
        if self.origin is Origin.FACT:
            return True
        ordered = np.lexsort((self.begin, keys))
        keys, begin, end = keys[ordered], self.begin[ordered], self.end[ordered]
        return not bool(np.any((keys[1:] == keys[:-1]) & (begin[1:] <= end[:-1])))

    def rows_of(self, atom: Atom) -> NDArray[np.int64]:
        """The rows of an atom."""
        kept = np.ones(len(self.begin), bool)
        for codes, values, arg in zip(self.codes, self.values, atom.args, strict=True):
            place = next((n for n, value in enumerate(values) if value == arg), -1)
            kept &= codes == place
        return np.flatnonzero(kept)

    def about(self, args: Collection[Term]) -> "Track":
        """The rows that have one of these arguments; all rows if none has."""
        kept = np.zeros(len(self.begin), bool)
        for codes, values in zip(self.codes, self.values, strict=True):
            kept |= np.array([value in args for value in values], bool)[codes]
        rows = np.flatnonzero(kept)
        if not len(rows):
            return self
        columns = (self.begin[rows], self.end[rows], self.order[rows])
        return Track(
            self.signature, self.origin, *columns, tuple(c[rows] for c in self.codes), self.values
        )

    def within(self, first: int, last: int) -> slice:
        """The rows that begin within two time points."""
        return slice(
            int(np.searchsorted(self.begin, first)),
            int(np.searchsorted(self.begin, last, "right")),
        )


def fact_tracks(batches: Iterable[AnyBatch]) -> list[Track]:
    """The facts of a stream, whose arrival orders them within a time point.

    >>> from larspark.base.facts import PointBatch
    >>> [track] = fact_tracks([PointBatch(3, [Atom("p", ("a", 1)), Atom("p", ("b", 1))])])
    >>> track.begin.tolist(), track.atom(1)
    ([3, 3], Atom(predicate='p', args=('b', 1)))
    """
    tables: dict[Signature, list[pa.Table]] = {}
    count = 0
    for batch in batches:
        for signature, table in batch.numbered_from(count).segments():
            if table.num_rows:
                tables.setdefault(signature, []).append(table)
        count += len(batch)
    return _tracks(tables, Origin.FACT, None)


def interval_tracks(rows: Iterable[tuple[Atom, int, int]]) -> list[Track]:
    """The intervals of derived atoms."""
    listed = list(rows)
    ends = np.fromiter((end for _, _, end in listed), np.int64, len(listed))
    batch = RowBatch([Row(begin, atom, seq) for seq, (atom, begin, _) in enumerate(listed)])
    tables: dict[Signature, list[pa.Table]] = {}
    for signature, table in batch.segments():
        tables.setdefault(signature, []).append(table)
    return _tracks(tables, Origin.DERIVED, ends)


def elements_of(
    tracks: Iterable[Track], first: int | None, last: int, at_most: int | None = None
) -> list[tuple[int, Atom]]:
    """The facts from `first` to `last` in the order of arrival; of many, the last `at_most`."""
    found: list[tuple[int, int, Atom]] = []
    for track in tracks:
        part = track.within(int(track.begin[0]) if first is None else first, last)
        start = part.start if at_most is None else max(part.start, part.stop - at_most)
        found += [
            (int(track.begin[row]), int(track.order[row]), track.atom(row))
            for row in range(start, part.stop)
        ]
    found.sort(key=lambda row: row[:2])
    return [(t, atom) for t, _, atom in (found if at_most is None else found[-at_most:])]


def _tracks(
    tables: dict[Signature, list[pa.Table]], origin: Origin, ends: NDArray[np.int64] | None
) -> list[Track]:
    found = [_track(signature, origin, parts, ends) for signature, parts in tables.items()]
    return sorted(found, key=lambda track: (int(track.begin[0]), track.signature))


def _track(
    signature: Signature,
    origin: Origin,
    tables: Sequence[pa.Table],
    ends: NDArray[np.int64] | None,
) -> Track:
    begin = np.concatenate([numpy_array(table["t"]) for table in tables])
    order = np.concatenate([numpy_array(table["seq"]) for table in tables])
    coded = [_coded([table[str(place)] for table in tables]) for place in range(signature.arity)]
    sort = np.lexsort((order, begin))
    begin, order = begin[sort], order[sort]
    end = begin if ends is None else ends[order]
    codes = tuple(codes[sort] for codes, _ in coded)
    return Track(signature, origin, begin, end, order, codes, tuple(values for _, values in coded))


def _coded(columns: Sequence[pa.ChunkedArray]) -> tuple[NDArray[np.int64], list[Constant]]:
    """The values of columns of several types, and for each row the place of its value."""
    alike: dict[pa.DataType, list[tuple[int, pa.ChunkedArray]]] = {}
    length = 0
    for column in columns:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        alike.setdefault(kind, []).append((length, column))
        length += len(column)
    codes = np.empty(length, np.int64)
    known: dict[Constant, int] = {}
    for kind, parts in alike.items():
        chunks = [chunk for _, part in parts for chunk in part.cast(kind).chunks]
        encoded = pa.chunked_array(chunks, kind).combine_chunks().dictionary_encode()
        values: list[Constant] = encoded.dictionary.to_pylist()
        if kind == pa.float64():
            values = list(map(constant, values))
        if len(alike) == 1:
            return numpy_array(encoded.indices).astype(np.int64), values
        places = np.array([known.setdefault(value, len(known)) for value in values], np.int64)
        found = places[numpy_array(encoded.indices)]
        taken = 0
        for start, part in parts:
            codes[start : start + len(part)] = found[taken : taken + len(part)]
            taken += len(part)
    return codes, list(known)

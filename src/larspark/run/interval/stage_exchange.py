"""Exchange of derived rows between the stages of a distributed run.

Derived rows are exchanged as they are stored: an atom seen from evaluation time `from` through
`to`, at the evaluation time itself or at a time point of its own. They are not input, which windows
would go on seeing and tuple windows would count, and they are not expanded to time points.
Exchanged rows are final: they are never retracted.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from larspark.base.arrow_numpy import numpy_array
from larspark.base.atoms import Signature
from larspark.base.terms import Constant
from larspark.run.interval.arrivals import Chunk
from larspark.run.interval.interning import TABLE, Constants, decode, tags
from larspark.run.interval.kernels.layout import FOREVER, FROM, TO, Ints
from larspark.run.interval.network_nodes import Distinct, cut_rows
from larspark.run.protocol import Derived

_CONSTANTS = b"constants"


def _arguments(derived: Derived) -> int:
    """The column of the first argument."""
    return TO + 1 + derived.pinned


@dataclass(slots=True)
class Recorder:
    """Records the changes of a predicate."""

    changes: list[tuple[int, Ints]] = field(default_factory=list)

    def receive(self, sign: int, batch: Ints) -> None:
        self.changes.append((sign, np.array(batch)))

    def take(self, first: int, last: int) -> Ints | None:
        """What held within [first, last], as maximal intervals; None without any change.

        What held up to `last` is forgotten.
        """
        if not self.changes:
            return None
        rows = np.concatenate([batch for _, batch in self.changes])
        signs = np.repeat([s for s, _ in self.changes], [len(b) for _, b in self.changes])
        whole = united(rows, signs)
        later = cut_rows([whole], last + 1, FOREVER)
        self.changes = [(1, later)] if len(later) else []
        return cut_rows([whole], first, last)


@dataclass(slots=True)
class StageExchange:
    """The rows that an engine imports from other stages, and the predicates that it exports."""

    imported: frozenset[Signature]
    waiting: dict[Derived, Chunk]
    exported: frozenset[Signature]
    recorders: dict[Derived, Recorder] = field(default_factory=dict)
    recorded: dict[Derived, Distinct] = field(default_factory=dict)

    def kinds(self, signature: Signature) -> Sequence[bool]:
        """The forms in which a predicate is imported; without any row, at the evaluation time."""
        return [d.pinned for d in self.waiting if d.signature == signature] or [False]

    def take(self, upto: int | None) -> Iterator[tuple[Derived, Chunk]]:
        """Remove and return the rows that begin up to a time point (or all)."""
        for derived, chunk in self.waiting.items():
            count = len(chunk.order)
            if upto is not None:
                count = int(np.searchsorted(chunk.times, upto, side="right"))
            if count:
                yield derived, chunk.part(None, count)
                self.waiting[derived] = chunk.part(count, None)

    def add(self, chunks: Mapping[Derived, Chunk]) -> None:
        """Let more rows wait; a predicate comes in the forms that were known from the start."""
        for derived, chunk in chunks.items():
            parts = (self.waiting[derived], chunk)
            rows = np.concatenate([part.rows for part in parts])
            rows = rows[np.argsort(rows[:, FROM], kind="stable")]
            self.waiting[derived] = Chunk(rows, np.arange(len(rows)))

    def resume(self, answered: int) -> None:
        """Record again, after a restored answer: what holds later is in the restored stores."""
        for derived, recorder in self.recorders.items():
            later = self.recorded[derived].covering(answered + 1, FOREVER)
            recorder.changes = [(1, later)] if len(later) else []

    def codes(self) -> Iterator[Ints]:
        """All rows kept here."""
        yield from (chunk.rows for chunk in self.waiting.values())
        for recorder in self.recorders.values():
            yield from (batch for _, batch in recorder.changes)

    def record(self, heads: Mapping[Signature, Mapping[bool, Distinct]]) -> None:
        """Record the predicates that are exported."""
        for signature in sorted(self.exported & heads.keys()):
            for pinned, distinct in heads[signature].items():
                recorder = self.recorders[Derived(signature, pinned)] = Recorder()
                self.recorded[Derived(signature, pinned)] = distinct
                distinct.consumers.append(recorder)


def imported_chunks(
    tables: Iterable[tuple[Derived, pa.Table]], constants: Constants
) -> dict[Derived, Chunk]:
    """Tables of rows, coded anew, in the order in which they begin."""
    parts_by_source: dict[Derived, list[Ints]] = {}
    for derived, table in tables:
        parts_by_source.setdefault(derived, []).append(_coded(derived, table, constants))
    chunks: dict[Derived, Chunk] = {}
    for derived, parts in parts_by_source.items():
        rows = np.concatenate(parts)
        rows = rows[np.argsort(rows[:, FROM], kind="stable")]
        chunks[derived] = Chunk(rows, np.arange(len(rows)))
    return chunks


def no_rows(derived: Derived) -> pa.Table:
    """A table without rows, of a form in which a predicate may come later."""
    width = _arguments(derived) + derived.signature.arity
    return exported_table(derived, np.empty((0, width), np.int64), ())


def exported_table(derived: Derived, rows: Ints, values: Sequence[Constant]) -> pa.Table:
    """Rows as a table of integers, together with the constants that their codes refer to."""
    codes = rows[:, _arguments(derived) :]
    places = np.unique(codes[tags(codes) == TABLE])
    used = {str(code): decode(code, values) for code in places.tolist()}
    names = ["from", "to", *(["t"] if derived.pinned else []), *map(str, range(codes.shape[1]))]
    columns = [pa.array(np.ascontiguousarray(rows[:, place])) for place in range(rows.shape[1])]
    schema = pa.schema([(name, pa.int64()) for name in names], {_CONSTANTS: json.dumps(used)})
    return pa.table(columns, schema=schema)


def constants_of(table: pa.Table, place: int) -> tuple[list[Constant], Ints]:
    """The distinct constants of an argument of exported rows, and which of them each row has."""
    used = json.loads(table.schema.metadata[_CONSTANTS])
    unique, places = np.unique(numpy_array(table[str(place)]), return_inverse=True)
    values = [
        used[str(code)] if str(code) in used else decode(code, ()) for code in unique.tolist()
    ]
    return values, places


def _coded(derived: Derived, table: pa.Table, constants: Constants) -> Ints:
    rows = np.empty((table.num_rows, table.num_columns), np.int64)
    for place, column in enumerate(table.columns):
        rows[:, place] = numpy_array(column)
    used = json.loads(table.schema.metadata[_CONSTANTS])
    if used:
        before = np.array([int(code) for code in used], np.int64)
        after = np.array([constants.code(value) for value in used.values()], np.int64)
        order = np.argsort(before)
        codes = rows[:, _arguments(derived) :]
        text = tags(codes) == TABLE
        codes[text] = after[order][np.searchsorted(before[order], codes[text])]
    return rows


def united(rows: Ints, signs: Ints) -> Ints:
    """The intervals where the sum of signs is positive, maximal for each key.

    >>> rows = np.array([[1, 9, 7], [4, 5, 7], [3, 8, 6], [7, 12, 6]])
    >>> united(rows, np.array([1, -1, 1, 1])).tolist()
    [[3, 12, 6], [1, 3, 7], [6, 9, 7]]
    """
    times = np.concatenate([rows[:, FROM], rows[:, TO] + 1])
    steps = np.concatenate([signs, -signs])
    keys = np.concatenate([rows[:, TO + 1 :]] * 2)
    order = np.lexsort((times, *keys.T[::-1]))
    times, steps, keys = times[order], steps[order], keys[order]
    new = np.ones(len(times), bool)
    new[1:] = (times[1:] != times[:-1]) | (keys[1:] != keys[:-1]).any(axis=1)
    last_here = np.append(new[1:], True)
    # After the last event of a key nothing holds, so sums need not restart with each key.
    holds = np.cumsum(steps)[last_here] > 0
    times, keys = times[last_here], keys[last_here]
    before = np.append(False, holds[:-1])
    begins, ends = holds & ~before, before & ~holds
    return np.column_stack([times[begins], times[ends] - 1, keys[begins]])

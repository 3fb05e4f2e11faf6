"""Notes at the end of a run or query: empty input, predicates without facts, equal facts, slips."""

from collections.abc import Iterable, Iterator, Set
from itertools import islice

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from larspark.analysis.pitfalls import looks_like_name
from larspark.base.arrow_numpy import numpy_array
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch, ColumnBatch, Part, Row, RowBatch, Segment
from larspark.base.spelling import Vocabulary
from larspark.feeds.time_format import TimeFormat
from larspark.language.nodes import variables
from larspark.language.tree import Formula
from larspark.run.protocol import Answers

_NAMED = 5
# A stream may hold any number of predicates: beyond this many no notes are made.
_KEPT = 1000


class Arrivals:
    """The predicates of the facts that were read so far."""

    def __init__(self) -> None:
        self.signatures: set[Signature] = set()

    def add(self, batch: AnyBatch) -> None:
        if len(self.signatures) > _KEPT:
            return
        if isinstance(batch, RowBatch):
            found = {(row.atom.predicate, len(row.atom.args)) for row in batch.rows()}
            self.signatures.update(Signature(*pair) for pair in found)
        else:
            self.signatures.update(signature for signature, _ in batch.segments())


class MissingAnswers:
    """The time points without an answer stream, which only points show."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._count = 0

    def watched(self, pieces: Iterable[Answers]) -> Iterator[Answers]:
        """The same answers; their time points without an answer stream are counted."""
        for piece in pieces:
            for t in piece.inconsistent():
                self._first = t if self._first is None else self._first
                self._count += 1
            yield piece

    def notes(self, times: TimeFormat) -> list[str]:
        if self._first is None:
            return []
        points = "1 time point" if self._count == 1 else f"{self._count:,} time points"
        first = times.text(self._first)
        return [f"there is no answer stream at {points}, the first is {first}"]


def no_answer_notes(answered: bool, came: Set[Signature]) -> list[str]:
    """A note for a run over facts in which nothing was derived."""
    if answered or not came:
        return []
    return ["there are no answers; `larspark explain` says what an atom lacks"]


def unmatched_notes(asked: Set[Signature], came: Set[Signature]) -> list[str]:
    """Which input predicates do not occur in the stream, and what occurs instead.

    >>> unmatched_notes({Signature("temp", 2)}, {Signature("tmp", 2)})
    ['there are no facts of `temp/2`; the stream has `tmp/2`']
    """
    if len(came) > _KEPT:
        return []
    if asked and not came:
        return ["the stream has no facts"]
    unknown = came - asked
    names = Vocabulary(signature.predicate for signature in unknown)
    notes = []
    for missing in sorted(asked - came):
        meant = names.closest(missing.predicate)
        alike = [s for s in sorted(unknown) if s.predicate in (missing.predicate, meant)]
        if alike:
            notes.append(f"there are no facts of `{missing}`; the stream has {_listed(alike)}")
    if not notes and asked and came and not asked & came:
        reads, has = _listed(sorted(asked)), _listed(sorted(came))
        notes.append(
            f"the program reads {reads}, of which there are no facts; the stream has {has}"
        )
    return notes


def name_notes(formula: Formula) -> list[str]:
    """Variables of a query that look like constants with a capital letter.

    >>> from larspark.language import parse_formula
    >>> name_notes(parse_formula("site(M, Vienna)").formula)
    ['`Vienna` is a variable; write `"Vienna"` if the text is meant']
    """
    names = dict.fromkeys(v.name for v in variables(formula) if looks_like_name(v.name))
    return [f'`{n}` is a variable; write `"{n}"` if the text is meant' for n in names]


def _listed(signatures: Iterable[Signature]) -> str:
    found = [f"`{signature}`" for signature in signatures]
    return ", ".join([*islice(found, _NAMED), *(["…"] if len(found) > _NAMED else [])])


_SPREAD = np.int64(-7046029254386353131)


class MergedFacts:
    """Counts the facts that equal an earlier one at their time point.

    >>> merged = MergedFacts()
    >>> merged.add(RowBatch([Row(1, Atom("p"), 0), Row(1, Atom("p"), 1), Row(2, Atom("p"), 2)]))
    >>> merged.count
    1
    """

    def __init__(self) -> None:
        self.count = 0
        # The facts of the last time point, which the next batch may go on with.
        self._t: int | None = None
        self._atoms: set[Atom] = set()

    def add(self, batch: AnyBatch) -> None:
        """Count the facts of the next batch."""
        if isinstance(batch, RowBatch):
            self._add_rows(batch.rows())
            return
        signatures = [part.signature for part in batch.parts]
        if len({*signatures}) < len(signatures):
            # An integer may be equal to a float of another segment.
            self._add_rows(batch.rows())
            return
        last = max((part.times.item(-1) for part in batch.parts), default=None)
        begun = self._t
        self._add_rows(_between(batch, begun, begun))
        if last is None or last == begun:
            return
        for part in batch.parts:
            first = 0 if begun is None else int(np.searchsorted(part.times, begun, "right"))
            self.count += _repetitions(part, first, int(np.searchsorted(part.times, last)))
        self._add_rows(_between(batch, last, last))

    def note(self) -> list[str]:
        """The sentence about merged facts; none if there are none."""
        if not self.count:
            return []
        some = "1 fact equals" if self.count == 1 else f"{self.count:,} facts equal"
        return [f"{some} another one at the same time point; equal facts count once"]

    def _add_rows(self, rows: Iterable[Row]) -> None:
        for t, atom, _ in rows:
            if t != self._t:
                self._t = t
                self._atoms.clear()
            if atom in self._atoms:
                self.count += 1
            else:
                self._atoms.add(atom)


def _between(batch: ColumnBatch, first: int | None, last: int | None) -> Iterable[Row]:
    """The facts within two time points."""
    if first is None or last is None:
        return []
    cut: list[Segment] = []
    for segment, part in zip(
        (each for each in batch.segments() if each.table.num_rows), batch.parts, strict=True
    ):
        start, end = np.searchsorted(part.times, first), np.searchsorted(part.times, last, "right")
        if end > start:
            cut.append(Segment(segment.signature, segment.table.slice(start, end - start)))
    return ColumnBatch(cut).rows()


def _repetitions(part: Part, start: int, end: int) -> int:
    """The facts from a row to another one that equal an earlier one at their time point."""
    times = part.times[start:end]
    if not (times[1:] == times[:-1]).any():
        return 0
    columns = [_codes(column.slice(start, end - start)) for column in part.arguments]
    spread = times * _SPREAD
    for column in columns:
        spread = ((spread ^ column) * _SPREAD) ^ (spread >> 29)
    # Where all of these differ, no two facts are equal.
    spread.sort()
    if (spread[1:] != spread[:-1]).all():
        return 0
    order = np.lexsort([*columns, times])
    alike = np.ones(len(times) - 1, np.bool_)
    for column in (times, *columns):
        ordered = column[order]
        alike &= ordered[1:] == ordered[:-1]
    return int(alike.sum())


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Integers that are equal where the constants of one column are."""
    if pa.types.is_integer(column.type):
        return numpy_array(column)
    if pa.types.is_floating(column.type):
        # Adding 0 makes -0.0 the same as 0.0.
        return (numpy_array(column) + 0.0).view(np.int64)
    texts = column.combine_chunks()
    if not pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_encode()
    return numpy_array(texts.indices).astype(np.int64)

"""Notes at the end of a run or query: empty input, predicates without facts, likely slips."""

from collections.abc import Iterable, Iterator, Set
from itertools import islice

from larspark.analysis.pitfalls import looks_like_name
from larspark.base.atoms import Signature
from larspark.base.facts import AnyBatch, RowBatch
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
    """The time points without an answer stream, which only points tell apart from empty answers."""

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

"""Notes at the end of a run: empty input, and input predicates that did not occur in the stream."""

from collections.abc import Iterable, Set
from itertools import islice

from larspark.base.atoms import Signature
from larspark.base.facts import AnyBatch, RowBatch
from larspark.base.spelling import Vocabulary

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


def _listed(signatures: Iterable[Signature]) -> str:
    found = [f"`{signature}`" for signature in signatures]
    return ", ".join([*islice(found, _NAMED), *(["…"] if len(found) > _NAMED else [])])

"""The rows of a timeline: one for each atom, or shared when there are too many."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from larspark.base.atoms import Atom, Signature, atom_text

Interval: TypeAlias = tuple[int, int]
Spans: TypeAlias = dict[Atom, list[Interval]]


class Origin(StrEnum):
    FACT = "fact"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of a timeline: an atom, or several of a predicate, with the time they hold.

    The intervals are sorted and do not touch each other.
    """

    label: str
    origin: Origin
    intervals: tuple[Interval, ...]


class _Family:
    """The atoms of a predicate, in rows that become fewer."""

    def __init__(self, signature: Signature, origin: Origin, spans: Spans) -> None:
        self._origin = origin
        self._spans = spans
        everything = f"{signature} ({len(spans)})"
        # From a row for each atom to one for all.
        self._labels: list[Callable[[Atom], str]] = [atom_text, _beginning]
        self._labels += [lambda _: everything] if len(spans) > 1 else []
        self.rows = len(spans)

    def put_together(self) -> bool:
        """Let more atoms share a row; False when there is only one row left."""
        while len(self._labels) > 1:
            del self._labels[0]
            rows = len({self._labels[0](atom) for atom in self._spans})
            if rows < self.rows:
                self.rows = rows
                return True
        return False

    def lanes(self) -> list[Lane]:
        shared: dict[str, list[Interval]] = {}
        for atom, found in self._spans.items():
            shared.setdefault(self._labels[0](atom), []).extend(found)
        return [Lane(label, self._origin, merge(found)) for label, found in shared.items()]


def lay_out(groups: Iterable[tuple[Origin, Spans]], most_rows: int) -> list[Lane]:
    """Rows for the atoms of each group, predicate by predicate.

    When there are too many, the largest predicate is put together first: atoms with the same first
    argument share a row, `temp(m1,…)`, and then all of them do, `temp/2 (54)`.
    """
    families = [
        _Family(signature, origin, members)
        for origin, spans in groups
        for signature, members in _by_predicate(spans).items()
    ]
    left = list(families)
    while left and sum(family.rows for family in families) > most_rows:
        largest = max(left, key=lambda family: family.rows)
        if not largest.put_together():
            left.remove(largest)
    lanes = [lane for family in families for lane in family.lanes()]
    # There can be more predicates than rows; the number of omitted ones is shown.
    if len(lanes) > most_rows:
        left_out = Lane(f"… {len(lanes) - most_rows + 1} more", Origin.FACT, ())
        return [*lanes[: most_rows - 1], left_out]
    return lanes


def spans_within(rows: Iterable[tuple[Atom, int, int]], first: int, last: int) -> Spans:
    """The intervals of each atom within the time points, by the first of them."""
    found: Spans = {}
    for atom, begin, stop in sorted(rows, key=lambda row: (row[1], atom_text(row[0]))):
        if stop >= first and begin <= last:
            found.setdefault(atom, []).append((max(begin, first), min(stop, last)))
    return found


def merge(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """Put intervals together that touch each other.

    >>> merge([(1, 2), (3, 3), (2, 2), (5, 6)])
    ((1, 3), (5, 6))
    """
    merged: list[Interval] = []
    for begin, stop in sorted(intervals):
        if merged and begin <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((begin, stop))
    return tuple(merged)


def _by_predicate(spans: Spans) -> dict[Signature, Spans]:
    found: dict[Signature, Spans] = {}
    for atom, intervals in spans.items():
        found.setdefault(atom.signature, {})[atom] = intervals
    return found


def _beginning(atom: Atom) -> str:
    first = atom_text(Atom(atom.predicate, atom.args[:1]))
    return f"{first[:-1]},…)" if len(atom.args) > 1 else first

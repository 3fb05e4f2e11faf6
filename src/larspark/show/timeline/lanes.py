"""The rows of a timeline: one for each atom, or shared when there are too many."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

from larspark.base.atoms import Atom, Signature, atom_text, term_text
from larspark.base.terms import Term, constant_text

Interval: TypeAlias = tuple[int, int]
# From, to, and the number over that time.
Step: TypeAlias = tuple[int, int, int | float]
Spans: TypeAlias = dict[Atom, list[Interval]]


class Origin(StrEnum):
    FACT = "fact"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of a timeline: an atom, or several of a predicate, with the time they hold.

    The intervals are sorted and do not touch each other. A row of atoms that differ only in a
    number, one at a time, also has the curve of that number.
    """

    label: str
    origin: Origin
    intervals: tuple[Interval, ...]
    curve: tuple[Step, ...] = ()


class _Family:
    """The atoms of a predicate, in rows that become fewer."""

    def __init__(self, signature: Signature, origin: Origin, spans: Spans) -> None:
        self._origin = origin
        self._spans = spans
        everything = f"{signature} ({len(spans)})"
        self._number = number_position(spans) if origin is Origin.DERIVED else None
        # From a row for each atom, or for each curve, to one for all.
        self._labels: list[Callable[[Atom], str]] = [atom_text, _beginning]
        self._labels += [lambda _: everything] if len(spans) > 1 else []
        curves = () if self._number is None else _grouped(spans, self._number)
        self.rows = len(curves or spans)

    def put_together(self) -> bool:
        """Let more atoms share a row; False when there is only one row left."""
        while len(self._labels) > 1:
            del self._labels[0]
            self._number = None
            rows = len({self._labels[0](atom) for atom in self._spans})
            if rows < self.rows:
                self.rows = rows
                return True
        return False

    def lanes(self) -> list[Lane]:
        if self._number is not None:
            return self._curves(self._number)
        shared: dict[str, list[Interval]] = {}
        for atom, found in self._spans.items():
            shared.setdefault(self._labels[0](atom), []).extend(found)
        return [Lane(label, self._origin, merge(found)) for label, found in shared.items()]

    def _curves(self, place: int) -> list[Lane]:
        found: list[Lane] = []
        for members in _grouped(self._spans, place).values():
            steps = sorted((*span, value) for value, atom in members for span in self._spans[atom])
            values = [value for value, _ in members]
            low, high = min(values), max(values)
            shown = f"{low}..{high}" if low < high else f"{low}"
            texts = [term_text(arg) for arg in members[0][1].args]
            texts[place] = shown
            label = f"{constant_text(members[0][1].predicate)}({','.join(texts)})"
            spans = merge([(begin, stop) for begin, stop, _ in steps])
            found.append(Lane(label, self._origin, spans, tuple(steps)))
        return found


def number_position(spans: Spans) -> int | None:
    """The argument of a predicate that is one number at a time, if it changes: its last such one.

    The atoms that agree in all other arguments never hold together.

    >>> spans = {Atom("n", ("a", 1)): [(1, 2)], Atom("n", ("a", 3)): [(3, 3)]}
    >>> number_position(spans), number_position({Atom("n", ("a", 1)): [(1, 2)]})
    (1, None)
    """
    arity = len(next(iter(spans), Atom("")).args)
    return next((place for place in reversed(range(arity)) if _is_curve(spans, place)), None)


def _is_curve(spans: Spans, place: int) -> bool:
    if any(isinstance(atom.args[place], str) for atom in spans):
        return False
    groups = _grouped(spans, place)
    if len(groups) == len(spans):
        return False
    for members in groups.values():
        held = sorted(span for _, atom in members for span in spans[atom])
        if any(begin <= stop for (_, stop), (begin, _) in pairwise(held)):
            return False
    return True


def _grouped(spans: Spans, place: int) -> dict[tuple[Term, ...], list[tuple[int | float, Atom]]]:
    """The atoms with the number at a place, by their other arguments."""
    groups: dict[tuple[Term, ...], list[tuple[int | float, Atom]]] = {}
    for atom in spans:
        value = atom.args[place]
        if isinstance(value, int | float):
            rest = (*atom.args[:place], *atom.args[place + 1 :])
            groups.setdefault(rest, []).append((value, atom))
    return groups


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

"""The answers of a run on Spark, brought to the driver, in every form that engines give."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Atom
from larspark.feeds import parse_ground_atom
from larspark.run.answers import PointAnswers
from larspark.run.protocol import Change, Point


class GatheredAnswers:
    """The output over [first, last] from a table of intervals.

    A row without an atom says where there is no answer stream. A row whose interval is empty is a
    note for the user.

    >>> rows = {"atom": ["p", None], "from": [1, 3], "to": [2, 3]}
    >>> answers = GatheredAnswers(0, 3, pa.table(rows))
    >>> [point.atoms and sorted(map(str, point.atoms)) for point in answers.points()]
    [frozenset(), ['p'], ['p'], None]
    >>> [(str(atom), begin, end) for atom, begin, end in answers.intervals()]
    [('p', 1, 2)]
    >>> GatheredAnswers(0, 3, pa.table({"atom": ["one"], "from": [5], "to": [4]})).notes
    ('one',)
    """

    def __init__(self, first: int, last: int, table: pa.Table) -> None:
        self.first = first
        self.last = last
        holds = pc.less_equal(table["from"], table["to"])
        self._table = table.filter(holds)
        told = table.filter(pc.invert(holds))["atom"].to_pylist()
        self.notes: tuple[str, ...] = tuple(dict.fromkeys(told))

    @cached_property
    def _rows(self) -> list[tuple[Atom | None, int, int]]:
        table = self._table.sort_by([("from", "ascending"), ("atom", "ascending")])
        encoded = table["atom"].combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        atoms = [parse_ground_atom(text) for text in encoded.dictionary.to_pylist()]
        codes = encoded.indices.to_pylist()
        return [
            (None if code is None else atoms[code], begin, end)
            for code, begin, end in zip(
                codes, table["from"].to_pylist(), table["to"].to_pylist(), strict=True
            )
        ]

    def intervals(self) -> Sequence[tuple[Atom, int, int]]:
        return [(atom, begin, end) for atom, begin, end in self._rows if atom is not None]

    def points(self) -> Iterator[Point]:
        begins = iter([*self._rows, (None, self.last + 1, self.last + 1)])
        holding: dict[Atom | None, int] = {}
        atom, begin, end = next(begins)
        for t in range(self.first, self.last + 1):
            ended = [each for each, until in holding.items() if until < t]
            for each in ended:
                del holding[each]
            while begin == t:
                holding[atom] = end
                atom, begin, end = next(begins)
            yield Point(t, None if None in holding else frozenset(a for a in holding if a))

    def changes(self) -> Iterator[Change]:
        return PointAnswers(self.first, self.last, list(self.points())).changes()

    def table(self) -> pa.Table:
        return self._table.drop_null()

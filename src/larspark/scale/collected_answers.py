"""The answers of a run on Spark, brought to the driver, in every form that engines give."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Term
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


# Names and types of columns.
Columns: TypeAlias = tuple[tuple[str, str], ...]

# What an argument can become.
_TYPES = {"long": pa.int64(), "double": pa.float64(), "string": pa.string()}


def typed_answers(
    batches: Iterable[pa.RecordBatch], predicate: str, columns: Columns
) -> Iterator[pa.RecordBatch]:
    """The answers of one predicate among all, with typed columns.

    >>> rows = {"atom": ["p(a,3)", "q(1)"], "from": [1, 2], "to": [1, 5]}
    >>> answers = pa.RecordBatch.from_pydict(rows)
    >>> [table] = typed_answers([answers], "p", (("who", "string"), ("much", "double")))
    >>> table.to_pylist()
    [{'who': 'a', 'much': 3.0, 'from': 1, 'to': 1}]
    """
    schema = pa.schema(
        [
            *((name, _TYPES[kind]) for name, kind in columns),
            ("from", pa.int64()),
            ("to", pa.int64()),
        ]
    )
    for batch in batches:
        rows: list[tuple[Any, ...]] = []
        for text, start, end in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            atom = parse_ground_atom(text)
            if atom.signature == (predicate, len(columns)):
                values = [
                    _value(argument, name, kind, text)
                    for argument, (name, kind) in zip(atom.args, columns, strict=True)
                ]
                rows.append((*values, start, end))
        arrays = zip(*rows, strict=True) if rows else [()] * len(schema)
        yield pa.RecordBatch.from_arrays(
            [pa.array(values, field.type) for values, field in zip(arrays, schema, strict=True)],
            schema=schema,
        )


def _value(argument: Term, name: str, kind: str, atom: str) -> Constant:
    match kind, argument:
        case "string", _:
            return str(argument)
        case "long", int():
            return argument
        case "double", int() | float():
            return float(argument)
        case _:
            message = f"`{argument}` in `{atom}` is no {kind}, which the column `{name}` asks for"
            hint = "ask for `string`, which takes anything"
            raise LarsparkError(Problem("L485", message, hint=hint))


def read_signature(name: str) -> Signature:
    """A predicate with its number of arguments, from text such as `alarm/2`."""
    predicate, _, arity = name.rpartition("/")
    if not predicate or not arity.isdecimal():
        message = f"`{name}` is not a predicate with its number of arguments"
        raise LarsparkError(Problem("L485", message, hint="write it as in `alarm/2`"))
    return Signature(predicate, int(arity))


def read_columns(name: str, text: str) -> Columns:
    """The columns of the arguments of a predicate, from text such as `sensor string, v double`."""
    pairs = [tuple(part.split()) for part in text.split(",") if part.strip()]
    problems = []
    for pair in pairs:
        if len(pair) != 2 or pair[1] not in _TYPES:
            message = f"`{' '.join(pair)}` is not a column of `{name}`"
            hint = f"write a name and one of {', '.join(_TYPES)}"
            problems.append(Problem("L485", message, hint=hint))
    if len(pairs) != read_signature(name).arity:
        message = f"`{name}` has {read_signature(name).arity} arguments, not {len(pairs)}"
        problems.append(Problem("L485", message))
    if problems:
        raise LarsparkError(problems)
    return tuple((column, kind) for column, kind in pairs)

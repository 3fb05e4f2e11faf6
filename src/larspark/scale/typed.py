"""Answers of one predicate each, with typed columns for the arguments."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Term
from larspark.feeds import parse_ground_atom

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

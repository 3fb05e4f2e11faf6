"""Answers of one predicate each, with typed columns for the arguments."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.feeds import parse_ground_atom
from larspark.scale.sql import DataFrame

# What an argument can become, and the constants that it can be made of.
_TYPES: dict[str, tuple[Any, tuple[type, ...]]] = {
    "long": (pa.int64(), (int,)),
    "double": (pa.float64(), (int, float)),
    "string": (pa.string(), (int, float, str)),
}


def outputs(answers: DataFrame, columns: Mapping[str, str]) -> dict[str, DataFrame]:
    """For every predicate its answers, with a typed column for each argument, from and to.

    `columns` names predicates and the columns of their arguments, in their order:
    `{"alarm/2": "sensor string, value double"}`. A type is `long`, `double` or `string`; a
    `double` takes integers too, a `string` takes anything, and an argument that does not fit
    ends the computation with an error that names it. `persist()` the answers when several
    predicates are asked for: each is computed from them.
    """
    wanted = {_signature(name): _columns(name, text) for name, text in columns.items()}
    return {
        str(signature): answers.mapInArrow(
            partial(typed_answers, predicate=signature.predicate, columns=named),
            ", ".join([*(f"`{name}` {kind}" for name, kind in named), "`from` long", "`to` long"]),
        )
        for signature, named in wanted.items()
    }


def typed_answers(
    batches: Iterable[pa.RecordBatch], predicate: str, columns: tuple[tuple[str, str], ...]
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
            *((name, _TYPES[kind][0]) for name, kind in columns),
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


def _value(argument: Any, name: str, kind: str, atom: str) -> Constant:
    _, allowed = _TYPES[kind]
    if not isinstance(argument, allowed):
        message = f"`{argument}` in `{atom}` is no {kind}, which the column `{name}` asks for"
        hint = "ask for `string`, which takes anything"
        raise LarsparkError(Problem("L485", message, hint=hint))
    match kind:
        case "double":
            return float(argument)
        case "string":
            return str(argument)
        case _:
            value: Constant = argument
            return value


def _signature(name: str) -> Signature:
    predicate, _, arity = name.rpartition("/")
    if not predicate or not arity.isdecimal():
        message = f"`{name}` is not a predicate with its number of arguments"
        raise LarsparkError(Problem("L485", message, hint="write it as in `alarm/2`"))
    return Signature(predicate, int(arity))


def _columns(name: str, text: str) -> tuple[tuple[str, str], ...]:
    pairs = [tuple(part.split()) for part in text.split(",") if part.strip()]
    problems = []
    for pair in pairs:
        if len(pair) != 2 or pair[1] not in _TYPES:
            message = f"`{' '.join(pair)}` is not a column of `{name}`"
            hint = f"write a name and one of {', '.join(_TYPES)}"
            problems.append(Problem("L485", message, hint=hint))
    if len(pairs) != _signature(name).arity:
        message = f"`{name}` has {_signature(name).arity} arguments, not {len(pairs)}"
        problems.append(Problem("L485", message))
    if problems:
        raise LarsparkError(problems)
    return tuple((column, kind) for column, kind in pairs)

"""Answers as tables: typed columns for each predicate, or one row for each time point."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Term
from larspark.feeds import parse_ground_atom
from larspark.scale.problem_transport import reports_problems
from larspark.scale.spark_session import DataFrame

# Names and types of columns.
Columns: TypeAlias = tuple[tuple[str, str], ...]

# The types that an argument can be converted to.
_TYPES = {"long": pa.int64(), "double": pa.float64(), "string": pa.string()}


def outputs(answers: DataFrame, columns: Mapping[str, str]) -> dict[str, DataFrame]:
    """For each predicate a DataFrame with a typed column for each argument, then from and to.

    `columns` maps predicates to the columns of their arguments, in order:
    `{"alarm/2": "sensor string, value double"}`. A type is `long`, `double` or `string`. A
    `double` also accepts integers, a `string` accepts anything, and an argument of another type
    fails the query with an error that names it. `persist()` the answers when several predicates
    are requested: each DataFrame is computed from them.
    """
    requested = {read_signature(name): read_columns(name, text) for name, text in columns.items()}
    return {
        str(signature): answers.mapInArrow(
            partial(reports_problems(typed_answers), predicate=signature.predicate, columns=named),
            ", ".join([*(f"`{name}` {kind}" for name, kind in named), "`from` long", "`to` long"]),
        )
        for signature, named in requested.items()
    }


def points(answers: DataFrame) -> DataFrame:
    """One row for each time point of each interval: a column `t` instead of `from` and `to`.

    Accepts all answers, and the typed answers of one predicate.
    """
    others = [f"`{name}`" for name in answers.columns if name not in ("from", "to")]
    return answers.selectExpr(*others, "explode(sequence(`from`, `to`)) as t")


def typed_answers(
    batches: Iterable[pa.RecordBatch], predicate: str, columns: Columns
) -> Iterator[pa.RecordBatch]:
    """The answers of one predicate, with typed columns.

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
                    _converted(argument, name, kind, text)
                    for argument, (name, kind) in zip(atom.args, columns, strict=True)
                ]
                rows.append((*values, start, end))
        arrays = zip(*rows, strict=True) if rows else [()] * len(schema)
        yield pa.RecordBatch.from_arrays(
            [pa.array(values, field.type) for values, field in zip(arrays, schema, strict=True)],
            schema=schema,
        )


def _converted(argument: Term, name: str, kind: str, atom: str) -> Constant:
    match kind, argument:
        case "string", _:
            return str(argument)
        case "long", int():
            return argument
        case "double", int() | float():
            return float(argument)
        case _:
            message = f"`{argument}` in `{atom}` is not a {kind}, the type of the column `{name}`"
            hint = "use `string`, which accepts anything"
            raise LarsparkError(Problem("L485", message, hint=hint))


def read_signature(name: str) -> Signature:
    """Parse a predicate with its number of arguments, such as `alarm/2`."""
    predicate, _, arity = name.rpartition("/")
    if not predicate or not arity.isdecimal():
        message = f"`{name}` is not a predicate with its number of arguments"
        raise LarsparkError(Problem("L485", message, hint="write it as in `alarm/2`"))
    return Signature(predicate, int(arity))


def read_columns(name: str, text: str) -> Columns:
    """Parse the argument columns of a predicate, such as `sensor string, v double`."""
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

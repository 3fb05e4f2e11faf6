"""Answers as typed columns: one table for each predicate."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import pyarrow as pa

from larspark.base.atoms import TIME_COLUMNS, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Term
from larspark.feeds.ground_atoms import parse_ground_atom

# Names and types of columns.
Columns: TypeAlias = tuple[tuple[str, str], ...]

# The key of the names of columns in the metadata of a schema.
_NAMES = b"larspark.columns"
_NAME = re.compile("[a-z][A-Za-z0-9_]*")

# The types that an argument can be converted to.
_TYPES = {"long": pa.int64(), "double": pa.float64(), "string": pa.string()}


def typed_answers(
    batches: Iterable[pa.RecordBatch], predicate: str, columns: Columns
) -> Iterator[pa.RecordBatch]:
    """The answers of one predicate, with typed columns; `from` and `to` stay what they are.

    >>> rows = {"atom": ["p(a,3)", "q(1)"], "from": [1, 2], "to": [1, 5]}
    >>> answers = pa.RecordBatch.from_pydict(rows)
    >>> [table] = typed_answers([answers], "p", (("who", "string"), ("much", "double")))
    >>> table.to_pylist()
    [{'who': 'a', 'much': 3.0, 'from': 1, 'to': 1}]
    """
    for batch in batches:
        texts = batch.column(0).to_pylist()
        atoms = {text: parse_ground_atom(text) for text in dict.fromkeys(texts)}
        wanted = (predicate, len(columns))
        chosen = [row for row, text in enumerate(texts) if atoms[text].signature == wanted]
        values = [
            [_converted(atoms[texts[row]].args[place], name, kind, texts[row]) for row in chosen]
            for place, (name, kind) in enumerate(columns)
        ]
        arrays = [pa.array(v, _TYPES[kind]) for v, (_, kind) in zip(values, columns, strict=True)]
        rows = pa.array(chosen, pa.int64())
        arrays += [batch.column(1).take(rows), batch.column(2).take(rows)]
        names = [*(name for name, _ in columns), "from", "to"]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def with_column_names(
    answers: pa.Table, named: Iterable[tuple[Signature, tuple[str, ...]]]
) -> pa.Table:
    """The answers, with names for the arguments of some predicates in the schema's metadata."""
    listed = [(signature.predicate, columns) for signature, columns in named]
    return answers.replace_schema_metadata({_NAMES: json.dumps(listed)}) if listed else answers


def column_names(answers: pa.Table) -> dict[Signature, tuple[str, ...]]:
    """The names in the schema's metadata; a file may hold any."""
    written = (answers.schema.metadata or {}).get(_NAMES)
    if written is None:
        return {}
    try:
        return dict(map(_named, json.loads(written)))
    except (ValueError, TypeError, RecursionError):
        message = "the names of columns in the metadata of the answers are damaged"
        raise LarsparkError(Problem("L485", message, hint="give the columns by hand")) from None


def _named(pair: object) -> tuple[Signature, tuple[str, ...]]:
    match pair:
        case [str(predicate), [*columns]]:
            names = tuple(str(name) for name in columns if _NAME.fullmatch(str(name)))
            if len({*names, *TIME_COLUMNS}) == len(columns) + len(TIME_COLUMNS):
                return Signature(predicate, len(names)), names
    raise ValueError("not a predicate with distinct names")


def guessed_columns(
    texts: Iterable[str], names: Mapping[Signature, tuple[str, ...]]
) -> dict[Signature, Columns]:
    """Columns for each predicate of the answers, with the types that fit.

    Their names are those of `names`, or `arg1`, `arg2`. A predicate that has names and no answers
    has columns of texts.

    >>> guessed_columns(["p(a,3)", "p(b,2.5)"], {})
    {Signature(predicate='p', arity=2): (('arg1', 'string'), ('arg2', 'double'))}
    """
    kinds: dict[Signature, list[set[type]]] = {}
    for text in dict.fromkeys(texts):
        atom = parse_ground_atom(text)
        found = kinds.setdefault(atom.signature, [set() for _ in atom.args])
        for place, argument in enumerate(atom.args):
            found[place].add(type(argument))
    for signature, columns in names.items():
        kinds.setdefault(signature, [{str} for _ in columns])
    return {
        signature: tuple(
            zip(
                names.get(signature) or [f"arg{n}" for n in range(1, signature.arity + 1)],
                map(_kind_of, found),
                strict=True,
            )
        )
        for signature, found in sorted(kinds.items())
    }


def _kind_of(types: set[type]) -> str:
    if str in types:
        return "string"
    return "double" if float in types else "long"


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
    given = [pair[0] for pair in pairs]
    for place, column in enumerate(given):
        if column in TIME_COLUMNS or column in given[:place]:
            message = f"`{name}` has two columns `{column}`"
            hint = "`from` and `to` say when an answer holds" if column in TIME_COLUMNS else ""
            problems.append(Problem("L485", message, hint=hint))
    if len(pairs) != read_signature(name).arity:
        message = f"`{name}` has {read_signature(name).arity} arguments, not {len(pairs)}"
        problems.append(Problem("L485", message))
    if problems:
        raise LarsparkError(problems)
    return tuple((column, kind) for column, kind in pairs)

"""Background data in files: facts that hold at every time point."""

import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO, TypeAlias

import numpy as np

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.feeds.byte_source import Format, Place, Source
from larspark.feeds.formats import jsonl, lars_facts
from larspark.feeds.formats.cells import (
    Column,
    constants,
    is_argument_type,
    text_column,
    typed_column,
)
from larspark.feeds.formats.columns import Table
from larspark.feeds.formats.tables import DELIMITERS, csv_table, first_record, open_table
from larspark.feeds.ground_atoms import NAME
from larspark.feeds.ordering import Blocks
from larspark.feeds.reading import BATCH_SIZE, PROBLEMS_KEPT, Refused

# The values of a row; None for a cell without a valid value, which is reported separately.
_Row: TypeAlias = tuple[Constant | None, ...]


def read_background(
    path: Place, signature: Signature | None = None, *, header: bool | None = None
) -> tuple[Atom, ...]:
    """The facts of a file, in any of the formats of streams, without times.

    The columns of a table are the arguments, in their order. The predicate is that of the
    signature, or else the name of the file. The first record of a CSV file is a header if `header`
    is true, or if `header` is None and some column has a text there and numbers in all other
    records. Otherwise it is a fact like the others.
    """
    source = Source(path)
    form = source.format(None)
    with source.open() as file:
        match form:
            case "jsonl":
                found = _atoms(jsonl.background_blocks(file, source.name), signature, source)
            case "lars":
                found = _atoms(lars_facts.background_blocks(file, source.name), signature, source)
            case _:
                found = _table_atoms(file, form, signature, source, header)
        atoms: list[Atom] = []
        problems: list[Problem] = []
        for item in found:
            if isinstance(item, Atom):
                atoms.append(item)
            elif len(problems) < PROBLEMS_KEPT:
                problems.append(item)
    if problems:
        raise LarsparkError(problems)
    return tuple(atoms)


def _atoms(blocks: Blocks, signature: Signature | None, source: Source) -> Iterator[Atom | Problem]:
    for block in blocks:
        for arrival in block:
            if isinstance(arrival, Problem):
                yield arrival
                continue
            _, atoms, line = arrival
            for atom in atoms:
                if signature is None or atom.signature == signature:
                    yield atom
                else:
                    message = f"{atom} is not a fact of `{signature}`"
                    yield Refused("L316", message).at(source.name, line)


def _table_atoms(
    file: BinaryIO, form: Format, signature: Signature | None, source: Source, header: bool | None
) -> Iterator[Atom | Problem]:
    table = _table(file, form, source)
    predicate = _predicate(table, signature, source)
    rows: list[_Row] = []
    problems: list[tuple[int, Problem]] = []
    for batch in table.read(table.schema.names):
        read = text_column if table.text else typed_column
        columns = [read(batch.column(place)) for place in range(len(table.schema.names))]
        problems += _problems(columns, table, len(rows))
        rows += zip(*map(constants, columns), strict=True)
    first = int(table.text and (_has_header(rows) if header is None else header))
    yield from (problem for row, problem in problems if row >= first)
    yield from table.records.pass_to(len(rows))[1]
    for values in rows[first:]:
        yield Atom(predicate, tuple([value for value in values if value is not None]))


def _table(file: BinaryIO, form: Format, source: Source) -> Table:
    if form not in DELIMITERS:
        return open_table(file, source.name, form, BATCH_SIZE)
    data = io.BytesIO(file.read())
    width = len(first_record(data, source.name, DELIMITERS[form]))
    data.seek(0)
    names = [str(place) for place in range(1, width + 1)]
    return csv_table(data, source.name, names, DELIMITERS[form], first_line=1)


def _predicate(table: Table, signature: Signature | None, source: Source) -> str:
    """The predicate of the table's facts; raises if its columns cannot be the arguments."""
    width = len(table.schema.names)
    if signature is not None and signature.arity != width:
        message = (
            f"{source.name} has {width} columns, but a fact of `{signature}` has {signature.arity}"
        )
        raise LarsparkError(Problem("L316", message))
    if signature is None and not NAME.fullmatch(source.stem):
        message = f"the name of {source.name} is not a valid predicate"
        hint = 'name one, e.g. `#background "lines.csv" as line/2.`'
        raise LarsparkError(Problem("L316", message, hint=hint))
    if not table.text:
        problems = [
            Problem(
                "L305",
                f"column `{field.name}` has the type {field.type}, which cannot be a constant",
            )
            for field in table.schema
            if not is_argument_type(field.type)
        ]
        if problems:
            raise LarsparkError(problems)
    return source.stem if signature is None else signature.predicate


def _problems(columns: Sequence[Column], table: Table, first: int) -> Iterator[tuple[int, Problem]]:
    for name, column in zip(table.schema.names, columns, strict=True):
        for row in np.flatnonzero(column.bad)[:PROBLEMS_KEPT]:
            refused = column.explain(int(row)).of_column(name)
            line = table.records.line_of(first + int(row))
            yield first + int(row), refused.at(table.name, line)


def _has_header(rows: Sequence[_Row]) -> bool:
    """Whether some column has a text in the first row and numbers in all others."""
    return len(rows) > 1 and any(
        isinstance(first, str) and all(isinstance(value, int | float) for value in others)
        for first, *others in zip(*rows, strict=True)
    )

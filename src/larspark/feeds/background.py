"""Background data in files: facts that hold at every time point."""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem, Severity, warn
from larspark.feeds.byte_source import LINE_LIMIT, Format, Place, Source
from larspark.feeds.formats import jsonl, lars_facts
from larspark.feeds.formats.cells import (
    TEXT_MEANT,
    Column,
    constants,
    decoded,
    guessed_kind,
    is_argument_type,
    text_column,
    typed_column,
    warn_of_text,
)
from larspark.feeds.formats.columns import Table
from larspark.feeds.formats.csv_layout import CsvLayout
from larspark.feeds.formats.tables import (
    CSV_FORMATS,
    csv_layout,
    csv_table,
    first_record,
    open_table,
)
from larspark.feeds.ground_atoms import NAME
from larspark.feeds.mapping import Kind, missing_columns
from larspark.feeds.ordering import Blocks
from larspark.feeds.reading import BATCH_SIZE, PROBLEMS_KEPT, Refused

_TYPED = 'columns have names and types in `#background "sites.csv" as site(text(id), name).`'
_HEADER_WORD = re.compile(rb"[A-Za-z]+([_ ][A-Za-z]+)*")


def read_background(
    path: Place,
    signature: Signature | None = None,
    *,
    columns: Sequence[str] = (),
    kinds: Sequence[Kind | None] = (),
) -> tuple[Atom, ...]:
    """The facts of a file, in any of the formats of streams, without times.

    The columns of a table are the arguments, in their order, or else those that `columns` names.
    The predicate is that of the signature, or else the name of the file. The first record of a CSV
    file is a header if `columns` are named, or if some column has a text there and numbers in all
    other records. Otherwise it is a fact like the others, with a warning if it looks like a header.
    `kinds` are what the columns of a table hold, where that is said; other values are problems.
    """
    source = Source(path)
    form = source.format(None)
    with source.open() as file:
        match form:
            case "jsonl" | "lars" if columns:
                message = f"{source.name} is no table, so its columns cannot be named"
                raise LarsparkError(Problem("L316", message))
            case "jsonl":
                found = _atoms(jsonl.background_blocks(file, source.name), signature, source)
            case "lars":
                found = _atoms(lars_facts.background_blocks(file, source.name), signature, source)
            case _:
                table = _table(file, form, source, signature, columns)
                predicate = _predicate(table, signature, source)
                found = _table_atoms(table, predicate, kinds, headed=bool(columns))
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
    table: Table, predicate: str, kinds: Sequence[Kind | None], *, headed: bool
) -> Iterator[Atom | Problem]:
    """The facts; unless the table is `headed`, its first record is a header or a fact."""
    names = table.schema.names
    batches = list(table.read(names))
    columns = [
        pa.concat_arrays([decoded(batch.column(place)) for batch in batches]) if batches else None
        for place in range(len(names))
    ]
    cells = [column for column in columns if column is not None]
    first = 0
    if table.text and not headed:
        first = int(_has_header(cells))
        if not first and _looks_like_header(cells):
            _warn_of_header(predicate, cells, table)
    found = [
        _values(column.slice(first), name, table, first, kind, headed=headed)
        for name, column, kind in zip(names, cells, kinds or repeat(None), strict=False)
    ]
    yield from (problem for _, problem in _problems(found, table, first))
    yield from table.records.pass_to(len(cells[0]) if cells else 0)[1]
    for values in zip(*map(constants, found), strict=True):
        yield Atom(predicate, tuple([value for value in values if value is not None]))


def _values(
    column: Any, name: str, table: Table, first: int, kind: Kind | None, *, headed: bool
) -> Column:
    """The constants of a column.

    CSV cells without a kind are numbers only if all of the column are plain numbers.
    """
    if not table.text:
        return typed_column(column, kind)
    if kind is not None:
        return text_column(column, kind)
    guess = guessed_kind(column)
    if guess is None:
        return text_column(column)
    guessed, odd = guess
    if odd is not None:
        line = table.records.line_of(first + odd)
        hint = TEXT_MEANT.format(name) if headed else _TYPED
        warn_of_text(name, column[odd].as_py(), table.name, line, hint)
    return text_column(column, guessed)


def _table(
    file: BinaryIO,
    form: Format,
    source: Source,
    signature: Signature | None,
    columns: Sequence[str],
) -> Table:
    """The table in a file; without names of columns, its first record is not read as a header."""
    if columns:
        table = open_table(file, source.name, form, BATCH_SIZE, needed=columns)
        if problems := missing_columns(columns, table.schema.names, source.name):
            raise LarsparkError(problems)
        return table._replace(schema=pa.schema([table.schema.field(name) for name in columns]))
    if form not in CSV_FORMATS:
        return open_table(file, source.name, form, BATCH_SIZE)
    data = io.BytesIO(file.read())
    line = data.readline(LINE_LIMIT).decode(errors="replace").rstrip("\n")
    layout = csv_layout(form, CsvLayout())
    delimiter = layout.delimiter_of(line, width=0 if signature is None else signature.arity)
    data.seek(0)
    width = len(first_record(data, source.name, delimiter))
    data.seek(0)
    names = [str(place) for place in range(1, width + 1)]
    return csv_table(data, source.name, names, delimiter, first_line=1)


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
    # A table without records has no columns of values.
    for name, column in zip(table.schema.names, columns, strict=False):
        for row in np.flatnonzero(column.bad)[:PROBLEMS_KEPT]:
            refused = column.explain(int(row)).of_column(name)
            line = table.records.line_of(first + int(row))
            yield first + int(row), refused.at(table.name, line)


def _has_header(columns: Sequence[Any]) -> bool:
    """Whether some column has a text in the first row and numbers in all others."""
    for column in columns:
        if len(column) < 2:
            return False
        first, *others = constants(text_column(column))
        if isinstance(first, str) and all(isinstance(value, int | float) for value in others):
            return True
    return False


def _looks_like_header(columns: Sequence[Any]) -> bool:
    """Whether the first row consists of different words, which do not come again below."""
    if not columns or len(columns[0]) < 2:
        return False
    words = [column[0].as_py() for column in columns]
    return len({*words}) == len(words) and all(
        word is not None
        and _HEADER_WORD.fullmatch(word)
        and not pc.is_in(pa.array([word]), column[1:]).to_pylist()[0]
        for word, column in zip(words, columns, strict=True)
    )


def _warn_of_header(predicate: str, columns: Sequence[Any], table: Table) -> None:
    words = [column[0].as_py().decode() for column in columns]
    message = f"the first record is read as a fact: {Atom(predicate, tuple(words))}"
    named = f"{predicate}({', '.join(words)})"
    hint = f'if it is a header, name the columns: `#background "{table.name}" as {named}.`'
    problem = Refused("L329", message, hint).at(table.name, 1)
    warn(replace(problem, severity=Severity.WARNING))

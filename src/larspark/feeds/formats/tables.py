"""Tables from files and from memory: CSV, Parquet, Arrow, pandas, polars."""

import csv
import io
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import BYTE_ORDER_MARK, LINE_LIMIT, Format, text_of
from larspark.feeds.formats.columns import Records, Table
from larspark.feeds.formats.csv_layout import CsvLayout, header_cells
from larspark.feeds.reading import Refused

# Unquoted cells that count as empty.
_MISSING = ["", "NaN", "nan", "NAN"]
CSV_FORMATS: dict[Format, str | None] = {"csv": None, "tsv": "\t"}
_FILE_MAGIC = b"ARROW1"


class Rejoined(io.RawIOBase):
    """The bytes of two files, one after the other."""

    def __init__(self, first: BinaryIO, second: BinaryIO) -> None:
        self._files = [first, second]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while self._files:
            if data := self._files[0].read(len(buffer)):
                buffer[: len(data)] = data
                return len(data)
            self._files.pop(0)
        return 0


def open_table(
    file: BinaryIO,
    name: str,
    form: Format,
    batch_size: int,
    layout: CsvLayout = CsvLayout(),  # noqa: B008 - it cannot change
    needed: Collection[str] = (),
) -> Table:
    """The table in a file, read batch by batch; `needed` columns help to find the delimiter."""
    if form in CSV_FORMATS:
        return _csv_with_header(file, name, csv_layout(form, layout), needed)
    if form == "parquet":
        parquet = pyarrow.parquet.ParquetFile(file)

        def read(columns: list[str]) -> Iterator[Any]:
            return iter(parquet.iter_batches(batch_size, columns=columns))

        return Table(name, parquet.schema_arrow, read, Records())
    reader = _arrow_reader(file)
    return _reader_table(reader, _arrow_batches(reader), name)


def csv_layout(form: Format, layout: CsvLayout) -> CsvLayout:
    """The layout, with the delimiter of the format where none is given."""
    return replace(layout, delimiter=layout.delimiter or CSV_FORMATS[form])


def _csv_with_header(
    file: BinaryIO, name: str, layout: CsvLayout, needed: Collection[str]
) -> Table:
    line = file.readline(LINE_LIMIT + 1).removeprefix(BYTE_ORDER_MARK)
    first = io.BytesIO(line)
    text = line.decode(errors="replace").rstrip("\n")
    delimiter = layout.delimiter_of(text, needed)
    if layout.columns is None:
        names = first_record(Rejoined(first, file), name, delimiter)
        return csv_table(file, name, names, delimiter, first_line=2)
    columns = list(layout.columns)
    if text and header_cells(text, delimiter) == columns:
        return csv_table(file, name, columns, delimiter, first_line=2)
    return csv_table(Rejoined(first, file), name, columns, delimiter, first_line=1)


def memory_table(table: Any, name: str) -> Table:
    """A table in memory: pyarrow, or any object with the Arrow stream interface."""
    reader = _memory_reader(table)
    return _reader_table(reader, reader, name)


def at_one_time(table: Any, t: int, column: str) -> Any:
    """The table as Arrow, with an added column that holds the time point t."""
    read = _memory_reader(table).read_all()
    return read.append_column(column, pa.array(np.full(read.num_rows, t)))


def _memory_reader(table: Any) -> Any:
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not hasattr(table, "__arrow_c_stream__"):
        # Lazy frames of polars, and relations of older versions of DuckDB.
        methods = (getattr(table, name, None) for name in ("collect", "fetch_arrow_table"))
        table = next((method() for method in methods if callable(method)), table)
    try:
        return pa.RecordBatchReader.from_stream(table)
    except (TypeError, pa.ArrowException) as error:
        why = str(error).split("\n")[0]
        message = f"a {type(table).__name__} cannot be read as a table: {why}"
        hint = "give a pyarrow table, a pandas or polars data frame, or a DuckDB relation"
        if "Conversion failed for column" in str(error):
            why = str(error).strip("()")
            hint = 'give each column one type, such as `frame.astype({"value": str})`'
        raise LarsparkError(Problem("L302", message, hint=hint)) from None


def csv_table(
    file: Rejoined | BinaryIO, name: str, names: list[str], delimiter: str, first_line: int
) -> Table:
    """The rest of a CSV file as a table of cells; `first_line` is the number of its first line."""
    records = Records(first_line)
    # `time, value`: what follows a delimiter and a space.
    padded = [column.strip() for column in names if column.startswith(" ")]
    if padded and len({column.strip() for column in names}) == len(names):
        names = [column.strip() for column in names]

    def refuse(row: Any) -> str:
        message = f"the record has {row.actual_columns} values, not {row.expected_columns}"
        text = row.text
        records.refuse(row.number - 1, lambda line: Refused("L316", message).at(name, line, text))
        return "skip"

    def read(columns: list[str]) -> Iterator[Any]:
        try:
            batches = pyarrow.csv.open_csv(
                file,
                # Only without threads does Arrow number the invalid records.
                pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=LINE_LIMIT, column_names=names
                ),
                pyarrow.csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse
                ),
                pyarrow.csv.ConvertOptions(
                    include_columns=columns,
                    column_types=dict.fromkeys(columns, pa.binary()),
                    null_values=_MISSING,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            yield from (_without_padding(batch, padded) for batch in batches)
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):
                message = f"a record of {name} is longer than {LINE_LIMIT} bytes"
                raise LarsparkError(Problem("L306", message)) from None
            # A header without records is an empty table.
            if "Empty CSV" not in str(error):
                raise

    schema = pa.schema([(column, pa.binary()) for column in names])
    return Table(name, schema, read, records, text=True)


def _without_padding(batch: Any, padded: Collection[str]) -> Any:
    """The batch without the spaces around the cells of some of its columns."""
    for name in {*padded} & {*batch.schema.names}:
        cells = pc.replace_substring_regex(batch[name], "^ +| +$", "")
        missing = pc.is_in(cells, pa.array(_MISSING, pa.binary()))
        cells = pc.if_else(missing, pa.scalar(None, pa.binary()), cells)
        batch = batch.set_column(batch.schema.get_field_index(name), name, cells)
    return batch


def first_record(file: Rejoined | BinaryIO, name: str, delimiter: str) -> list[str]:
    """The cells of a CSV file's first record."""
    lines = iter(lambda: file.readline(LINE_LIMIT + 1), b"")
    try:
        texts = (text_of(line if len(line) <= LINE_LIMIT else None) for line in lines)
        cells = next(csv.reader(texts, delimiter=delimiter), [])
    except Refused as refused:
        raise LarsparkError(refused.at(name, 1)) from None
    except csv.Error as error:
        raise LarsparkError(
            Refused("L304", f"the header cannot be read: {error}").at(name, 1)
        ) from None
    if not cells:
        raise LarsparkError(Refused("L304", "there are no columns").at(name, 1))
    return cells


def _arrow_reader(file: BinaryIO) -> Any:
    if not file.seekable():
        return pa.ipc.open_stream(file)
    start = file.tell()
    magic = file.read(len(_FILE_MAGIC))
    file.seek(start)
    return pa.ipc.open_file(file) if magic == _FILE_MAGIC else pa.ipc.open_stream(file)


def _arrow_batches(reader: Any) -> Iterator[Any]:
    batches: Iterable[Any] = reader
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    for batch in batches:
        # Lengths and offsets in a file are trusted by every function of Arrow.
        batch.validate(full=True)
        yield batch


def _reader_table(reader: Any, batches: Iterable[Any], name: str) -> Table:
    return Table(name, reader.schema, lambda _columns: iter(batches), Records())

"""Answers of a stream as typed tables with timestamps, partitioned by day: Delta Lake or Parquet.

Spark repeats a micro-batch after a crash. Both sinks write it once: Delta Lake keeps the number of
the last micro-batch of each stream with the data, and Parquet files are named by it.
"""

import json
import posixpath
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from larspark.base.atoms import Signature
from larspark.base.disk import Disk
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.answer_columns import Columns, read_columns, read_signature, typed_answers
from larspark.language import tree
from larspark.scale.answer_tables import tick_of
from larspark.scale.spark_session import DataFrame, PySparkException

TableFormat: TypeAlias = Literal["delta", "parquet"]
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
# What the last micro-batch wrote, in a folder that readers ignore.
_LAST = "_larspark/last.json"


class TableSink(NamedTuple):
    """Where the tables of a stream are, and what their columns are."""

    place: str
    tables: Mapping[Signature, Columns]
    tick: int
    app: str | None
    storage: Mapping[str, str]


def table_sink(
    place: str | Path,
    program: str | tree.Program,
    columns: Mapping[str, str],
    *,
    format: TableFormat = "delta",  # noqa: A002 - Spark's word
    app: str | None = None,
    storage: Mapping[str, str] = _NO_OPTIONS,
) -> Callable[[DataFrame, int], None]:
    """A function for `writeStream.foreachBatch` that appends the answers to a table per predicate.

    `columns` are those of `outputs`: `{"alarm/2": "sensor string, value double"}`; the tables also
    have `from`, `to`, `begins`, `ends` (exclusive) and `day`, by which they are partitioned. The
    table of `alarm/2` is `place/alarm`. `app` names the stream in the transactions of Delta Lake,
    and is the query's own id by default; `storage` are the options of its object store.
    """
    if format not in ("delta", "parquet"):
        message = f"the format of a table cannot be {format!r}"
        raise LarsparkError(Problem("L490", message, hint="one of delta, parquet"))
    if format == "delta":
        _delta()
    tables = {read_signature(name): read_columns(name, text) for name, text in columns.items()}
    sink = TableSink(str(place), tables, tick_of(program), app, dict(storage))
    return partial(_append if format == "delta" else _write, sink=sink)


def _append(answers: DataFrame, batch: int, sink: TableSink) -> None:
    # One action only: each action would evaluate the micro-batch again.
    append_delta(answers.toArrow(), batch, sink, sink.app or query_id(answers))


def _write(answers: DataFrame, batch: int, sink: TableSink) -> None:
    write_parquet(answers.toArrow(), batch, sink)


def _delta() -> Any:
    """The package `deltalake`."""
    try:
        import deltalake
    except ImportError:
        message = "tables of Delta Lake need the package deltalake"
        hint = "install it with `pip install 'larspark[delta]'`"
        raise LarsparkError(Problem("L489", message, hint=hint)) from None
    return deltalake


def _timed(rows: pa.Table, sink: TableSink) -> dict[str, pa.Table]:
    """The answers of each table that has any, with timestamps."""
    if "late" in rows.column_names:
        rows = rows.filter(pc.invert(rows["late"]))
    rows = rows.filter(pc.is_valid(rows["atom"])).select(["atom", "from", "to"])
    found = {}
    for signature, columns in sink.tables.items():
        table = with_times(typed_answers(rows.to_batches(), signature.predicate, columns), sink)
        if table is not None:
            found[signature.predicate] = table
    return found


def with_times(batches: Iterable[pa.RecordBatch], sink: TableSink) -> pa.Table | None:
    """Typed answers with the timestamps of their intervals and the day of their begin.

    >>> batch = pa.RecordBatch.from_pydict({"who": ["a"], "from": [1440], "to": [1441]})
    >>> sink = TableSink("", {}, 60_000_000, None, {})
    >>> row = with_times([batch], sink).to_pylist()[0]
    >>> str(row["begins"]), str(row["ends"]), str(row["day"])
    ('1970-01-02 00:00:00+00:00', '1970-01-02 00:02:00+00:00', '1970-01-02')
    """
    full = [batch for batch in batches if batch.num_rows]
    if not full:
        return None
    table = pa.Table.from_batches(full)
    kind = pa.timestamp("us", tz="UTC")
    begins = pc.multiply(table["from"], sink.tick)
    ends = pc.multiply(pc.add(table["to"], 1), sink.tick)
    days = pc.floor_temporal(begins.cast(kind), unit="day").cast(pa.date32())
    for name, column in (("begins", begins.cast(kind)), ("ends", ends.cast(kind)), ("day", days)):
        table = table.append_column(name, column)
    return table.sort_by([("from", "ascending"), *((n, "ascending") for n in table.column_names)])


def append_delta(rows: pa.Table, batch: int, sink: TableSink, app: str) -> None:
    """Append the answers of a micro-batch, unless the table has them already."""
    delta = _delta()
    storage = dict(sink.storage)
    for predicate, table in _timed(rows, sink).items():
        place = posixpath.join(sink.place, predicate)
        if "://" not in place:
            Path(place).mkdir(parents=True, exist_ok=True)
        if delta.DeltaTable.is_deltatable(place, storage_options=storage):
            known = delta.DeltaTable(place, storage_options=storage).transaction_version(app)
            if known is not None and known >= batch:
                # Written by an earlier attempt, whose commit Spark had not heard of.
                continue
        transaction = delta.Transaction(app_id=app, version=batch)
        delta.write_deltalake(
            place,
            table,
            mode="append",
            partition_by=["day"],
            storage_options=storage,
            commit_properties=delta.CommitProperties(app_transactions=[transaction]),
        )


def query_id(answers: DataFrame) -> str:
    """The id of the query that writes, which its checkpoint keeps."""
    try:
        found = answers.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    except PySparkException:
        found = None
    if found is None:
        message = "the stream has no name for its transactions"
        raise LarsparkError(Problem("L490", message, hint="give one as `app`, and keep it"))
    return str(found)


def write_parquet(rows: pa.Table, batch: int, sink: TableSink) -> None:
    """Write a file for each table and day, under names that depend on the micro-batch only."""
    files = {}
    for predicate, table in _timed(rows, sink).items():
        for day in pc.unique(table["day"]).to_pylist():
            of_day = table.filter(pc.equal(table["day"], day)).drop_columns(["day"])
            files[f"{predicate}/day={day}/batch-{batch:09}.parquet"] = of_day
    store, root = _file_system(sink.place)
    before = _last(store, posixpath.join(root, _LAST))
    if before["batch"] == batch:
        # An earlier attempt may have written other days, by another program.
        for name in set(before["files"]) - files.keys():
            if store.get_file_info(posixpath.join(root, name)).type != pyarrow.fs.FileType.NotFound:
                store.delete_file(posixpath.join(root, name))
    note = json.dumps({"batch": batch, "files": sorted(files)})
    _write_file(store, posixpath.join(root, _LAST), note.encode())
    for name, of_day in files.items():
        content = BytesIO()
        pq.write_table(of_day, content)
        _write_file(store, posixpath.join(root, name), content.getvalue())


def _last(store: Any, path: str) -> dict[str, Any]:
    """The number of the last micro-batch and the files that it was to write."""
    if store.get_file_info(path).type == pyarrow.fs.FileType.NotFound:
        return {"batch": -1, "files": []}
    with store.open_input_stream(path) as file:
        found: dict[str, Any] = json.loads(file.read())
    return found


def _file_system(place: str) -> tuple[Any, str]:
    """The file system of a place, and the path in it."""
    if "://" in place:
        found: tuple[Any, str] = pyarrow.fs.FileSystem.from_uri(place)
        return found
    return pyarrow.fs.LocalFileSystem(), str(Path(place).absolute())


def _write_file(store: Any, path: str, content: bytes) -> None:
    """Write a file as a whole or not at all: by renaming, or as an object of an object store."""
    if isinstance(store, pyarrow.fs.LocalFileSystem):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Disk().replace(Path(path), content)
        return
    with store.open_output_stream(path) as file:
        file.write(content)

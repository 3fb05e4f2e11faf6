"""Blocks of JSON lines read as columns, where the lines of a block are alike.

The readers here agree with `JsonLines` and `MappedObjects`, which define what a line means. They
give None for a block that is not plain, or in which something is wrong: it is read line by line.
"""

import io
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from larspark.base.arrow_numpy import arrow_array, numpy_array
from larspark.base.atoms import Signature
from larspark.base.facts import Segment
from larspark.feeds.byte_source import LINE_LIMIT
from larspark.feeds.formats.atom_columns import AtomColumns, atom_columns
from larspark.feeds.formats.cells import EXACT_FLOAT
from larspark.feeds.formats.columns import Grid, field_values
from larspark.feeds.formats.time_columns import Times, typed_time_column
from larspark.feeds.mapping import Mapping
from larspark.feeds.reading import Options
from larspark.feeds.times import LARGE_TIME, warn_of_unit

_NEWLINE, _OPENING, _CLOSING = b"\n{}"
# Arrow reads such numbers, which are not JSON; and escapes may write lone surrogates.
_ODD = (b"NaN", b"Inf", b"\\u")


class BlockFacts(NamedTuple):
    """The facts of a block in the order of arrival, and the newest time after it."""

    segments: list[Segment]
    facts: int
    lines: int
    newest: int


class BlockReader(Protocol):
    """Reads blocks of complete lines as columns.

    `timestamps` says whether times were timestamps so far, and not integers.
    """

    timestamps: bool

    def read(self, block: bytes, newest: int, first_seq: int) -> BlockFacts | None:
        """The facts of a block, none of them late; None if it must be read line by line."""


def block_reader(mappings: tuple[Mapping, ...], options: Options) -> BlockReader:
    """The reader of blocks of JSON objects, mapped ones or such that hold atoms."""
    return MappedBlocks(mappings, options) if mappings else NativeBlocks(options)


class NativeBlocks:
    """Blocks of lines that hold atoms, such as `{"t": 36, "atom": "tram(a1,b)"}`."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._warned = False
        self.timestamps = False

    def read(self, block: bytes, newest: int, first_seq: int) -> BlockFacts | None:
        block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        lines = _alike(block)
        first = None if lines is None else _first_object(block)
        if lines is None or first is None or type(first.get("t")) not in (int, str):
            return None
        found = None
        if first.keys() == {"t", "predicate", "args"}:
            found = _predicates(block, lines, type(first["t"]))
        elif first.keys() in ({"t", "atom"}, {"t", "atoms"}):
            found = _texts(block, lines, first)
        if found is None:
            return None
        times = self._time_points(found[0])
        if times is None or not len(times):
            return None
        seen = np.maximum.accumulate(np.append(newest, times))
        if (times < seen[:-1] - self._options.lateness).any():
            return None
        self.timestamps = self.timestamps or type(first["t"]) is str
        segments = [_segment(each, times, first_seq) for each in found[1]]
        return BlockFacts(segments, len(times), lines, int(seen[-1]))

    def _time_points(self, values: pa.Array) -> Times | None:
        if values.null_count:
            return None
        times, bad, _, counted = typed_time_column(
            values, self._options.tick, zone=self._options.local
        )
        if bad.any():
            return None
        if counted > LARGE_TIME and not self._warned:
            self._warned = warn_of_unit(counted, self._options.tick)
        return times


def _segment(atoms: AtomColumns, times: Times, first_seq: int) -> Segment:
    predicate, rows, arguments = atoms
    order = np.arange(len(times)) if rows is None else rows
    own = times if rows is None else times[rows]
    arrays = [arrow_array(own), arrow_array(order + first_seq), *arguments]
    names = ["t", "seq", *map(str, range(len(arguments)))]
    return Segment(Signature(predicate, len(arguments)), pa.table(arrays, names=names))


def _texts(
    block: bytes, lines: int, first: dict[str, Any]
) -> tuple[pa.Array, list[AtomColumns]] | None:
    """The times and atoms of lines with one atom or several, as texts."""
    key = "atom" if "atom" in first else "atoms"
    kind = pa.string() if key == "atom" else pa.list_(pa.string())
    time = pa.int64() if type(first["t"]) is int else pa.string()
    table = _arrow_table(block, lines, pa.schema([("t", time), (key, kind)]), "error")
    if table is None or table[key].null_count:
        return None
    times, texts = table["t"], table[key]
    if key == "atoms":
        counts = numpy_array(pc.list_value_length(texts))
        if not counts.all():
            # A line without atoms advances time.
            return None
        times = times.take(arrow_array(np.repeat(np.arange(lines), counts)))
        texts = texts.flatten()
    atoms = atom_columns(texts)
    return None if atoms is None else (times, atoms)


_FIELDS = itemgetter("t", "predicate", "args")


def _predicates(block: bytes, lines: int, time: type) -> tuple[pa.Array, list[AtomColumns]] | None:
    """The times and atoms of lines with a predicate and its arguments."""
    try:
        # Where each line has these three values, and none of them is an object, no object reaches
        # over the end of a line.
        records = orjson.loads(b"[" + block[:-1].replace(b"\n", b",") + b"]")
        if len(records) != lines or {*map(len, records)} != {3}:
            return None
        times, names, args = zip(*map(_FIELDS, records), strict=True)
    except (ValueError, KeyError, TypeError):
        return None
    if {*map(type, times)} != {time} or {*map(type, names)} != {str} or "" in names:
        return None
    moments = _array(times, _ARROW[time])
    if moments is None or {*map(type, args)} != {list}:
        return None
    found: list[AtomColumns] = []
    for key, rows in _groups(names, args):
        chosen = args if rows is None else [args[row] for row in rows]
        arguments = [_argument_column(column) for column in zip(*chosen, strict=True)]
        known = [column for column in arguments if column is not None]
        if len(known) < len(arguments):
            return None
        found.append(AtomColumns(key, None if rows is None else np.array(rows), known))
    return moments, found


def _groups(
    names: Sequence[str], args: Sequence[Sequence[Any]]
) -> Iterator[tuple[str, list[int] | None]]:
    """The predicates, and the rows with each number of arguments; None for all rows."""
    if len({*names}) == 1 and len({*map(len, args)}) == 1:
        yield names[0], None
        return
    rows: dict[tuple[str, int], list[int]] = {}
    for row, key in enumerate(zip(names, map(len, args), strict=True)):
        rows.setdefault(key, []).append(row)
    for (name, _), places in rows.items():
        yield name, places


def _argument_column(values: tuple[Any, ...]) -> pa.Array | None:
    """Arguments that are all texts, all integers, or all numbers; else None."""
    kinds = {*map(type, values)}
    if kinds == {str}:
        return _array(values, pa.string())
    if kinds == {int}:
        return _array(values, pa.int64())
    if kinds <= {int, float}:
        # Beyond this an integer loses digits as a float.
        floats = np.array(values, np.float64)
        return arrow_array(floats) if (np.abs(floats) < EXACT_FLOAT).all() else None
    return None


def _array(values: Sequence[Any], kind: Any) -> pa.Array | None:
    try:
        if kind == pa.int64():
            return arrow_array(np.array(values, np.int64))
        text = "".join(values)
        if text.isascii():
            ends = np.zeros(len(values) + 1, np.int32)
            np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=ends[1:])
            data = pa.py_buffer(text.encode())
            return pa.StringArray.from_buffers(len(values), pa.py_buffer(ends), data)
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError):
        return None


class MappedBlocks:
    """Blocks of lines with JSON objects whose fields are mapped to atoms."""

    def __init__(self, mappings: tuple[Mapping, ...], options: Options) -> None:
        self._mappings = mappings
        self._options = options
        named = [(mapping.time, mapping.time_path) for mapping in mappings]
        named += [(arg.name, arg.path) for mapping in mappings for arg in mapping.arguments]
        self._fields = dict(named)
        # Whether integers are read as floats, because a block had both in a field.
        self._floats = False
        self._warned = False
        self.timestamps = False

    def read(self, block: bytes, newest: int, first_seq: int) -> BlockFacts | None:
        block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        lines = _alike(block)
        first = None if lines is None else _first_object(block)
        if lines is None or first is None:
            return None
        paths = self._paths(first, block)
        kinds = None if paths is None else _kinds(first, paths)
        if paths is None or kinds is None:
            return None
        batch = self._batch(block, lines, paths, kinds)
        if batch is None:
            return None
        grid = Grid(batch, self._mappings, {}, False, self._options, newest)
        if grid.bad.any() or grid.late.any():
            return None
        if grid.counted > LARGE_TIME and not self._warned:
            self._warned = warn_of_unit(grid.counted, self._options.tick)
        if any(m.unit is not None or pa.types.is_string(kinds[m.time]) for m in self._mappings):
            self.timestamps = True
        numbers = np.arange(grid.bad.size).reshape(grid.bad.shape) + first_seq
        return BlockFacts(grid.segments(~grid.bad, numbers), grid.bad.size, lines, grid.newest)

    def _paths(self, first: dict[str, Any], block: bytes) -> dict[str, tuple[str, ...]] | None:
        """The keys to each field; None if they may differ between lines."""
        paths: dict[str, tuple[str, ...]] = {}
        for name, path in self._fields.items():
            if path and name not in first and orjson.dumps(name) in block:
                return None
            paths[name] = (name,) if name in first or not path else path
        return paths

    def _batch(
        self,
        block: bytes,
        lines: int,
        paths: dict[str, tuple[str, ...]],
        kinds: dict[str, Any],
    ) -> pa.RecordBatch | None:
        """The fields as columns; None if a field has several types, or is missing somewhere."""
        for floats in (False, True)[self._floats :]:
            table = _arrow_table(block, lines, _schema(paths, kinds, floats), "ignore")
            if table is not None:
                self._floats = floats
                break
        else:
            return None
        columns = [field_values(table, path) for path in paths.values()]
        if any(column.null_count or not _exact(column) for column in columns):
            return None
        return pa.RecordBatch.from_arrays(columns, names=list(paths))


def _kinds(first: dict[str, Any], paths: dict[str, tuple[str, ...]]) -> dict[str, Any] | None:
    """The Arrow types of the fields, by the first object."""
    kinds: dict[str, Any] = {}
    for name, path in paths.items():
        value: Any = first
        for key in path:
            value = value.get(key) if type(value) is dict else None
        kind = _ARROW.get(type(value))
        if kind is None:
            return None
        kinds[name] = kind
    return kinds


_ARROW = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def _schema(paths: dict[str, tuple[str, ...]], kinds: dict[str, Any], floats: bool) -> pa.Schema:
    """The schema that reads fields; with `floats`, integers are read as floats."""
    tree: dict[str, Any] = {}
    for name, path in paths.items():
        branch = tree
        for key in path[:-1]:
            branch = branch.setdefault(key, {})
        kind = kinds[name]
        branch[path[-1]] = pa.float64() if floats and pa.types.is_int64(kind) else kind
    return pa.schema(_struct_fields(tree))


def _struct_fields(tree: dict[str, Any]) -> list[pa.Field]:
    return [
        pa.field(name, pa.struct(_struct_fields(kind)) if isinstance(kind, dict) else kind)
        for name, kind in tree.items()
    ]


def _exact(column: pa.Array) -> bool:
    """Whether numbers read as floats lost no digits."""
    if not pa.types.is_floating(column.type):
        return True
    return bool((np.abs(numpy_array(column)) < EXACT_FLOAT).all())


def _alike(block: bytes) -> int | None:
    """The number of lines, if each of them begins and ends as an object does; else None.

    Then no object reaches over a line end: a line break cannot stand in a string, and no object
    begins right after another one has ended.
    """
    # Looking for one byte is much faster than for several.
    if any(odd[:1] in block and odd in block for odd in _ODD) or not _is_text(block):
        return None
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    if not len(ends) or ends[-1] != len(data) - 1 or data[0] != _OPENING:
        return None
    if (data[ends - 1] != _CLOSING).any() or (data[ends[:-1] + 1] != _OPENING).any():
        return None
    return len(ends) if np.diff(ends, prepend=-1).max() <= LINE_LIMIT else None


def _is_text(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _first_object(block: bytes) -> dict[str, Any] | None:
    try:
        first = orjson.loads(block[: block.index(b"\n")])
    except orjson.JSONDecodeError:
        return None
    return first if isinstance(first, dict) else None


def _arrow_table(block: bytes, lines: int, schema: pa.Schema, others: str) -> Any | None:
    """The lines as a table; None if one of them does not fit the schema.

    A field that occurs twice in a line is an error to Arrow, as are other types than those of the
    schema. Missing fields are null.
    """
    try:
        table = pyarrow.json.read_json(
            io.BytesIO(block),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others),
        )
    except pa.ArrowException:
        return None
    # Several objects on a line, too, are not what `JsonLines` reads.
    if table.num_rows != lines:
        return None
    (batch,) = table.combine_chunks().to_batches()
    return batch

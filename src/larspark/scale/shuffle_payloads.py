"""Rows that Spark shuffles: facts packed for pieces, and answers packed for merging.

**Facts.** A fact goes to the shard of its key, and to each slice that it can affect: its own, and
those that start at most the lookback after it. Each batch gives one Arrow payload for each piece,
so that argument types are kept exactly and Spark shuffles a few large rows instead of many small
ones.

**Answers.** An interval that touches the boundary of a slice may continue in the next one, and
predicates that several shards derive in parts may have overlapping intervals. Pieces pack these by
atom for merging, and all other answers as complete.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.facts import Segment
from larspark.scale.buckets import bucket_column
from larspark.scale.grid import Grid
from larspark.scale.job import Loaded, load
from larspark.scale.table_facts import Shape, find_facts

FACTS_SCHEMA = pa.schema(
    [
        ("piece", pa.int32()),
        ("place", pa.int32()),
        ("predicate", pa.string()),
        ("payload", pa.binary()),
    ]
)
FACTS_SPARK_SCHEMA = "piece int, place int, predicate string, payload binary"


class Packed(NamedTuple):
    """Facts of one predicate for one piece; `place` is that of their shape."""

    piece: int
    place: int
    predicate: str
    payload: bytes


def pack_partition(
    batches: Iterable[pa.RecordBatch], shape: Shape, job_text: str
) -> Iterator[pa.RecordBatch]:
    """The facts of a partition, packed for their pieces."""
    loaded = load(job_text)
    for batch in batches:
        found = find_facts(pa.Table.from_batches([batch]), shape, loaded.job.tick)
        rows = [row for segment in found.segments for row in _pack(segment, shape.place, loaded)]
        columns = zip(*rows, strict=True) if rows else [[]] * len(FACTS_SCHEMA)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, FACTS_SCHEMA, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=FACTS_SCHEMA)


def _pack(segment: Segment, place: int, loaded: Loaded) -> Iterator[Packed]:
    grid = loaded.job.grid
    table = segment.table.drop_columns(["seq"]).combine_chunks()
    times = table["t"].to_numpy()
    shards = shards_of(segment, loaded)
    for number in range(len(grid.starts)):
        first, last = grid.timeline_start(number), grid.slice(number)[1]
        # With hindsight there is one slice, and the facts after it are needed.
        if loaded.job.hindsight:
            last = max(last, loaded.job.end)
        low, high = np.searchsorted(times, [first, last + 1]).tolist()
        if low == high:
            continue
        for shard, rows in rows_by_shard(shards, low, high, grid.shards):
            part = table.slice(low, high - low) if rows is None else table.take(pa.array(rows))
            piece = shard * len(grid.starts) + number
            yield Packed(piece, place, segment.signature.predicate, to_bytes(part))


def shards_of(segment: Segment, loaded: Loaded) -> npt.NDArray[np.int64] | None:
    """The shard of each fact; -1 for no shard; None when the facts go to all shards."""
    if loaded.job.grid.shards == 1 or segment.signature in loaded.everywhere:
        return None
    if segment.signature not in loaded.key:
        # No rule reads it, and in a program with a key no window counts it.
        return np.full(segment.table.num_rows, -1, dtype=np.int64)
    values = segment.table[str(loaded.key[segment.signature])]
    shards: npt.NDArray[np.int64] = bucket_column(values) % loaded.job.grid.shards
    return shards


def rows_by_shard(
    shards: npt.NDArray[np.int64] | None, low: int, high: int, count: int
) -> Iterator[tuple[int, npt.NDArray[np.int64] | None]]:
    """The rows from low to high of each shard; None when a shard gets all rows."""
    if shards is None:
        for shard in range(count):
            yield shard, None
        return
    # Stable, so that the rows of a shard stay sorted by time.
    rows = np.argsort(shards[low:high], kind="stable") + low
    ends = np.searchsorted(shards[rows], np.arange(count + 1))
    for shard in range(count):
        if ends[shard] < ends[shard + 1]:
            yield shard, rows[ends[shard] : ends[shard + 1]]


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


ANSWERS_SCHEMA = pa.schema(
    [("bucket", pa.int32()), ("complete", pa.bool_()), ("payload", pa.binary())]
)
ANSWERS_SPARK_SCHEMA = "bucket int, complete boolean, payload binary"

# Answers in one payload: large enough to be efficient, small enough for a row.
_CHUNK = 1 << 17


def packed_answers(
    answers: pa.Table, piece: int, grid: Grid, buckets: int, parts: pa.Table | None = None
) -> pa.Table:
    """The answers of a piece, packed: complete intervals, and intervals to be merged.

    `parts` are answers that other pieces may also have for the same time points.
    """
    first, last = grid.slice(piece)
    starts_before = pc.and_(pc.equal(answers["from"], first), first > grid.starts[0])
    continues = pc.and_(pc.equal(answers["to"], last), last < grid.last)
    touching = pc.or_(starts_before, continues)
    complete = answers.filter(pc.invert(touching))
    rows = [
        (piece % buckets, True, to_bytes(complete.slice(start, _CHUNK)))
        for start in range(0, max(1, complete.num_rows), _CHUNK)
    ]
    unfinished = answers.filter(touching)
    if parts is not None:
        unfinished = pa.concat_tables([unfinished, parts])
    texts = unfinished["atom"].to_pylist()
    homes = np.array([crc32((text or "").encode()) % buckets for text in texts], dtype=np.int64)
    for bucket in np.unique(homes).tolist():
        part = unfinished.filter(pa.array(homes == bucket))
        rows.append((bucket, False, to_bytes(part)))
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, ANSWERS_SCHEMA, strict=True)], ANSWERS_SCHEMA
    )


def merge_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The answers of a bucket: complete intervals at once, then the merged ones."""
    unfinished: list[pa.Table] = []
    for batch in batches:
        for complete, payload in zip(*(c.to_pylist() for c in batch.columns[1:]), strict=True):
            table = pa.ipc.open_stream(payload).read_all()
            if complete:
                yield from table.to_batches()
            else:
                unfinished.append(table)
    if unfinished:
        yield from merged_intervals(pa.concat_tables(unfinished)).to_batches()


def merged_intervals(answers: pa.Table) -> pa.Table:
    """Merge intervals of an atom that overlap or are adjacent.

    >>> rows = {"atom": ["p", "q", "p", "p"], "from": [4, 1, 1, 9], "to": [6, 2, 3, 9]}
    >>> merged_intervals(pa.table(rows)).to_pydict()
    {'atom': ['p', 'p', 'q'], 'from': [1, 9, 1], 'to': [6, 9, 2]}
    >>> rows = {"atom": ["p"] * 3, "from": [1, 2, 7], "to": [9, 4, 8]}
    >>> merged_intervals(pa.table(rows)).to_pydict()
    {'atom': ['p'], 'from': [1], 'to': [9]}
    """
    table = answers.sort_by([("atom", "ascending"), ("from", "ascending")]).combine_chunks()
    begin, end = table["from"].to_numpy(), table["to"].to_numpy()
    # Rows without an atom (no answer stream) continue from slice to slice, too.
    codes = pc.fill_null(_codes(table["atom"]), -1).to_numpy()
    new = np.ones(len(begin), dtype=np.bool_)
    new[1:] = codes[1:] != codes[:-1]
    end = _latest(end, np.cumsum(new))
    new[1:] |= begin[1:] > end[:-1] + 1
    heads = np.flatnonzero(new)
    tails = np.append(heads[1:], len(begin)) - 1
    kept = table.take(pa.array(heads))
    return kept.set_column(2, "to", pa.array(end[tails]))


def _latest(ends: npt.NDArray[np.int64], groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The running maximum of the ends within each group of consecutive rows.

    >>> _latest(np.array([5, 3, 8, 2, 1]), np.array([1, 1, 1, 2, 2])).tolist()
    [5, 5, 8, 2, 2]
    """
    values, ranks = np.unique(ends, return_inverse=True)
    # Ranks leave room to offset each group above all earlier ones; times could overflow.
    highest = np.maximum.accumulate(groups * len(values) + ranks)
    latest: npt.NDArray[np.int64] = values[highest - groups * len(values)]
    return latest


def _codes(atoms: pa.ChunkedArray) -> pa.Array:
    """The same number for equal atoms."""
    encoded = pc.dictionary_encode(pa.concat_arrays([pa.array([], atoms.type), *atoms.chunks]))
    return encoded.indices

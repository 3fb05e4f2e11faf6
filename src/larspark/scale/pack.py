"""Facts on their way to the pieces: one Arrow payload for each piece that a batch has facts for.

A fact goes to the shard of its key, and to every slice that it can matter to: its own, and those
that begin not more than the lookback after it. Payloads keep the types of arguments exactly, and
Spark shuffles a few large rows instead of many small ones.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from larspark.base.facts import Segment
from larspark.scale.buckets import bucket_column
from larspark.scale.job import Loaded, load
from larspark.scale.table_facts import Shape, find_facts

SCHEMA = pa.schema(
    [
        ("piece", pa.int32()),
        ("place", pa.int32()),
        ("predicate", pa.string()),
        ("payload", pa.binary()),
    ]
)
SPARK_SCHEMA = "piece int, place int, predicate string, payload binary"


class Packed(NamedTuple):
    """Facts of one predicate for one piece; `place` is that of the shape that they came from."""

    piece: int
    place: int
    predicate: str
    payload: bytes


def pack_partition(
    batches: Iterable[pa.RecordBatch], shape: Shape, job_text: str
) -> Iterator[pa.RecordBatch]:
    """The facts of a partition, packed."""
    loaded = load(job_text)
    for batch in batches:
        found = find_facts(pa.Table.from_batches([batch]), shape, loaded.job.tick)
        rows = [row for segment in found.segments for row in _pack(segment, shape.place, loaded)]
        columns = zip(*rows, strict=True) if rows else [[]] * len(SCHEMA)
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _pack(segment: Segment, place: int, loaded: Loaded) -> Iterator[Packed]:
    grid = loaded.job.grid
    table = segment.table.drop_columns(["seq"]).combine_chunks()
    times = table["t"].to_numpy()
    shards = shards_of(segment, loaded)
    for number in range(len(grid.starts)):
        first, last = grid.timeline_start(number), grid.slice(number)[1]
        # With hindsight there is one slice, and what comes after it is known.
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
    """The shard of each fact; -1 is none of them, and no array says all of them."""
    if loaded.job.grid.shards == 1 or segment.signature in loaded.everywhere:
        return None
    if segment.signature not in loaded.key:
        # No rule reads it, and with a key no window counts it.
        return np.full(segment.table.num_rows, -1, dtype=np.int64)
    values = segment.table[str(loaded.key[segment.signature])]
    shards: npt.NDArray[np.int64] = bucket_column(values) % loaded.job.grid.shards
    return shards


def rows_by_shard(
    shards: npt.NDArray[np.int64] | None, low: int, high: int, count: int
) -> Iterator[tuple[int, npt.NDArray[np.int64] | None]]:
    """For every shard the rows from low to high that belong to it; None when all do."""
    if shards is None:
        for shard in range(count):
            yield shard, None
        return
    # Stable, so that the rows of a shard stay in the order of their time.
    rows = np.argsort(shards[low:high], kind="stable") + low
    ends = np.searchsorted(shards[rows], np.arange(count + 1))
    for shard in range(count):
        if ends[shard] < ends[shard + 1]:
            yield shard, rows[ends[shard] : ends[shard + 1]]


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream, which says its types."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    payload: bytes = sink.getvalue().to_pybytes()
    return payload

"""Keys of shards, which Spark spreads evenly.

Spark lays state into the partition that the hash of its key says. By their numbers alone, three
shards of four land in one of two partitions, and the other one waits for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.facts import Segment
from larspark.base.problems import LarsparkError, Problem
from larspark.scale.failures import telling
from larspark.scale.job import Loaded
from larspark.scale.pack import rows_by_shard, shards_of, to_bytes
from larspark.scale.streaming.json_lines import find_line_facts
from larspark.scale.streaming.stream_job import Live, read_live
from larspark.scale.table_facts import Found, Shape, find_facts

_SEED = 42
_MASK = 0xFFFFFFFF


def shard_keys(shards: int) -> list[int]:
    """A key for each shard: evenly spread when the number of partitions divides that of shards.

    They depend on nothing else, since states are found by them after a restart. A shard is its key
    modulo the number of shards, and the key of the first one is always 0.

    >>> shard_keys(4), [spark_hash(key) % 2 for key in shard_keys(4)]
    ([0, 5, 6, 67], [1, 0, 1, 0])
    """
    return list(_keys(shards))


def _keys(shards: int) -> Iterator[int]:
    free = set(range(shards))
    for shard in range(shards):
        key = next(key for key in count(shard, shards) if spark_hash(key) % shards in free)
        free.remove(spark_hash(key) % shards)
        yield key


def spark_hash(number: int) -> int:
    """What Spark's `hash` gives for an integer of 32 bits: MurmurHash3."""
    mixed = _rotated(number * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    value = _rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64 & _MASK
    # The length in bytes.
    value ^= 4
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK


SCHEMA = pa.schema(
    [
        ("shard", pa.int32()),
        ("source", pa.int32()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("skipped", pa.int64()),
        ("place", pa.int32()),
        ("predicate", pa.string()),
        ("payload", pa.binary()),
    ]
)
SPARK_SCHEMA = (
    "shard int, source int, first long, last long, skipped long, "
    "place int, predicate string, payload binary"
)


class Parcel(NamedTuple):
    """Facts of one predicate for one shard; or, without a payload, what a partition heard.

    `first` and `last` are the earliest and the latest time point of the partition, `skipped` how
    many of its rows were no facts.
    """

    shard: int
    source: int
    first: int | None = None
    last: int | None = None
    skipped: int = 0
    place: int | None = None
    predicate: str | None = None
    payload: bytes | None = None


@dataclass(slots=True)
class _Heard:
    """The time that a partition told of so far, and the rows that were no facts."""

    first: int | None = None
    last: int | None = None
    skipped: int = 0

    def note(self, segments: Sequence[Segment], moved_to: Sequence[int]) -> None:
        bounds = [pc.min_max(table["t"]).as_py().values() for _, table in segments]
        known = [t for t in (self.first, self.last) if t is not None]
        times = [*known, *moved_to, *(t for each in bounds for t in each)]
        self.first, self.last = min(times, default=None), max(times, default=None)


@telling
def pack_for_shards(
    batches: Iterable[pa.RecordBatch], source: int, shapes: Sequence[Shape] | None, live_text: str
) -> Iterator[pa.RecordBatch]:
    """The facts of a partition; without shapes its rows are JSON Lines."""
    live = read_live(live_text)
    loaded = live.loaded
    heard = _Heard()
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if shapes is None:
            found, moved_to = find_line_facts(table, loaded.job.tick)
            placed = [(0, found)]
        else:
            moved_to = []
            placed = [(shape.place, find_facts(table, shape, loaded.job.tick)) for shape in shapes]
        for _, found in placed:
            _refuse(found, live)
            heard.skipped += found.skipped
            heard.note(found.segments, moved_to)
        parcels = [
            parcel
            for place, found in placed
            for segment in found.segments
            for parcel in _pack(_within(segment, live.start), source, place, loaded)
        ]
        yield as_batch(parcels)
    if heard.first is not None or heard.skipped:
        yield as_batch(
            [
                # Told to all, counted by one.
                Parcel(shard, source, heard.first, heard.last, heard.skipped if shard == 0 else 0)
                for shard in range(loaded.job.grid.shards)
            ]
        )


def as_batch(parcels: Sequence[Parcel]) -> pa.RecordBatch:
    """Parcels as the rows that Spark moves."""
    columns = zip(*parcels, strict=True) if parcels else [[]] * len(SCHEMA)
    arrays = [pa.array(column, f.type) for column, f in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _refuse(found: Found, live: Live) -> None:
    """Raise what no stream of this program may hold."""
    derived = {segment.signature for segment in found.segments} & live.loaded.checked.derived
    problems = [
        Problem("L401", f"the stream holds atoms of `{signature}`, which the program derives")
        for signature in sorted(derived)
    ]
    if found.skipped and live.on_error == "fail":
        problems += found.problems
    if problems:
        raise LarsparkError(problems)


def _within(segment: Segment, start: int | None) -> Segment:
    """What lies before the timeline is not seen."""
    if start is None:
        return segment
    return Segment(segment.signature, segment.table.filter(pc.field("t") >= start))


def _pack(segment: Segment, source: int, place: int, loaded: Loaded) -> Iterator[Parcel]:
    signature, table = segment
    table = table.drop_columns(["seq"]).combine_chunks()
    unread = signature not in loaded.key and signature not in loaded.everywhere
    # With a key no window counts what no rule reads, whatever the number of shards.
    if table.num_rows == 0 or (loaded.key and unread):
        return
    count = loaded.job.grid.shards
    for shard, rows in rows_by_shard(shards_of(segment, loaded), 0, table.num_rows, count):
        part = table if rows is None else table.take(pa.array(rows))
        yield Parcel(
            shard, source, place=place, predicate=signature.predicate, payload=to_bytes(part)
        )

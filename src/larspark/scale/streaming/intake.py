"""Intake of a stream: rows of a micro-batch become facts, packed as messages to their shards.

Rows are mapped columns or JSON Lines. Each partition also sends its time span to all shards, which
close time points by it. Shards have keys that Spark distributes evenly: Spark assigns state to a
partition by the hash of its key, and with the numbers 0 to 3 as keys, three of four shards would
share one of two partitions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import count
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch, Segment
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.formats.jsonl import stream_blocks
from larspark.feeds.reading import PROBLEMS_KEPT, Options
from larspark.scale.job import Loaded
from larspark.scale.problem_transport import reports_problems
from larspark.scale.shuffle_payloads import rows_by_shard, shards_of, to_bytes
from larspark.scale.streaming.stream_job import StreamJob, load_stream_job
from larspark.scale.table_facts import Found, Shape, find_facts

_SEED = 42
_MASK = 0xFFFFFFFF


def shard_keys(shards: int) -> list[int]:
    """A key for each shard, distributed evenly if the number of partitions divides that of shards.

    Keys depend only on the number of shards, because states are found by them after a restart. The
    shard is the key modulo the number of shards; the key of the first shard is always 0.

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
    """Spark's `hash` of a 32-bit integer: MurmurHash3."""
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
        ("stage", pa.int32()),
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
    "stage int, shard int, source int, first long, last long, skipped long, "
    "place int, predicate string, payload binary"
)


class ShardMessage(NamedTuple):
    """Facts of one predicate for one shard; without a payload, the time span of a partition.

    Between stages also derived rows, with a negative place. `first` and `last` are the earliest and
    the latest time point of the partition, `skipped` is the number of its rows that are not facts.
    """

    stage: int
    shard: int
    source: int
    first: int | None = None
    last: int | None = None
    skipped: int = 0
    place: int | None = None
    predicate: str | None = None
    payload: bytes | None = None


@dataclass(slots=True)
class _PartitionTimes:
    """The time span of a partition so far, and the number of skipped rows."""

    first: int | None = None
    last: int | None = None
    skipped: int = 0

    def extend(self, segments: Sequence[Segment], moved_to: Sequence[int]) -> None:
        bounds = [pc.min_max(table["t"]).as_py().values() for _, table in segments]
        known = [t for t in (self.first, self.last) if t is not None]
        times = [*known, *moved_to, *(t for each in bounds for t in each)]
        self.first, self.last = min(times, default=None), max(times, default=None)


@reports_problems
def pack_for_shards(
    batches: Iterable[pa.RecordBatch],
    source: int,
    shapes: Sequence[Shape] | None,
    stream_texts: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    """The facts of a partition as messages to all stages; without shapes rows are JSON Lines."""
    stages = [load_stream_job(text) for text in stream_texts]
    stream_job, tick = stages[0], stages[0].loaded.job.tick
    times = _PartitionTimes()
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if shapes is None:
            found, moved_to = find_line_facts(table, tick)
            placed = [(0, found)]
        else:
            moved_to = []
            placed = [(shape.place, find_facts(table, shape, tick)) for shape in shapes]
        for _, found in placed:
            _refuse(found, stream_job)
            times.skipped += found.skipped
            times.extend(found.segments, moved_to)
        messages = [
            message
            for place, found in placed
            for segment in found.segments
            for stage in stages
            for message in _packed(_within(segment, stream_job.start), source, place, stage.loaded)
        ]
        yield as_batch(messages)
    if times.first is not None or times.skipped:
        yield as_batch(
            [
                # The time span goes to all shards; the first one counts the skipped rows.
                ShardMessage(
                    number,
                    shard,
                    source,
                    times.first,
                    times.last,
                    times.skipped if (number, shard) == (0, 0) else 0,
                )
                for number, stage in enumerate(stages)
                for shard in range(stage.loaded.job.grid.shards)
            ]
        )


def as_batch(messages: Sequence[ShardMessage]) -> pa.RecordBatch:
    """Messages as rows for Spark."""
    columns = zip(*messages, strict=True) if messages else [[]] * len(SCHEMA)
    arrays = [pa.array(column, f.type) for column, f in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _refuse(found: Found, stream_job: StreamJob) -> None:
    """Raise facts of derived predicates, and unless they are skipped, rows that are not facts."""
    derived = {segment.signature for segment in found.segments} & stream_job.loaded.all_derived
    problems = [
        Problem("L401", f"the stream holds atoms of `{signature}`, which the program derives")
        for signature in sorted(derived)
    ]
    if found.skipped and stream_job.on_error == "fail":
        problems += found.problems
    if problems:
        raise LarsparkError(problems)


def _within(segment: Segment, start: int | None) -> Segment:
    """The facts from the start of the timeline on."""
    if start is None:
        return segment
    return Segment(segment.signature, segment.table.filter(pc.field("t") >= start))


def _packed(segment: Segment, source: int, place: int, loaded: Loaded) -> Iterator[ShardMessage]:
    signature, table = segment
    table = table.drop_columns(["seq"]).combine_chunks()
    unread = signature not in loaded.key and signature not in loaded.everywhere
    # In a program with a key no window counts facts that no rule reads.
    if table.num_rows == 0 or (loaded.key and unread) or not loaded.reads(signature):
        return
    count = loaded.job.grid.shards
    for shard, rows in rows_by_shard(shards_of(segment, loaded), 0, table.num_rows, count):
        part = table if rows is None else table.take(pa.array(rows))
        yield ShardMessage(
            loaded.job.stage or 0,
            shard,
            source,
            place=place,
            predicate=signature.predicate,
            payload=to_bytes(part),
        )


# The column of Spark's text sources.
VALUE = "value"


def find_line_facts(table: pa.Table, tick: int | None) -> tuple[Found, list[int]]:
    """The facts of JSON Lines, and the time points of lines that only advance time.

    >>> lines = ['{"t": 36, "atom": "tram(a1,b)"}', '{"t": 50}', "no line", None]
    >>> found, moved_to = find_line_facts(pa.table({"value": lines}), None)
    >>> [segment.table["t"].to_pylist() for segment in found.segments], moved_to
    ([[36]], [50])
    >>> found.skipped, found.problems[0].message
    (1, "not JSON: invalid literal, expected 'null'")
    """
    rows: list[Row] = []
    moved_to: list[int] = []
    problems: list[Problem] = []
    for arrival in _arrivals(table[VALUE].to_pylist(), tick):
        if isinstance(arrival, Problem):
            problems.append(arrival)
            continue
        t, atoms, _ = arrival
        if not atoms:
            moved_to.append(t)
        rows += [Row(t, atom, len(rows) + number) for number, atom in enumerate(atoms)]
    # The number of a line within a micro-batch is of no use to the user.
    kept = [replace(problem, span=None, line_text="") for problem in problems[:PROBLEMS_KEPT]]
    found = Found(list(RowBatch(rows).segments()), len(problems), tuple(dict.fromkeys(kept)))
    return found, moved_to


def _arrivals(
    lines: Iterable[str | None], tick: int | None
) -> Iterable[tuple[int, tuple[Atom, ...], int] | Problem]:
    text = "\n".join(line.replace("\n", " ") for line in lines if line is not None)
    for block in stream_blocks(BytesIO(text.encode()), "the stream", Options(tick)):
        yield from block

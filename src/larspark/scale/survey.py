"""The survey of the facts: how many there are, over which time span, and with which problems."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from larspark.analysis.partition import Key
from larspark.base.atoms import Signature
from larspark.base.facts import Segment
from larspark.base.problems import Problem
from larspark.feeds.formats.time_columns import typed_time_column
from larspark.scale.buckets import BUCKETS, bucket_column
from larspark.scale.table_facts import Shape, find_facts

SCHEMA = pa.schema(
    [
        ("facts", pa.int64()),
        ("skipped", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("problems", pa.string()),
        ("signatures", pa.string()),
        ("times", pa.list_(pa.int64())),
        ("weights", pa.list_(pa.int64())),
        ("buckets", pa.list_(pa.int64())),
    ]
)
SPARK_SCHEMA = (
    "facts long, skipped long, first long, last long, problems string, signatures string, "
    "times array<long>, weights array<long>, buckets array<long>"
)

# How many sampled times represent a batch of facts, and a whole partition.
_BATCH_SAMPLE = 32
_SAMPLE = 1024


@dataclass(frozen=True, slots=True)
class Survey:
    """Statistics of the facts of a run.

    `times` is a sample of the facts' times, each representing `weights` facts; `buckets` counts
    facts by key bucket.
    """

    facts: int
    skipped: int
    first: int | None
    last: int | None
    problems: tuple[Problem, ...]
    signatures: frozenset[Signature]
    times: tuple[int, ...]
    weights: tuple[int, ...]
    buckets: tuple[int, ...]

    def including(self, announced: Iterable[int]) -> "Survey":
        """The survey with a time span that includes announced time points without facts."""
        times = [*announced, *(t for t in (self.first, self.last) if t is not None)]
        return replace(self, first=min(times, default=None), last=max(times, default=None))


def survey_partition(
    batches: Iterable[pa.RecordBatch], shape: Shape, tick: int | None, key: Key
) -> Iterator[pa.RecordBatch]:
    """The survey row of a partition."""
    facts = skipped = 0
    bounds: list[int] = []
    problems: dict[Problem, None] = {}
    signatures: set[Signature] = set()
    sample: list[tuple[int, int]] = []
    buckets = np.zeros(BUCKETS if key else 0, dtype=np.int64)
    for batch in batches:
        found = find_facts(pa.Table.from_batches([batch]), shape, tick)
        skipped += found.skipped
        problems.update(dict.fromkeys(found.problems))
        for segment in found.segments:
            facts += segment.table.num_rows
            signatures.add(segment.signature)
            bounds += [segment.table["t"][0].as_py(), segment.table["t"][-1].as_py()]
            sample += _sampled(segment)
            if segment.signature in key:
                places = bucket_column(segment.table[str(key[segment.signature])])
                buckets += np.bincount(places, minlength=BUCKETS)
    row = survey_row(facts, signatures, bounds, sample, buckets.tolist(), skipped, problems)
    yield from pa.Table.from_pylist([row], SCHEMA).to_batches()


def survey_row(
    facts: int,
    signatures: Iterable[Signature],
    bounds: Iterable[int],
    sample: Sequence[tuple[int, int]],
    buckets: Sequence[int] = (),
    skipped: int = 0,
    problems: Iterable[Problem] = (),
) -> dict[str, Any]:
    """A survey row for facts within these bounds.

    The sample holds times, each with the number of facts that it represents.
    """
    stride = -(-len(sample) // _SAMPLE) or 1
    kept = sorted(sample)[::stride]
    times = list(bounds)
    return {
        "facts": facts,
        "skipped": skipped,
        "first": min(times, default=None),
        "last": max(times, default=None),
        "problems": json.dumps([(p.code, p.message, p.hint) for p in problems]),
        "signatures": json.dumps(sorted(signatures)),
        "times": [t for t, _ in kept],
        "weights": [weight * stride for _, weight in kept],
        "buckets": list(buckets),
    }


def combine_surveys(rows: Sequence[Any]) -> Survey:
    """The survey of all sources, combined from the survey rows of their partitions."""
    problems = dict.fromkeys(tuple(p) for row in rows for p in json.loads(row["problems"]))
    signatures = (Signature(*each) for row in rows for each in json.loads(row["signatures"]))
    buckets = [row["buckets"] for row in rows if row["buckets"]]
    return Survey(
        facts=sum(row["facts"] for row in rows),
        skipped=sum(row["skipped"] for row in rows),
        first=min((row["first"] for row in rows if row["first"] is not None), default=None),
        last=max((row["last"] for row in rows if row["last"] is not None), default=None),
        problems=tuple(Problem(code, message, hint=hint) for code, message, hint in problems),
        signatures=frozenset(signatures),
        times=tuple(t for row in rows for t in row["times"]),
        weights=tuple(weight for row in rows for weight in row["weights"]),
        buckets=tuple(np.sum(buckets, axis=0).tolist()) if buckets else (),
    )


def _sampled(segment: Segment) -> list[tuple[int, int]]:
    times = segment.table["t"].to_numpy()
    step = -(-len(times) // _BATCH_SAMPLE)
    return [(t, step) for t in times[::step].tolist()]


# How many sampled times represent a row group, assuming that facts are evenly spread.
_GROUP_SAMPLE = 64


class RowGroup(NamedTuple):
    """The footer statistics of a row group."""

    rows: int
    # Minimum and maximum of each column; columns that may contain nulls are left out.
    bounds: dict[str, tuple[Any, Any] | None]


def row_group_statistics(group: Any, columns: Collection[str]) -> RowGroup:
    """The footer statistics of a row group, for these columns."""
    bounds: dict[str, tuple[Any, Any] | None] = {}
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema not in columns:
            continue
        found = column.statistics
        if found is not None and found.has_null_count and found.null_count == 0:
            bounds[column.path_in_schema] = (found.min, found.max) if found.has_min_max else None
    return RowGroup(group.num_rows, bounds)


def survey_from_footers(
    groups: Sequence[RowGroup], schema: Any, shape: Shape, tick: int | None
) -> dict[str, Any] | None:
    """The survey row of some row groups; None when the footers are not sufficient."""
    signature = shape.signature
    if signature is None or not _is_plain(schema, shape):
        return None
    sample: list[tuple[int, int]] = []
    bounds: list[int] = []
    for group in groups:
        if not group.rows:
            continue
        times = _times(group, schema, shape, tick)
        if times is None or not all(name in group.bounds for name in shape.columns):
            return None
        bounds += times
        points = np.linspace(*times, _GROUP_SAMPLE).astype(np.int64).tolist()
        sample += [(t, -(-group.rows // _GROUP_SAMPLE)) for t in points]
    facts = sum(group.rows for group in groups)
    return survey_row(facts, [signature] if facts else [], bounds, sample)


def _is_plain(schema: Any, shape: Shape) -> bool:
    """Is every non-null value of these columns a constant, and the time column comparable?"""
    time = schema.field(shape.mapping.time).type
    moments = pa.types.is_timestamp(time) and time.unit != "ns"
    if not (pa.types.is_signed_integer(time) or moments):
        return False
    others = [schema.field(n).type for n in shape.columns if n != shape.mapping.time]
    return all(
        pa.types.is_signed_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
        for kind in others
    )


def _times(group: RowGroup, schema: Any, shape: Shape, tick: int | None) -> tuple[int, int] | None:
    """The first and the last time point of a row group."""
    bounds = group.bounds.get(shape.mapping.time)
    if bounds is None:
        return None
    values = pa.array(bounds, schema.field(shape.mapping.time).type)
    column = typed_time_column(values, tick)
    return None if column.bad.any() else (int(column.times[0]), int(column.times[1]))

"""The first look at the data: how much there is, from when to when, and what is wrong with it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.base.facts import Segment
from larspark.base.problems import Problem
from larspark.meaning.partition import Key
from larspark.scale.buckets import BUCKETS, bucket_column
from larspark.scale.facts import Shape, find_facts

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

# How many times stand for a batch of facts, and for a whole partition.
_BATCH_SAMPLE = 32
_SAMPLE = 1024


@dataclass(frozen=True, slots=True)
class Survey:
    """What the facts of a run are like.

    `times` sample when facts happened, each for `weights` facts; `buckets` counts facts by key.
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

    def also(self, heard: Iterable[int]) -> "Survey":
        """The same with time points that were heard of although nothing happens there."""
        times = [*heard, *(t for t in (self.first, self.last) if t is not None)]
        return replace(self, first=min(times, default=None), last=max(times, default=None))


def survey_partition(
    batches: Iterable[pa.RecordBatch], shape: Shape, tick: int | None, key: Key
) -> Iterator[pa.RecordBatch]:
    """One row about all the facts of a partition."""
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
    row = about(facts, signatures, bounds, sample, buckets.tolist(), skipped, problems)
    yield from pa.Table.from_pylist([row], SCHEMA).to_batches()


def about(
    facts: int,
    signatures: Iterable[Signature],
    bounds: Iterable[int],
    sample: Sequence[tuple[int, int]],
    buckets: Sequence[int] = (),
    skipped: int = 0,
    problems: Iterable[Problem] = (),
) -> dict[str, Any]:
    """A row about facts that lie within these bounds.

    The sample holds times and for how many facts each stands.
    """
    thin = -(-len(sample) // _SAMPLE) or 1
    kept = sorted(sample)[::thin]
    times = list(bounds)
    return {
        "facts": facts,
        "skipped": skipped,
        "first": min(times, default=None),
        "last": max(times, default=None),
        "problems": json.dumps([(p.code, p.message, p.hint) for p in problems]),
        "signatures": json.dumps(sorted(signatures)),
        "times": [t for t, _ in kept],
        "weights": [weight * thin for _, weight in kept],
        "buckets": list(buckets),
    }


def combine(rows: Sequence[Any]) -> Survey:
    """The survey of all partitions of all DataFrames, from the rows that tell about each."""
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

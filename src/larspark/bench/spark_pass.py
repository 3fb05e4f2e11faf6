"""The same Spark operators as in a run, with the same facts, and no engine inside."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from larspark.run.protocol import Settings
from larspark.scale import files, look, spread, step, survey
from larspark.scale.job import Loaded, load
from larspark.scale.layout import Wish
from larspark.scale.prepare import prepare
from larspark.scale.shapes import find_file_sources, find_sources

if TYPE_CHECKING:
    from larspark.bench.spark import Task

_SCHEMA = "facts long"


def pass_through(
    session: Any,
    task: "Task",
    *,
    frame: bool = False,
    shards: int | None = None,
    slices: int | None = None,
) -> None:
    """Look at the facts, cut them, bring them to the pieces and into order, and count them."""
    prepared = prepare(task.program, (), "interval", Settings(), Wish(shards, slices))
    sources: spread.Sources
    if frame:
        facts = session.read.parquet(str(task.folder))
        sources = find_sources(facts, None, task.mapping, None)
    else:
        sources = find_file_sources(task.folder, None, task.mapping, None)
    surveyed = look.survey_of(session, sources, prepared)
    seen = survey.combine([row for rows in surveyed for row in rows])
    job = prepared.job(seen, None, spread.room(session, sources))
    if job is None:
        return
    text = job.text()
    if spread.by_themselves(sources, job):
        counting = partial(_count_pieces, parts=spread.parts_of(sources, surveyed), job_text=text)
        numbers = spread.each_number(session, job.grid.pieces)
        numbers.mapInArrow(counting, _SCHEMA).collect()
        return

    # Spark reads from the types which kind of function this is.
    def count(packed: pa.Table) -> pa.Table:
        rows = (row for row in packed.to_pylist() if row["payload"] is not None)
        found = step.unpacked((row["place"], row["predicate"], row["payload"]) for row in rows)
        return _counted(found, load(text))

    spread.shuffled(session, sources, job).applyInArrow(count, _SCHEMA).collect()


def _count_pieces(
    numbers: Iterable[pa.RecordBatch], parts: Sequence[files.Part], job_text: str
) -> Iterator[pa.RecordBatch]:
    loaded = load(job_text)
    for batch in numbers:
        for piece in batch.column(0).to_pylist():
            yield from _counted(files.facts_of(piece, parts, loaded), loaded).to_batches()


def _counted(facts: Sequence[step.Facts], loaded: Loaded) -> pa.Table:
    segments = step.in_arrival_order(facts, loaded.job.counts_tuples)
    return pa.table({"facts": [sum(segment.table.num_rows for segment in segments)]})

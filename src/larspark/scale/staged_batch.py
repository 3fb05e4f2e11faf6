"""Batch in stages: programs whose strata have different keys, with a shuffle between the stages.

A piece of a stage reads facts and messages and sends messages, Arrow to Arrow. A message is
addressed to a piece of a later stage and holds derived rows of a predicate, or it is addressed
behind the last stage and holds answers. Pieces forward messages for later stages, so that no stage
is computed twice although Spark evaluates lazily.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.analysis.stages import Stage
from larspark.base.atoms import Signature
from larspark.base.facts import ColumnBatch
from larspark.base.problems import LarsparkError
from larspark.feeds import parse_ground_atom
from larspark.run.interval.interval_answers import IntervalAnswers
from larspark.run.interval.stage_exchange import constants_of
from larspark.run.protocol import Answers, Derived, Settings, StageEngine
from larspark.run.registry import stage_engine
from larspark.run.session import Session
from larspark.scale import parquet_files as files
from larspark.scale import piece_step as step
from larspark.scale.buckets import bucket
from larspark.scale.exchange import (
    Sources,
    file_parts,
    packed_facts,
    parallelism,
    pieces_read_files,
)
from larspark.scale.job import Job, Loaded, load
from larspark.scale.piece_step import SCHEMA as ANSWERS
from larspark.scale.piece_step import Facts, in_arrival_order, unpacked
from larspark.scale.problem_transport import ReportedError, reports_problems
from larspark.scale.shuffle_payloads import merge_partition, packed_answers, rows_by_shard, to_bytes
from larspark.scale.spark_session import DataFrame, SparkSession

SCHEMA = pa.schema(
    [
        ("stage", pa.int32()),
        ("target", pa.int32()),
        ("place", pa.int32()),
        ("predicate", pa.string()),
        ("payload", pa.binary()),
    ]
)
SPARK_SCHEMA = "stage int, target int, place int, predicate string, payload binary"

# Derived rows have one of these places, facts have the place of their shape.
_AT_ITS_TIME, _PINNED = -1, -2


class StageMessage(NamedTuple):
    """A payload for a piece of a stage; answers go to a bucket behind the last stage."""

    stage: int
    target: int
    place: int
    predicate: str | None
    payload: bytes


def stage_step(
    incoming: pa.Table, loaded: Loaded, buckets: int, read: Callable[[int], list[Facts]] | None
) -> pa.Table:
    """The messages that a piece of a stage sends, including those that it forwards.

    Facts arrive as messages, too, unless the piece is to `read` them. Pieces beyond those of the
    stage only forward.
    """
    piece, stage = incoming["piece"][0].as_py(), loaded.job.stage
    others = incoming.filter(pc.not_equal(incoming["stage"], stage)).select(SCHEMA.names)
    if piece >= loaded.job.grid.pieces:
        return others
    mine = incoming.filter(pc.equal(incoming["stage"], stage)).select(SCHEMA.names)
    # Every piece has a row without a payload, so that it is evaluated even without messages.
    rows = [StageMessage(**row) for row in mine.to_pylist() if row["payload"] is not None]
    if read is not None:
        facts = read(piece)
    else:
        facts = unpacked((r.place, r.predicate or "", r.payload) for r in rows if r.place >= 0)
    sent = stage_messages(piece, facts, received_rows(rows), loaded, buckets)
    columns = zip(*sent, strict=True) if sent else [()] * len(SCHEMA)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)]
    return pa.concat_tables([others, pa.table(arrays, schema=SCHEMA)])


def received_rows(messages: Iterable[StageMessage]) -> Iterator[tuple[Derived, pa.Table]]:
    """The rows derived by earlier stages, from the messages of a piece."""
    for _, _, place, predicate, payload in messages:
        if place < 0 and predicate is not None:
            table = pa.ipc.open_stream(payload).read_all()
            pinned = place == _PINNED
            arity = table.num_columns - 2 - pinned
            yield Derived(Signature(predicate, arity), pinned), table


def stage_messages(
    piece: int,
    facts: Sequence[Facts],
    given: Iterable[tuple[Derived, pa.Table]],
    loaded: Loaded,
    buckets: int,
) -> list[StageMessage]:
    """The derived rows of a piece, addressed to the stages that read them, and its answers."""
    job, number = loaded.job, loaded.job.stage or 0
    stage, shard = loaded.stages[number], job.grid.shard(piece)
    first, last = job.grid.slice(piece)
    start = job.grid.timeline_start(piece)
    session, engine = begin_stage(shard, start, loaded)
    engine.import_derived(stage.exchanged, given, loaded.exported)
    segments = in_arrival_order(facts, job.counts_tuples)
    session.append(ColumnBatch(segments, job.end if job.hindsight else last))
    if start < first:
        # The overlap with the slice before: its rows are needed, its answers are not.
        session.advance(first - 1)
    answers = session.advance(last)
    messages = list(addressed(engine.export_derived(start, last), piece, stage, loaded))
    whole, parts = stage_answers(answers, shard, stage, loaded)
    packed = packed_answers(whole, piece, job.grid, buckets, parts)
    behind = len(loaded.stages)
    for target, complete, payload in zip(*(c.to_pylist() for c in packed.columns), strict=True):
        messages.append(StageMessage(behind, target, int(complete), None, payload))
    return messages


def begin_stage(shard: int, start: int, loaded: Loaded) -> tuple[Session, StageEngine]:
    """A session of a stage, with those of the program's own facts that the shard owns."""
    job, checked = loaded.job, loaded.checked
    if job.grid.shards > 1:
        own = (e for e in checked.elements if e.atom.signature in loaded.key)
        checked = replace(checked, elements=tuple(e for e in own if loaded.owner(e.atom) == shard))
    settings = Settings(start, job.hindsight, job.until)
    session = Session(checked, loaded.background, job.engine, settings)
    return session, stage_engine(session.kind, session.engine)


def addressed(
    derived: Iterable[tuple[Derived, pa.Table]], piece: int, stage: Stage, loaded: Loaded
) -> Iterator[StageMessage]:
    """Derived rows, addressed to all stages that read them."""
    grid = loaded.job.grid
    number = loaded.job.stage or 0
    slice_number, slices = piece % len(grid.starts), len(grid.starts)
    for what, table in derived:
        signature, pinned = what
        if grid.shards > 1 and signature not in loaded.shard_local | stage.parts:
            mine = _shards(table, loaded.key.get(signature), grid.shards) == grid.shard(piece)
            table = table.filter(pa.array(mine))
        place = _PINNED if pinned else _AT_ITS_TIME
        for reader in range(number + 1, len(loaded.stages)):
            reading = loaded.stages[reader]
            if signature not in reading.exchanged or not table.num_rows:
                continue
            for shard, part in _spread(table, signature, reading, loaded.job.stage_shards):
                target = shard * slices + slice_number
                yield StageMessage(reader, target, place, signature.predicate, to_bytes(part))


def _spread(
    table: pa.Table, signature: Signature, reading: Stage, shards: int
) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a predicate, partitioned by the shards of a stage that reads it."""
    if reading.key is None:
        yield 0, table
        return
    homes = None
    if signature not in reading.everywhere:
        homes = _shards(table, reading.key.get(signature), shards)
    for shard, rows in rows_by_shard(homes, 0, table.num_rows, shards):
        yield shard, table if rows is None else table.take(pa.array(rows))


def _shards(table: pa.Table, place: int | None, shards: int) -> npt.NDArray[np.int64]:
    """The shard of each derived row; the first shard gets all rows without a key."""
    if place is None:
        return np.zeros(table.num_rows, dtype=np.int64)
    values, places = constants_of(table, place)
    homes = np.array([bucket(value) % shards for value in values], dtype=np.int64)
    return homes[places]


def stage_answers(
    answers: Answers, shard: int, stage: Stage, loaded: Loaded
) -> tuple[pa.Table, pa.Table]:
    """The complete answers of a shard, and those that several shards derive in parts."""
    whole, parts = [ANSWERS.empty_table()], [ANSWERS.empty_table()]
    # After the last time point of `until` the engine gives no tables.
    tables = answers.tables() if isinstance(answers, IntervalAnswers) else {}
    for signature, table in tables.items():
        if loaded.job.grid.shards == 1 or signature in loaded.shard_local:
            whole.append(table)
        elif signature in stage.parts:
            parts.append(table)
        else:
            atoms = map(parse_ground_atom, table["atom"].to_pylist())
            whole.append(table.filter(pa.array([loaded.owner(a) == shard for a in atoms])))
    return pa.concat_tables(whole), pa.concat_tables(parts)


_NOTHING = ("int(null) place", "string(null) predicate", "binary(null) payload")


def answers_in_stages(
    spark: SparkSession, sources: Sources, surveyed: Sequence[Sequence[Any]], jobs: Sequence[Job]
) -> DataFrame:
    """The answers of all stages, as maximal intervals."""
    tasks = parallelism(spark)
    sent: DataFrame | None = None
    for job in jobs:
        read = [
            (source, rows)
            for source, rows in zip(sources, surveyed, strict=True)
            if _is_read(source.shape.signature, job)
        ]
        sent = _stage(spark, [s for s, _ in read], [rows for _, rows in read], job, sent, tasks)
    if sent is None:
        raise ValueError("there are no stages")
    answers = sent.selectExpr("target bucket", "(place = 1) complete", "payload")
    if len(jobs[0].grid.starts) > 1 or any(stage.parts for stage in load(jobs[0].text()).stages):
        answers = answers.repartitionById(tasks, "bucket")
    return answers.mapInArrow(reports_problems(merge_partition), step.SPARK_SCHEMA)


def _is_read(signature: Signature | None, job: Job) -> bool:
    """Can a stage need facts of a predicate? Rows with atoms as text can hold any predicate."""
    return signature is None or load(job.text()).reads(signature)


def _stage(
    spark: SparkSession,
    sources: Sources,
    surveyed: Sequence[Sequence[Any]],
    job: Job,
    before: DataFrame | None,
    tasks: int,
) -> DataFrame:
    """The messages that a stage sends, including those of earlier stages that it forwards."""
    pieces, text = job.grid.pieces, job.text()
    read = None
    # A piece without facts can still have answers, and Spark makes no empty groups.
    markers = spark.range(pieces).selectExpr(f"{job.stage} stage", "int(id) target", *_NOTHING)
    incoming = [markers]
    if pieces_read_files(sources, job):
        parts = file_parts(sources, surveyed)
        read = partial(files.facts_of, parts=parts)
    else:
        facts = packed_facts(spark, sources, job)
        incoming.append(
            facts.selectExpr(f"{job.stage} stage", "piece target", "place", "predicate", "payload")
        )
    if before is not None:
        incoming.append(before)
    # Messages for later stages are forwarded, spread over several tasks.
    piece = f"if(stage = {job.stage}, target, {pieces} + pmod(target, {tasks})) piece"
    addressed = reduce(DataFrame.unionAll, incoming).selectExpr("*", piece)
    by_piece = addressed.repartitionById(pieces + tasks, "piece").groupBy("piece")

    # Spark infers from the annotations which kind of function this is.
    def apply(given: pa.Table) -> pa.Table:
        try:
            loaded = load(text)
            reading = None if read is None else partial(read, loaded=loaded)
            return stage_step(given, loaded, tasks, reading)
        except LarsparkError as error:
            raise ReportedError(error) from None

    return by_piece.applyInArrow(apply, SPARK_SCHEMA)

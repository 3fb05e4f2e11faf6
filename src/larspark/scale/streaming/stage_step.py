"""The answers of a shard for the time points that a micro-batch closes, with or without stages.

Every shard of every stage is sent the time spans of a micro-batch, so all close the same time
points in it. The rows that a stage derives for these go to the later stages in the same
micro-batch, each time point once. Answers that several shards derive in parts are merged by a
shard behind the last stage.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa

from larspark.analysis.signatures import head_predicates
from larspark.base.atoms import Signature
from larspark.base.facts import ColumnBatch
from larspark.language.tree import At
from larspark.run.interval.stage_exchange import no_rows
from larspark.run.protocol import Derived
from larspark.run.registry import stage_engine
from larspark.run.session import Session
from larspark.scale.job import Loaded
from larspark.scale.piece_step import SCHEMA as ANSWERS
from larspark.scale.piece_step import Facts, in_arrival_order, shard_answers
from larspark.scale.shuffle_payloads import merged_intervals, to_bytes
from larspark.scale.staged_batch import (
    StageMessage,
    addressed,
    begin_stage,
    received_rows,
    stage_answers,
)

# The place of answers to be merged; derived rows have other negative places.
_PART = -3


class Evaluated(NamedTuple):
    """The answers of a shard as maximal intervals, and what it sends to later stages."""

    answers: pa.Table
    sent: Sequence[StageMessage]


def new_session(start: int, shard: int, loaded: Loaded) -> Session:
    """A session of a shard with a timeline that starts at `start`."""
    if loaded.job.stage is None:
        return loaded.session(start)
    session, engine = begin_stage(shard, start, loaded)
    imported = loaded.stages[loaded.job.stage].exchanged
    forms = [(form, no_rows(form)) for name in imported for form in _forms(name, loaded)]
    engine.import_derived(imported, forms, loaded.exported)
    return session


def _forms(signature: Signature, loaded: Loaded) -> list[Derived]:
    """The forms in which a derived predicate can be exchanged."""
    rules = loaded.checked.program.rules
    heads = [rule.head for rule in rules if signature in head_predicates(rule.head)]
    pinned = any(isinstance(head, At) for head in heads)
    return [Derived(signature, form) for form in ([False, True] if pinned else [False])]


def evaluate(
    session: Session,
    facts: Sequence[Facts],
    messages: Iterable[StageMessage],
    closed: range,
    shard: int,
    loaded: Loaded,
) -> Evaluated:
    """The answers for closed time points, from their facts and what earlier stages derived."""
    segments = in_arrival_order(facts, loaded.job.counts_tuples)
    first, last = closed[0], closed[-1]
    if loaded.job.stage is None:
        session.append(ColumnBatch(segments, last))
        return Evaluated(shard_answers(session.advance(last), shard, loaded), ())
    stage = loaded.stages[loaded.job.stage]
    engine = stage_engine(session.kind, session.engine)
    engine.receive_derived(received_rows(messages))
    session.append(ColumnBatch(segments, last))
    answers = session.advance(last)
    sent = list(addressed(engine.export_derived(first, last), shard, stage, loaded))
    whole, parts = stage_answers(answers, shard, stage, loaded)
    return Evaluated(whole, [*sent, *_to_merge(parts, loaded)])


def merged(messages: Iterable[StageMessage]) -> pa.Table:
    """The answers that several shards derived in parts, as maximal intervals."""
    parts = [pa.ipc.open_stream(m.payload).read_all() for m in messages if m.place == _PART]
    return merged_intervals(pa.concat_tables(parts)) if parts else ANSWERS.empty_table()


def _to_merge(parts: pa.Table, loaded: Loaded) -> Iterable[StageMessage]:
    """Answers to be merged, addressed by their atoms."""
    behind, shards = len(loaded.stages), loaded.job.stage_shards
    texts = parts["atom"].to_pylist()
    homes = np.array([crc32(text.encode()) % shards for text in texts], dtype=np.int64)
    for home in np.unique(homes).tolist():
        table = parts.filter(pa.array(homes == home))
        yield StageMessage(behind, home, _PART, None, to_bytes(table))

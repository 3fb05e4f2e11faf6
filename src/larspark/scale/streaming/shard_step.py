"""One shard, one micro-batch: its state and its messages in, answers and the next state out.

A time point is closed when the watermark passes it: when each source has sent a time point that
lies more than the delay after it. Until then its facts are held back; then they are processed in
the order of batch and local runs. So the answers depend neither on the division into micro-batches
nor on the order of facts within the delay. A fact for a closed time point is late: it is counted
and not used.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Signature
from larspark.base.facts import ColumnBatch
from larspark.base.problems import LarsparkError
from larspark.run.session import Session
from larspark.run.state import digest_of
from larspark.scale.job import Loaded
from larspark.scale.piece_step import Facts, in_arrival_order, merged, unpacked
from larspark.scale.staged_batch import StageMessage
from larspark.scale.streaming import stage_step
from larspark.scale.streaming.intake import ShardMessage
from larspark.scale.streaming.output import AnswerSpan, answer_rows, late_rows, schema
from larspark.scale.streaming.program_change import continued
from larspark.scale.streaming.shard_state import (
    Identity,
    ShardState,
    damaged,
    fresh_state,
    read_state,
)
from larspark.scale.streaming.stream_job import StreamJob
from larspark.scale.table_facts import ORDER

# Sessions kept in this process, each with the digest of its state. The saved state is
# authoritative: a cached session is used only if it has exactly this state, or is restored to it.
_CACHED: OrderedDict[tuple[Identity, int | None, int], tuple[bytes, Session]] = OrderedDict()
_CACHE_LIMIT = 64


@dataclass(slots=True)
class Timing:
    """Seconds spent on state (reading, restoring, saving) and on evaluation."""

    state: float = 0.0
    engine: float = 0.0

    @contextmanager
    def measure(self, what: Literal["state", "engine"]) -> Iterator[None]:
        """Add the time of this block."""
        begin = perf_counter()
        yield
        setattr(self, what, getattr(self, what) + perf_counter() - begin)


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step: output rows, counts, and the next state.

    `late` counts the late facts of this micro-batch, `late_so_far` those of all micro-batches.
    `held` counts the facts whose time point is not closed yet; `lag` is the distance from the last
    answered time point to the latest one received. `sent` goes to later stages.
    """

    rows: pa.Table
    sent: Sequence[StageMessage]
    facts: int
    late: int
    late_so_far: int
    skipped: int
    held: int
    answered: int | None
    lag: int | None
    state: bytes
    timing: Timing


def step(
    state: bytes | None, messages: Iterable[ShardMessage], shard: int, stream_job: StreamJob
) -> StepResult:
    """Process the messages of a micro-batch to a shard, and answer all closed time points."""
    timing = Timing()
    with timing.measure("state"):
        before = (
            fresh_state(stream_job) if state is None else continued(read_state(state), stream_job)
        )
    received, facts, derived, skipped = _received(before, messages)
    answered = -1 if received.answered is None else received.answered
    too_late, on_time = _divided(facts, answered)
    late = _counted(too_late, shard, stream_job.loaded)
    extended = replace(
        received,
        late=received.late + _size(late),
        held=tuple(merged([*received.held, *on_time])),
    )
    after, rows, sent = _answered(extended, derived, shard, stream_job, timing)
    if stream_job.late == "output":
        rows = pa.concat_tables([rows, late_rows(late, stream_job.form)])
    with timing.measure("state"):
        written = after.to_bytes()
    return StepResult(
        rows,
        sent,
        _size(_counted(facts, shard, stream_job.loaded)),
        _size(late),
        after.late,
        skipped,
        _size(after.held),
        after.answered,
        _lag(after),
        written,
        timing,
    )


def _received(
    state: ShardState, messages: Iterable[ShardMessage]
) -> tuple[ShardState, list[Facts], list[StageMessage], int]:
    """The state with the time span of a micro-batch, its facts, what earlier stages derived, and
    the number of skipped rows."""
    first, latest, skipped = state.first, list(state.latest), 0
    packed: list[tuple[int, str, bytes]] = []
    derived: list[StageMessage] = []
    for message in messages:
        skipped += message.skipped
        stage, shard, place, predicate, payload = (
            message.stage,
            message.shard,
            message.place,
            message.predicate,
            message.payload,
        )
        if payload is not None and place is not None:
            if place < 0:
                derived.append(StageMessage(stage, shard, place, predicate, payload))
            elif predicate is not None:
                packed.append((place, predicate, payload))
        if message.first is not None and message.last is not None:
            if state.answered is None:
                first = message.first if first is None else min(first, message.first)
            known = latest[message.source]
            latest[message.source] = message.last if known is None else max(known, message.last)
    state = replace(state, first=first, latest=tuple(latest))
    return state, unpacked(packed), derived, skipped


def _answered(
    state: ShardState,
    derived: Sequence[StageMessage],
    shard: int,
    stream_job: StreamJob,
    timing: Timing,
) -> tuple[ShardState, pa.Table, Sequence[StageMessage]]:
    """Answer all closed time points."""
    loaded = stream_job.loaded
    start, closed = _start(state, stream_job), _closed(state, stream_job)
    if start is None or closed is None or closed < max(start, _next(state)):
        return state, schema(stream_job.form, stream_job.late).empty_table(), ()
    first = max(start, _next(state))
    ready, held = _divided(state.held, closed)
    kept_from, kept = _kept(state, ready, start, closed, stream_job)
    session = None
    if loaded.is_merge:
        found = stage_step.Evaluated(stage_step.merged(derived), ())
    else:
        with timing.measure("state"):
            session = _session(state, start, shard, loaded)
        with timing.measure("engine"):
            times = range(first, closed + 1)
            found = stage_step.evaluate(session, ready, derived, times, shard, loaded)
    answered = AnswerSpan(found.answers, first, closed, state.answered)
    rows, holding = answer_rows(answered, state.holding, stream_job.form, stream_job.late)
    with timing.measure("state"):
        saved = b"" if session is None else session.save()
    after = replace(
        state,
        start=start,
        answered=closed,
        held=tuple(held),
        kept_from=kept_from,
        kept=tuple(kept),
        holding=holding,
        session=saved,
    )
    if session is not None:
        _keep_alive(after, shard, session)
    return after, rows, found.sent


def _kept(
    state: ShardState, ready: Sequence[Facts], start: int, closed: int, stream_job: StreamJob
) -> tuple[int, list[Facts]]:
    """The facts to keep once `closed` is answered, and the time point from which they are kept."""
    first = start if state.kept_from is None else state.kept_from
    first = max(first, closed + 1 - stream_job.keep)
    if stream_job.start is not None:
        # Facts before the start were dropped at intake.
        first = max(first, stream_job.start)
    if stream_job.keep == 0:
        return first, []
    return first, _divided(merged([*state.kept, *ready]), first - 1)[1]


def _next(state: ShardState) -> int:
    return 0 if state.answered is None else state.answered + 1


def _start(state: ShardState, stream_job: StreamJob) -> int | None:
    """The start of the timeline: as given, or the first time point received."""
    if state.start is not None:
        return state.start
    if stream_job.start is not None:
        return stream_job.start
    if state.first is None:
        return None
    return min([state.first, *(element.t for element in stream_job.loaded.checked.elements)])


def _closed(state: ShardState, stream_job: StreamJob) -> int | None:
    """The last closed time point: the watermark."""
    latest = [t for t in state.latest if t is not None]
    if len(latest) < len(state.latest):
        return None
    return min(latest) - stream_job.delay - 1


def _lag(state: ShardState) -> int | None:
    latest = [t for t in state.latest if t is not None]
    return None if state.answered is None or not latest else max(latest) - state.answered


def _session(state: ShardState, start: int, shard: int, loaded: Loaded) -> Session:
    """A session at this state: the cached one, or one that is restored."""
    digest, cached = _CACHED.pop((state.identity, state.start, shard), (b"", None))
    if cached is not None and digest == digest_of(state.session):
        return cached
    if state.session:
        # An older session can be restored to this state; a newer one has already expired rows.
        behind = cached is not None and (cached.answered or 0) <= (state.answered or 0)
        session = cached if cached is not None and behind else None
        session = session or stage_step.new_session(start, shard, loaded)
        try:
            session.restore(state.session)
        except LarsparkError as error:
            message = f"the state of a shard cannot be read: {error.problems[0].message}"
            raise damaged(message) from None
        return session
    session = stage_step.new_session(start, shard, loaded)
    if state.answered is not None and start <= state.answered:
        # After a migration: replay the facts that were kept for the new program.
        kept = [
            each._replace(table=each.table.filter(pc.field("t") >= start)) for each in state.kept
        ]
        segments = in_arrival_order(kept, loaded.job.counts_tuples)
        session.append(ColumnBatch(segments, state.answered))
        session.advance(state.answered)
    return session


def _keep_alive(state: ShardState, shard: int, session: Session) -> None:
    _CACHED[state.identity, state.start, shard] = digest_of(state.session), session
    while len(_CACHED) > _CACHE_LIMIT:
        _CACHED.popitem(last=False)


def _divided(facts: Sequence[Facts], last: int) -> tuple[list[Facts], list[Facts]]:
    """The facts up to a time point, and the facts after it."""
    upto: list[Facts] = []
    after: list[Facts] = []
    for each in facts:
        times = each.table["t"]
        bounds = pc.min_max(times)
        if bounds["max"].as_py() <= last:
            upto.append(each)
        elif bounds["min"].as_py() > last:
            after.append(each)
        else:
            early = pc.less_equal(times, last)
            upto.append(each._replace(table=each.table.filter(early)))
            after.append(each._replace(table=each.table.filter(pc.invert(early))))
    return upto, after


def _counted(facts: Sequence[Facts], shard: int, loaded: Loaded) -> list[Facts]:
    """The facts that this shard counts.

    Those sent to all shards are counted by the first, those sent to several stages by the first.
    """
    return [
        each
        for each in facts
        if (shard == 0 or _signature(each) not in loaded.everywhere)
        and loaded.reads_first(_signature(each))
    ]


def _signature(facts: Facts) -> Signature:
    arguments = [name for name in facts.table.column_names if name not in ("t", ORDER)]
    return Signature(facts.predicate, len(arguments))


def _size(facts: Iterable[Facts]) -> int:
    return sum(each.table.num_rows for each in facts)

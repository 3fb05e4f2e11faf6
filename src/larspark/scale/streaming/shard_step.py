"""One shard, one micro-batch: its state and its parcels in, answers and the next state out.

A time point is closed when each source has told of one that lies more than the delay after it:
until then its facts are held back, and then they come in the order in which batch and local runs
take them. So the answers depend neither on how the stream is cut into micro-batches nor on the
order of facts within the delay. A fact for a closed time point is late: counted, never used.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.atoms import Signature
from larspark.base.facts import ColumnBatch
from larspark.base.problems import LarsparkError
from larspark.run.session import Session
from larspark.run.state import digest_of
from larspark.scale.job import Loaded
from larspark.scale.piece_step import Facts, in_arrival_order, merged, shard_answers, unpacked
from larspark.scale.streaming.intake import Parcel
from larspark.scale.streaming.output import Answered, answer_rows, late_rows, schema
from larspark.scale.streaming.program_change import continued
from larspark.scale.streaming.shard_state import (
    Identity,
    ShardState,
    damaged,
    fresh_state,
    read_state,
)
from larspark.scale.streaming.stream_job import Live
from larspark.scale.streaming.stream_progress import Spent
from larspark.scale.table_facts import ORDER

# Sessions that are alive in this process, each with the digest of the state that it is at. The
# saved state is the truth: a session goes on from exactly this state, or is brought to it.
_ALIVE: OrderedDict[tuple[Identity, int | None, int], tuple[bytes, Session]] = OrderedDict()
_MOST_ALIVE = 64


@dataclass(frozen=True, slots=True)
class Stepped:
    """What a step gives: rows of output, what happened, and the state that it leaves.

    `late` counts the late facts of this micro-batch, `late_so_far` those of all. `held` counts the
    facts that wait for their time point to be closed, `lag` is how far the answers are behind the
    latest time point heard of. `spent` is where the time went.
    """

    rows: pa.Table
    facts: int
    late: int
    late_so_far: int
    skipped: int
    held: int
    answered: int | None
    lag: int | None
    state: bytes
    spent: Spent


def step(state: bytes | None, parcels: Iterable[Parcel], shard: int, live: Live) -> Stepped:
    """Take in what a micro-batch brought for a shard, and answer what can be answered."""
    spent = Spent()
    with spent.on("state"):
        before = fresh_state(live) if state is None else continued(read_state(state), live)
    heard, facts, skipped = _heard(before, parcels)
    answered = -1 if heard.answered is None else heard.answered
    too_late, on_time = _divided(facts, answered)
    late = _counted(too_late, shard, live.loaded)
    taken = replace(
        heard, late=heard.late + _size(late), held=tuple(merged([*heard.held, *on_time]))
    )
    after, rows = _answered(taken, shard, live, spent)
    if live.late == "output":
        rows = pa.concat_tables([rows, late_rows(late, live.form)])
    with spent.on("state"):
        written = after.to_bytes()
    return Stepped(
        rows,
        _size(_counted(facts, shard, live.loaded)),
        _size(late),
        after.late,
        skipped,
        _size(after.held),
        after.answered,
        _lag(after),
        written,
        spent,
    )


def _heard(state: ShardState, parcels: Iterable[Parcel]) -> tuple[ShardState, list[Facts], int]:
    """The state that knows of the time of a micro-batch, its facts, and how many rows were none."""
    first, latest, skipped = state.first, list(state.latest), 0
    packed: list[tuple[int, str, bytes]] = []
    for parcel in parcels:
        skipped += parcel.skipped
        if parcel.payload is not None and parcel.place is not None and parcel.predicate is not None:
            packed.append((parcel.place, parcel.predicate, parcel.payload))
        if parcel.first is not None and parcel.last is not None:
            if state.answered is None:
                first = parcel.first if first is None else min(first, parcel.first)
            known = latest[parcel.source]
            latest[parcel.source] = parcel.last if known is None else max(known, parcel.last)
    return replace(state, first=first, latest=tuple(latest)), unpacked(packed), skipped


def _answered(
    state: ShardState, shard: int, live: Live, spent: Spent
) -> tuple[ShardState, pa.Table]:
    """Answer all time points that are closed by now."""
    start, closed = _start(state, live), _closed(state, live)
    if start is None or closed is None or closed < max(start, _next(state)):
        return state, schema(live.form, live.late).empty_table()
    with spent.on("state"):
        session = _session(state, start, shard, live.loaded)
    ready, held = _divided(state.held, closed)
    kept_from, kept = _kept(state, ready, start, closed, live)
    with spent.on("engine"):
        segments = in_arrival_order(ready, live.loaded.job.counts_tuples)
        session.append(ColumnBatch(segments, closed))
        table = shard_answers(session.advance(closed), shard, live.loaded)
    answered = Answered(table, max(start, _next(state)), closed, state.answered)
    rows, holding = answer_rows(answered, state.holding, live.form, live.late)
    with spent.on("state"):
        saved = session.save()
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
    _keep_alive(after, shard, session)
    return after, rows


def _kept(
    state: ShardState, ready: Sequence[Facts], start: int, closed: int, live: Live
) -> tuple[int, list[Facts]]:
    """The facts that are kept when all is answered up to `closed`, and from when on all are."""
    first = start if state.kept_from is None else state.kept_from
    first = max(first, closed + 1 - live.keep)
    if live.start is not None:
        # Facts before it are not taken in.
        first = max(first, live.start)
    if live.keep == 0:
        return first, []
    return first, _divided(merged([*state.kept, *ready]), first - 1)[1]


def _next(state: ShardState) -> int:
    return 0 if state.answered is None else state.answered + 1


def _start(state: ShardState, live: Live) -> int | None:
    """Where the timeline begins: where it is said, or with the first time point heard of."""
    if state.start is not None:
        return state.start
    if live.start is not None:
        return live.start
    if state.first is None:
        return None
    return min([state.first, *(element.t for element in live.loaded.checked.elements)])


def _closed(state: ShardState, live: Live) -> int | None:
    """The last time point for which no fact may come any more."""
    latest = [t for t in state.latest if t is not None]
    if len(latest) < len(state.latest):
        return None
    return min(latest) - live.delay - 1


def _lag(state: ShardState) -> int | None:
    latest = [t for t in state.latest if t is not None]
    return None if state.answered is None or not latest else max(latest) - state.answered


def _session(state: ShardState, start: int, shard: int, loaded: Loaded) -> Session:
    """The engine at this state: one that is alive, or one that is brought to it."""
    digest, alive = _ALIVE.pop((state.identity, state.start, shard), (b"", None))
    if alive is not None and digest == digest_of(state.session):
        return alive
    if state.session:
        # An engine that stayed behind has the program read already; one ahead has forgotten things.
        behind = alive is not None and (alive.answered or 0) <= (state.answered or 0)
        session = alive if alive is not None and behind else loaded.session(start)
        try:
            session.restore(state.session)
        except LarsparkError as error:
            message = f"the state of a shard cannot be read: {error.problems[0].message}"
            raise damaged(message) from None
        return session
    session = loaded.session(start)
    if state.answered is not None and start <= state.answered:
        # The program has taken over the facts of another one.
        seen = [
            each._replace(table=each.table.filter(pc.field("t") >= start)) for each in state.kept
        ]
        segments = in_arrival_order(seen, loaded.job.counts_tuples)
        session.append(ColumnBatch(segments, state.answered))
        session.advance(state.answered)
    return session


def _keep_alive(state: ShardState, shard: int, session: Session) -> None:
    _ALIVE[state.identity, state.start, shard] = digest_of(state.session), session
    while len(_ALIVE) > _MOST_ALIVE:
        _ALIVE.popitem(last=False)


def _divided(facts: Sequence[Facts], last: int) -> tuple[list[Facts], list[Facts]]:
    """The facts up to a time point, and those after it."""
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
    """Facts that all shards get are counted by one."""
    return [each for each in facts if shard == 0 or not _everywhere(each, loaded)]


def _everywhere(facts: Facts, loaded: Loaded) -> bool:
    """Did all shards get these facts?"""
    arguments = [name for name in facts.table.column_names if name not in ("t", ORDER)]
    return Signature(facts.predicate, len(arguments)) in loaded.everywhere


def _size(facts: Iterable[Facts]) -> int:
    return sum(each.table.num_rows for each in facts)

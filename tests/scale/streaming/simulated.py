"""A stream as Spark runs it, without Spark: intake, a step for each shard, output."""

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
from tests.scale.piecewise import Interval, local_answers

from larspark.base.atoms import Element, atom_text
from larspark.scale.grid import Grid
from larspark.scale.job import Prepared
from larspark.scale.streaming import shard_step as stepping
from larspark.scale.streaming.intake import ShardMessage, pack_for_shards
from larspark.scale.streaming.stream_job import StreamJob
from larspark.scale.table_facts import atom_shape

# An element and the number of its arrival.
Numbered = tuple[int, Element]

SCHEMA = pa.schema([("t", pa.int64()), ("atom", pa.string()), ("n", pa.int64())])


def live_for(prepared: Prepared, shards: int = 1, **options: Any) -> StreamJob:
    plain = StreamJob(
        job=prepared.job_on(Grid(shards, (0,), 0, 0), end=0).text(),
        start=prepared.settings.start,
        delay=0,
        keep=0,
        sources=1,
        form="intervals",
        late="count",
        on_error="fail",
        on_program_change="refuse",
    )
    return replace(plain, **options)


def live_in_stages(prepared: Prepared, shards: int, **options: Any) -> list[StreamJob]:
    """The stages of a stream, with what merges the parts of answers."""
    plain = live_for(prepared, shards, **options)
    jobs = prepared.stages_of_stream(plain.loaded.job)
    return [replace(plain, job=job.text()) for job in jobs]


class Simulated:
    """The shards of a stream, and all that they gave so far."""

    def __init__(
        self, stream_job: StreamJob, ordered: bool = False, stages: Sequence[StreamJob] = ()
    ) -> None:
        self.stream_job = stream_job
        self.stages = stages
        self.shape = atom_shape(0, "t", "atom", "n" if ordered else None)
        self.states: dict[tuple[int, int], bytes] = {}
        self.rows: list[dict[str, Any]] = []
        self.facts = self.late = self.skipped = 0
        self.answered: set[int | None] = {None}
        # The engines that are alive in each of two workers.
        self._alive: list[Any] = [OrderedDict(), OrderedDict()]

    def restart(self) -> None:
        """Only the states stay."""
        for alive in self._alive:
            alive.clear()

    def micro_batch(self, elements: Sequence[Numbered], random: Random) -> None:
        partitions: list[list[pa.RecordBatch]] = [[] for _ in range(random.randint(1, 3))]
        for n, (t, atom) in random.sample(elements, len(elements)):
            row = {"t": t, "atom": atom_text(atom), "n": n}
            random.choice(partitions).append(pa.RecordBatch.from_pylist([row], SCHEMA))
        if random.random() < 0.2:
            # Somebody does the work, and is gone before it is known; it is done again.
            told = vars(self) | {"states": dict(self.states), "rows": list(self.rows)}
            stepping._CACHED = random.choice(self._alive)
            self.take(partitions)
            vars(self).update(told)
        stepping._CACHED = random.choice(self._alive)
        self.take(partitions)

    def take(self, partitions: Sequence[Sequence[pa.RecordBatch]], source: int = 0) -> None:
        stages = self.stages or [self.stream_job]
        messages: defaultdict[tuple[int, int], list[ShardMessage]] = defaultdict(list)
        texts = [stage.text() for stage in stages]
        for batches in partitions:
            for batch in pack_for_shards(batches, source, [self.shape], texts):
                for row in batch.to_pylist():
                    messages[row["stage"], row["shard"]].append(ShardMessage(**row))
        for number, stage in enumerate(stages):
            for shard in sorted(shard for at, shard in messages if at == number):
                mine = messages[number, shard]
                result = stepping.step(self.states.get((number, shard)), mine, shard, stage)
                for later, target, place, predicate, payload in result.sent:
                    sent = ShardMessage(later, target, 0, None, None, 0, place, predicate, payload)
                    messages[later, target].append(sent)
                self.states[number, shard] = result.state
                self.rows += result.rows.to_pylist()
                self.facts += result.facts
                self.late += result.late
                self.skipped += result.skipped
        if messages:
            self.answered = {stepping.read_state(state).answered for state in self.states.values()}

    @property
    def closed(self) -> int | None:
        """Up to when all shards answered."""
        [answered] = self.answered
        return answered

    @property
    def intervals(self) -> list[Interval]:
        return sorted((row["atom"], row["from"], row["to"]) for row in self.rows)

    @property
    def changes(self) -> list[tuple[int, str, str]]:
        return sorted((row["t"], row["change"], row["atom"]) for row in self.rows)


def out_of_order(elements: Sequence[Element], delay: int, random: Random) -> list[Numbered]:
    """Elements as they come: each may overtake others by the delay at most."""
    numbered = list(enumerate(sorted(elements, key=lambda element: element.t)))
    return sorted(numbered, key=lambda each: each[1].t + random.uniform(0, delay))


def random_cuts(elements: Sequence[Numbered], random: Random) -> list[Sequence[Numbered]]:
    """Elements cut into micro-batches, some of them empty."""
    batches = []
    while elements:
        size = random.choice([0, 1, 1, 2, 5, len(elements)])
        batches.append(elements[:size])
        elements = elements[size:]
    return batches


def final_intervals(
    prepared: Prepared, elements: Sequence[Element], closed: int | None
) -> list[Interval]:
    """What one local engine says, of which a stream that was answered so far may give."""
    if closed is None:
        return []
    return [row for row in local_answers(prepared, elements, closed) if row[2] < closed]


def final_changes(
    prepared: Prepared, elements: Sequence[Element], closed: int | None
) -> list[tuple[int, str, str]]:
    if closed is None:
        return []
    rows = local_answers(prepared, elements, closed)
    begins = [(start, "add", atom) for atom, start, _ in rows]
    return sorted([*begins, *((end + 1, "del", atom) for atom, _, end in rows if end < closed)])

"""The step of a shard as Spark's operator on keyed state."""

from collections.abc import Iterable, Iterator
from typing import Any

from larspark.scale.failures import telling
from larspark.scale.pack import to_bytes
from larspark.scale.spark_session import Row, StatefulProcessor, StatefulProcessorHandle
from larspark.scale.streaming.intake import Parcel
from larspark.scale.streaming.shard_step import Stepped, step
from larspark.scale.streaming.stream_job import read_live

# One row for each shard and micro-batch; the output is packed in `rows`.
SPARK_SCHEMA = (
    "rows binary, facts long, late long, late_so_far long, skipped long, held long, answers long, "
    "answered long, lag long, state_bytes long, state_ms double, engine_ms double"
)


class ShardOperator(StatefulProcessor):
    """Keeps the state of each shard in Spark's state store."""

    def __init__(self, live_text: str) -> None:
        self._live_text = live_text
        self._shards = read_live(live_text).loaded.job.grid.shards

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("shard", "state binary")

    def step(self, before: bytes | None, parcels: Iterable[Parcel], shard: int) -> Stepped:
        """What a micro-batch brings for a shard, and the state after it."""
        return step(before, parcels, shard, read_live(self._live_text))

    # Spark calls it with these names.
    @telling
    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        known = self._state.get() if self._state.exists() else None
        before = None if known is None else bytes(known[0])
        stepped = self.step(before, (Parcel(*row) for row in rows), key[0] % self._shards)
        if stepped.state != before:
            self._state.update((stepped.state,))
        yield Row(
            rows=to_bytes(stepped.rows),
            facts=stepped.facts,
            late=stepped.late,
            late_so_far=stepped.late_so_far,
            skipped=stepped.skipped,
            held=stepped.held,
            answers=stepped.rows.num_rows,
            answered=stepped.answered,
            lag=stepped.lag,
            state_bytes=len(stepped.state),
            state_ms=1000 * stepped.spent.state,
            engine_ms=1000 * stepped.spent.engine,
        )

    def close(self) -> None:
        """Nothing is open between two micro-batches."""

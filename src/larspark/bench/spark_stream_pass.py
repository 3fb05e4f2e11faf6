"""The same Spark operators as in a stream, with the same facts and as much state, and no engine."""

from collections.abc import Iterable

from larspark.bench.spark import COOLING
from larspark.bench.spark_streaming import DELAY, MAPPING, SHARDS
from larspark.run.protocol import Settings
from larspark.scale.grid import Grid
from larspark.scale.layout import Wish
from larspark.scale.prepare import prepare
from larspark.scale.shapes import find_sources
from larspark.scale.sql import DataFrame
from larspark.scale.step import in_arrival_order, unpacked
from larspark.scale.streaming.intake import Parcel
from larspark.scale.streaming.live import Live
from larspark.scale.streaming.operator import ShardOperator
from larspark.scale.streaming.output import schema
from larspark.scale.streaming.query import Inlet, answers
from larspark.scale.streaming.spent import Spent
from larspark.scale.streaming.step import Stepped


class PassingOperator(ShardOperator):
    """Unpacks the facts of a shard, brings them into order, and keeps some of their bytes."""

    def __init__(self, live_text: str, state_bytes: int) -> None:
        super().__init__(live_text)
        self._state_bytes = state_bytes

    def step(self, before: bytes | None, parcels: Iterable[Parcel], shard: int) -> Stepped:
        """No answers, and a state of the size that was asked for."""
        packed = [
            (parcel.place, parcel.predicate, parcel.payload)
            for parcel in parcels
            if parcel.payload is not None
            and parcel.place is not None
            and parcel.predicate is not None
        ]
        segments = in_arrival_order(unpacked(packed), counts_tuples=False)
        payload = b"".join(payload for _, _, payload in packed) or before or b"\0"
        state = (payload * (self._state_bytes // len(payload) + 1))[: self._state_bytes]
        return Stepped(
            rows=schema("intervals", "count").empty_table(),
            facts=sum(segment.table.num_rows for segment in segments),
            late=0,
            late_so_far=0,
            skipped=0,
            held=0,
            answered=0,
            lag=0,
            state=state,
            spent=Spent(),
        )


def passed(facts: DataFrame, state_bytes: int) -> DataFrame:
    """A stream of facts as `stream` would take it, up to the engine and after it."""
    prepared = prepare(COOLING, (), "interval", Settings(), Wish(SHARDS))
    [source] = find_sources(facts, None, MAPPING, None)
    live = Live(
        job=prepared.job_on(Grid(SHARDS, (0,), 0, 0), end=0).text(),
        start=None,
        delay=DELAY,
        keep=0,
        sources=1,
        form="intervals",
        late="count",
        on_error="fail",
        on_program_change="refuse",
    )
    operator = PassingOperator(live.text(), state_bytes)
    return answers([Inlet(facts, (source.shape,))], live, operator)

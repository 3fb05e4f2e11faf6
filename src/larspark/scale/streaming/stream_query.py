"""Streaming on Spark: a streaming DataFrame of facts in, a streaming DataFrame of answers out.

The query maps rows to messages (`intake`), runs a stateful operator that steps each shard
(`shard_step`), and unpacks the output rows (`output`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import OnError
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.scale.dataframe_facts import Source, check_sources, find_sources
from larspark.scale.grid import Grid, RequestedCuts
from larspark.scale.job import Prepared, prepare
from larspark.scale.problem_transport import reports_problems
from larspark.scale.shuffle_payloads import to_bytes
from larspark.scale.spark_session import (
    DataFrame,
    Row,
    SparkSession,
    StatefulProcessor,
    StatefulProcessorHandle,
    functions,
)
from larspark.scale.streaming import intake, output
from larspark.scale.streaming.intake import VALUE, ShardMessage, shard_keys
from larspark.scale.streaming.shard_step import StepResult, step
from larspark.scale.streaming.stream_job import (
    Form,
    Late,
    OnProgramChange,
    StreamJob,
    check_choices,
    load_stream_job,
    time_points,
)
from larspark.scale.streaming.stream_progress import OBSERVED
from larspark.scale.table_facts import Shape
from larspark.scale.travel import prepare_executors

# A stage gives messages for later stages, and for each shard and micro-batch one row with packed
# output rows as its payload, which is addressed behind all stages.
_COSTS = (
    "facts long, late long, late_so_far long, held long, answers long, answered long, lag long, "
    "state_bytes long, state_ms double, engine_ms double"
)
SPARK_SCHEMA = f"{intake.SPARK_SCHEMA}, {_COSTS}"
_MESSAGE = intake.SCHEMA.names
_OUTPUT = Row(*_MESSAGE, *(column.split()[0] for column in _COSTS.split(", ")))
_NO_COSTS = (None,) * (len(_OUTPUT) - len(_MESSAGE))
_BEHIND = -1


class ShardOperator(StatefulProcessor):
    """Keeps the state of each shard of a stage in Spark's state store."""

    def __init__(self, stream_text: str) -> None:
        self._stream_text = stream_text
        self._stage = load_stream_job(stream_text).loaded.job.stage or 0

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("shard", "state binary")

    def step(
        self, before: bytes | None, messages: Iterable[ShardMessage], shard: int
    ) -> StepResult:
        """Step a shard over the messages of a micro-batch."""
        return step(before, messages, shard, load_stream_job(self._stream_text))

    # The names are given by Spark.
    @reports_problems
    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        mine: list[ShardMessage] = []
        for row in rows:
            if row[0] == self._stage:
                mine.append(ShardMessage(*row[: len(_MESSAGE)]))
            else:
                # For a later stage, or behind all of them. The key of the group is the last column.
                forwarded = tuple(row)[:-1]
                yield _OUTPUT(*forwarded, *_NO_COSTS[: len(_OUTPUT) - len(forwarded)])
        if not mine:
            return
        known = self._state.get() if self._state.exists() else None
        before = None if known is None else bytes(known[0])
        shard = mine[0].shard
        result = self.step(before, mine, shard)
        if result.state != before:
            self._state.update((result.state,))
        for stage, target, place, predicate, payload in result.sent:
            message = ShardMessage(stage, target, 0, None, None, 0, place, predicate, payload)
            yield _OUTPUT(*message, *_NO_COSTS)
        behind = ShardMessage(
            _BEHIND, shard, 0, skipped=result.skipped, payload=to_bytes(result.rows)
        )
        yield _OUTPUT(
            *behind,
            result.facts,
            result.late,
            result.late_so_far,
            result.held,
            result.rows.num_rows,
            result.answered,
            result.lag,
            len(result.state),
            1000 * result.timing.state,
            1000 * result.timing.engine,
        )

    def close(self) -> None:
        """Nothing to close."""


_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STATE_STORE = {
    _PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def stream(
    program: str | tree.Program,
    facts: DataFrame | Mapping[str, DataFrame],
    *,
    time: str | None = None,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    order: str | None = None,
    watermark: str | int = 0,
    keep: str | int | None = None,
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    start: int | None = None,
    until: int | None = None,
    shards: int | None = None,
    form: Form = "intervals",
    late: Late = "count",
    on_error: OnError = "fail",
    on_program_change: OnProgramChange = "refuse",
) -> DataFrame:
    """The answers over a stream, equal to those of a local run over the facts that are on time.

    Facts are given as for `larspark.spark.run`, except Parquet files; or, without time and mapping,
    as JSON Lines in a column `value`, which Spark's text files and sockets have.

    Facts may be late by `watermark`, a duration (`"10 s"`) or a number of time points. A time point
    is answered once each DataFrame has sent one that lies more than that after it. Later facts for
    it are counted; with `late="output"` they are also output, in rows that are marked.

    With `form="intervals"` the output has the columns atom, from, to: an atom is emitted when it
    ceases to hold. With `form="changes"` it has t, change (`add` or `del`) and atom. Emitted rows
    are final: write them with the output mode `append`.

    A restarted query with the same checkpoint continues state and output. If the program has
    changed, it is refused; or it starts where the old one stopped (`on_program_change="restart"`);
    or it answers from there on as if it had always been running (`"migrate"`). A migration needs
    kept facts: those of the last `keep` time points, a duration or a number. A stream with
    `"migrate"` keeps at least the facts that its own windows can see.
    """
    check_choices(form, late, on_error, on_program_change)
    settings = Settings(start, until=until)
    requested = RequestedCuts(shards)
    prepared = prepare(program, background, engine, settings, requested, in_stages=True)
    delay = time_points("watermark", watermark, prepared.tick)
    stream_inputs = _stream_inputs(facts, time, map, order)
    _check(stream_inputs, prepared)
    spark = stream_inputs[0].frame.sparkSession
    grid = Grid(_shards(spark, prepared), (0,), 0, 0)
    jobs = prepared.stages_of_stream(prepared.job_on(grid, end=0))
    if len(jobs) > 1 and (keep is not None or on_program_change != "refuse"):
        message = "a stream in stages keeps no facts, and its program cannot change"
        hint = "leave out `keep` and `on_program_change`, or run it in one shard"
        raise LarsparkError(Problem("L490", message, hint=hint))
    stream_job = StreamJob(
        job="",
        start=start,
        delay=delay,
        keep=_keep(keep, on_program_change, prepared),
        sources=len(stream_inputs),
        form=form,
        late=late,
        on_error=on_error,
        on_program_change=on_program_change,
    )
    stages = [replace(stream_job, job=job.text()) for job in jobs]
    return answers(
        stream_inputs, grid.shards, [(stage, ShardOperator(stage.text())) for stage in stages]
    )


class StreamInput(NamedTuple):
    """A streaming DataFrame and how its rows become facts; without shapes they are JSON Lines."""

    frame: DataFrame
    shapes: tuple[Shape, ...] | None

    @property
    def rows(self) -> DataFrame:
        """The columns that are read."""
        columns = [VALUE] if self.shapes is None else [c for s in self.shapes for c in s.columns]
        names = [f"`{name.replace('`', '``')}`" for name in dict.fromkeys(columns)]
        return self.frame.select(*names)


def _stream_inputs(
    facts: DataFrame | Mapping[str, DataFrame],
    time: str | None,
    mapping: str | None,
    order: str | None,
) -> list[StreamInput]:
    if isinstance(facts, DataFrame) and facts.columns == [VALUE] and not (time or mapping):
        return [StreamInput(facts, None)]
    sources = find_sources(facts, time, mapping, order)
    if isinstance(facts, DataFrame):
        return [StreamInput(facts, tuple(source.shape for source in sources))]
    return [StreamInput(source.frame, (source.shape,)) for source in sources]


def _check(stream_inputs: Sequence[StreamInput], prepared: Prepared) -> None:
    if not all(stream_input.frame.isStreaming for stream_input in stream_inputs):
        hint = "read it with `spark.readStream`, or use `run` for batch"
        raise LarsparkError(Problem("L493", "the DataFrame is not a streaming one", hint=hint))
    # A stream cannot be read before it starts, so check an empty table with its columns.
    tables = [
        Source(
            stream_input.frame.sparkSession.createDataFrame([], stream_input.frame.schema), shape
        )
        for stream_input in stream_inputs
        for shape in stream_input.shapes or ()
    ]
    check_sources(tables, prepared.tick)


def _keep(keep: str | int | None, change: OnProgramChange, prepared: Prepared) -> int:
    """The number of time points whose facts are kept."""
    if keep is not None:
        return time_points("keep", keep, prepared.tick)
    return prepared.cuts.lookback or 0 if change == "migrate" else 0


def _use_state_store(spark: SparkSession) -> None:
    """Select RocksDB, the only state store that supports the operator; not Spark's default."""
    if "RocksDB" not in (spark.conf.get(_PROVIDER, "") or ""):
        for name, value in _STATE_STORE.items():
            spark.conf.set(name, value)


def _shards(spark: SparkSession, prepared: Prepared) -> int:
    """One shard for each state partition: more engines have more fixed cost per micro-batch."""
    if prepared.requested.shards is not None:
        return prepared.requested.shards
    if prepared.cuts.key is None:
        return 1
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def answers(
    stream_inputs: Sequence[StreamInput],
    shards: int,
    stages: Sequence[tuple[StreamJob, StatefulProcessor]],
) -> DataFrame:
    """The output of the stateful operators of all stages on the shards of a stream."""
    spark = stream_inputs[0].frame.sparkSession
    _use_state_store(spark)
    prepare_executors(spark)
    texts = [stage.text() for stage, _ in stages]
    stream_job = stages[0][0]
    messages = [
        stream_input.rows.mapInArrow(
            partial(
                intake.pack_for_shards,
                source=source,
                shapes=stream_input.shapes,
                stream_texts=texts,
            ),
            intake.SPARK_SCHEMA,
        )
        for source, stream_input in enumerate(stream_inputs)
    ]
    keys = functions.array(*map(functions.lit, shard_keys(shards)))
    result = reduce(DataFrame.unionAll, messages)
    for _, operator in stages:
        by_shard = result.withColumn("key", keys[functions.col("shard")]).groupBy("key")
        result = by_shard.transformWithState(operator, SPARK_SCHEMA, "append", "none")
    counts = ("facts", "late", "late_so_far", "skipped", "held", "answers")
    costs = ("state_bytes", "state_ms", "engine_ms")
    # What every stage but the last has sent has arrived.
    observed = result.observe(
        OBSERVED,
        *(functions.sum(name).alias(name) for name in counts + costs),
        functions.min("answered").alias("answered"),
        functions.max("lag").alias("lag"),
    )
    return observed.mapInArrow(
        partial(output.unpack, form=stream_job.form, late=stream_job.late),
        output.spark_schema(stream_job.form, stream_job.late),
    )

"""Streaming on Spark: a streaming DataFrame of facts in, a streaming DataFrame of answers out."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import NamedTuple

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import OnError
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.scale.dataframe_facts import Source, check_sources, find_sources
from larspark.scale.grid import Grid, Wish
from larspark.scale.job_plan import Prepared, prepare
from larspark.scale.spark_session import DataFrame, SparkSession, StatefulProcessor, functions
from larspark.scale.streaming import intake, operator, output
from larspark.scale.streaming.intake import shard_keys
from larspark.scale.streaming.json_lines import VALUE
from larspark.scale.streaming.stream_job import (
    Form,
    Late,
    Live,
    OnProgramChange,
    check_choices,
    time_points,
)
from larspark.scale.streaming.stream_progress import OBSERVED
from larspark.scale.table_facts import Shape

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
    """The answers over a stream, exactly those of a local run over the facts that are on time.

    Facts come as in `larspark.spark.run`; or, with neither a time nor a mapping, as lines of JSON
    Lines in a column `value`, which is what Spark's text files and sockets give.

    Facts may come late by `watermark`, a duration (`"10 s"`) or a number of time points. A time
    point is answered when each DataFrame has told of one that lies more than that after it; facts
    for time points that were answered are counted, and with `late="output"` they are rows of the
    output that are marked so.

    As `intervals`, the output has the columns atom, from, to: an atom is given when it ceases to
    hold. As `changes`, it has t, change (`add` or `del`) and atom. Rows never change once they are
    given: write them with the output mode `append`.

    State and output can go on after a restart with the same checkpoint. When the program is then
    another one, that is refused; or the new one begins where the old one stopped
    (`on_program_change="restart"`); or it answers from there on as if it had always been there
    (`"migrate"`), which needs facts that were kept: those of the last `keep` time points, which is
    a duration or a number of them. A stream that runs with `"migrate"` keeps by itself what its own
    windows can see.
    """
    check_choices(form, late, on_error, on_program_change)
    settings = Settings(start, until=until)
    prepared = prepare(program, background, engine, settings, Wish(shards))
    delay = time_points("watermark", watermark, prepared.tick)
    inlets = _inlets(facts, time, map, order)
    _check(inlets, prepared)
    spark = inlets[0].frame.sparkSession
    grid = Grid(_shards(spark, prepared), (0,), 0, 0)
    live = Live(
        job=prepared.job_on(grid, end=0).text(),
        start=start,
        delay=delay,
        keep=_keep(keep, on_program_change, prepared),
        sources=len(inlets),
        form=form,
        late=late,
        on_error=on_error,
        on_program_change=on_program_change,
    )
    return answers(inlets, live, operator.ShardOperator(live.text()))


class Inlet(NamedTuple):
    """A streaming DataFrame and the facts that its rows are; without shapes JSON Lines."""

    frame: DataFrame
    shapes: tuple[Shape, ...] | None

    @property
    def rows(self) -> DataFrame:
        """The columns that are read."""
        columns = [VALUE] if self.shapes is None else [c for s in self.shapes for c in s.columns]
        names = [f"`{name.replace('`', '``')}`" for name in dict.fromkeys(columns)]
        return self.frame.select(*names)


def _inlets(
    facts: DataFrame | Mapping[str, DataFrame],
    time: str | None,
    mapping: str | None,
    order: str | None,
) -> list[Inlet]:
    if isinstance(facts, DataFrame) and facts.columns == [VALUE] and not (time or mapping):
        return [Inlet(facts, None)]
    sources = find_sources(facts, time, mapping, order)
    if isinstance(facts, DataFrame):
        return [Inlet(facts, tuple(source.shape for source in sources))]
    return [Inlet(source.frame, (source.shape,)) for source in sources]


def _check(inlets: Sequence[Inlet], prepared: Prepared) -> None:
    if not all(inlet.frame.isStreaming for inlet in inlets):
        hint = "read it with `spark.readStream`, or ask for all answers at once with `run`"
        raise LarsparkError(Problem("L493", "the DataFrame is not a streaming one", hint=hint))
    # A stream cannot be looked at before it runs, but a table with its columns can.
    tables = [
        Source(inlet.frame.sparkSession.createDataFrame([], inlet.frame.schema), shape)
        for inlet in inlets
        for shape in inlet.shapes or ()
    ]
    check_sources(tables, prepared.tick)


def _keep(keep: str | int | None, change: OnProgramChange, prepared: Prepared) -> int:
    """For how many time points facts are kept."""
    if keep is not None:
        return time_points("keep", keep, prepared.tick)
    return prepared.cuts.lookback or 0 if change == "migrate" else 0


def _use_state_store(spark: SparkSession) -> None:
    """Spark keeps state of this kind in RocksDB only; its own default is another one."""
    if "RocksDB" not in (spark.conf.get(_PROVIDER, "") or ""):
        for name, value in _STATE_STORE.items():
            spark.conf.set(name, value)


def _shards(spark: SparkSession, prepared: Prepared) -> int:
    """One for each partition of the state: each engine has work to do besides its facts."""
    if prepared.wish.shards is not None:
        return prepared.wish.shards
    if prepared.cuts.key is None:
        return 1
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def answers(inlets: Sequence[Inlet], live: Live, shard: StatefulProcessor) -> DataFrame:
    """What an operator on the shards of a stream gives."""
    _use_state_store(inlets[0].frame.sparkSession)
    text = live.text()
    parcels = [
        inlet.rows.mapInArrow(
            partial(intake.pack_for_shards, source=source, shapes=inlet.shapes, live_text=text),
            intake.SPARK_SCHEMA,
        )
        for source, inlet in enumerate(inlets)
    ]
    keys = functions.array(*map(functions.lit, shard_keys(live.loaded.job.grid.shards)))
    stepped = (
        reduce(DataFrame.unionAll, parcels)
        .withColumn("shard", keys[functions.col("shard")])
        .groupBy("shard")
        .transformWithState(shard, operator.SPARK_SCHEMA, "append", "none")
    )
    counts = ("facts", "late", "late_so_far", "skipped", "held", "answers")
    costs = ("state_bytes", "state_ms", "engine_ms")
    seen = stepped.observe(
        OBSERVED,
        *(functions.sum(name).alias(name) for name in counts + costs),
        functions.min("answered").alias("answered"),
        functions.max("lag").alias("lag"),
    )
    return seen.mapInArrow(
        partial(output.unpack, form=live.form, late=live.late),
        output.spark_schema(live.form, live.late),
    )

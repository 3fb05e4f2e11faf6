"""The diamond and the join as PySpark queries, as someone would write them who has no rules.

Facts `p(a0, a1)` at `t` hold for `size` time points more, and an answer has maximal intervals:
gaps and islands are found with window functions, as the textbooks have it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from larspark.base.problems import LarsparkError, Problem
from larspark.bench.contest import Measurement, Tell
from larspark.bench.generated_streams import Facts, chain, unique_pairs
from larspark.bench.stopwatch import Stopwatch
from larspark.bench.workload import checked_program
from larspark.feeds import Stream
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.scale import exchange as spread
from larspark.scale import first_look as look
from larspark.scale import parquet_files as files
from larspark.scale import piece_step as step
from larspark.scale import survey
from larspark.scale.dataframe_facts import find_file_sources, find_sources
from larspark.scale.grid import Grid, Wish
from larspark.scale.job import Loaded, load
from larspark.scale.job_plan import prepare


def diamond(facts: Any, size: int, final: int) -> Any:
    """`[size] some p(A,B)`: rows a0, a1, from, to."""
    return _some(facts, size, final)


def join(facts: Any, size: int, final: int) -> Any:
    """`[size] some p(A,B), [size] some p(B,C)`: rows a0, a1, from, to."""
    from larspark.scale.spark_session import functions as f

    left = _some(facts, size, final)
    right = left.selectExpr("a0 as b0", "a1 as b1", "`from` as begin", "`to` as end")
    met = (
        left.join(right, left["a1"] == right["b0"])
        .select(
            "a0",
            f.col("b1").alias("a1"),
            f.greatest("from", "begin").alias("from"),
            f.least("to", "end").alias("to"),
        )
        .where("`from` <= `to`")
    )
    return _coalesced(met)


def _some(facts: Any, size: int, final: int) -> Any:
    lives = facts.selectExpr("a0", "a1", "t as `from`", f"least(t + {size}, {final}) as `to`")
    return _coalesced(lives)


def _coalesced(spans: Any) -> Any:
    """One row of the intervals of an atom that touch or overlap."""
    from larspark.scale.spark_session import Window
    from larspark.scale.spark_session import functions as f

    by_time = Window.partitionBy("a0", "a1").orderBy("from")
    before = f.max("to").over(by_time.rowsBetween(Window.unboundedPreceding, -1))
    begins = f.coalesce(f.col("from") > before + 1, f.lit(True)).cast("int")
    return (
        spans.withColumn("begins", begins)
        .withColumn("island", f.sum("begins").over(by_time))
        .groupBy("a0", "a1", "island")
        .agg(f.min("from").alias("from"), f.max("to").alias("to"))
        .drop("island")
    )


PACKAGE = "pyspark"
WINDOW = 20
KEYS = 1000
_RATE = 1000
_FILES = 8
_SEED = 2017
CORES = 2

# The cooling system of Laser's paper, for each of many machines; alarms are asked for.
COOLING = f"""
@T steam(M,V)  :- [{WINDOW}] @T temp(M,V), V >= 100.
@T liquid(M,V) :- [{WINDOW}] @T temp(M,V), V >= 1, V < 100.
@T isSteam(M)  :- [{WINDOW}] @T steam(M,V).
@T isLiquid(M) :- [{WINDOW}] @T liquid(M,V).
alarm(M)       :- [{WINDOW}] always isSteam(M).
normal(M)      :- [{WINDOW}] always isLiquid(M).
freeze(M)      :- [{WINDOW}] some temp(M,_), not alarm(M), not normal(M).
veryHot(M,T)   :- [{WINDOW}] @T steam(M,V), V >= 150.
veryCold(M,T)  :- [{WINDOW}] @T liquid(M,V), V = 1.
#show alarm/1, normal/1, freeze/1.
"""
DIAMOND = f"q(A,B) :- [{WINDOW}] some p(A,B)."
JOIN = f"q(A,C) :- [{WINDOW}] some p(A,B), [{WINDOW}] some p(B,C)."

Sums: TypeAlias = tuple[int, int, int]


class Task(NamedTuple):
    """A program over Parquet files."""

    program: str
    folder: Path
    predicate: str
    facts: int
    last: int

    @property
    def mapping(self) -> str:
        return f"t -> {self.predicate}(a0, a1)"

    @property
    def time_points(self) -> int:
        return self.last


@dataclass(frozen=True, slots=True)
class Contestant:
    """Someone who answers; without reasoning there are no sums."""

    name: str
    answer: Callable[[], Sums | None]


def spark(bench: str, title: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """The cooling system by time and by key, the diamond, or the join."""
    if find_spec(PACKAGE) is None:
        return
    # Nobody else needs it.
    from larspark.spark import local_session

    tell(f"{bench}: starting Spark")
    session = local_session(CORES, quiet=True)
    with TemporaryDirectory(prefix="larspark-bench-") as name:
        tell(f"{bench}: writing facts")
        task = _task(Path(name, title), title, quick)
        contestants = _contestants(session, title, task)
        yield from _contest(bench, task, contestants, 1 if quick else 2, tell)


def _contest(
    bench: str, task: Task, contestants: Sequence[Contestant], repetitions: int, tell: Tell
) -> Iterator[Measurement]:
    """In turns, after one turn that does not count; the first one's sums are those of all."""
    times: dict[str, list[float]] = {one.name: [] for one in contestants}
    expected: Sums | None = None
    for turn in range(repetitions + 1):
        for one in contestants:
            tell(f"{bench}: {one.name}, run {turn} of {repetitions}")
            watch = Stopwatch()
            with watch.running():
                found = one.answer()
            expected = expected or found
            if found is not None and found != expected:
                message = f"{bench}: `{one.name}` and `{contestants[0].name}` differ"
                raise LarsparkError(Problem("L552", message))
            if turn:
                times[one.name].append(watch.seconds)
    base = min(times[contestants[0].name])
    for name, seconds in times.items():
        best = min(seconds)
        more: dict[str, int | float] = {
            "facts_per_second": round(task.facts / best),
            "median_ns_per_fact": round(median(seconds) / task.facts * 1e9, 1),
            "intervals": expected[0] if expected else 0,
        }
        yield measured(bench, task, name, best, base, more)


def measured(
    bench: str, task: Task, name: str, seconds: float, base: float, more: dict[str, int | float]
) -> Measurement:
    """What one contestant took, beside the `base` of another."""
    return Measurement(
        bench,
        WINDOW,
        task.facts // task.time_points,
        name,
        seconds / task.facts * 1e9,
        seconds / task.time_points * 1e6,
        None,
        ratio=seconds / base,
        more={"facts": task.facts, "total_seconds": round(seconds, 2), **more},
    )


def _contestants(session: Any, title: str, task: Task) -> list[Contestant]:
    from larspark.bench import spark_batch as spark_by_hand
    from larspark.bench import spark_batch as spark_pass

    alone = Contestant("interval, one local engine", partial(local, task))
    frame = Contestant("spark, a DataFrame", partial(on_spark, session, task, frame=True))

    def through(**cuts: Any) -> None:
        spark_pass.pass_through(session, task, **cuts)

    if title == "cooling":
        return [
            alone,
            Contestant("spark, files by time", partial(on_spark, session, task, shards=1)),
            Contestant("files by time, no reasoning", partial(through, shards=1)),
            Contestant(
                "spark, files by key", partial(on_spark, session, task, shards=CORES, slices=1)
            ),
            Contestant("files by key, no reasoning", partial(through, shards=CORES, slices=1)),
            frame,
            Contestant("a DataFrame, no reasoning", partial(through, frame=True)),
        ]
    query = spark_by_hand.diamond if title == "diamond" else spark_by_hand.join
    return [
        alone,
        Contestant("spark, files", partial(on_spark, session, task)),
        frame,
        Contestant(
            "PySpark by hand", lambda: _sums(query(_frame(session, task), WINDOW, task.last))
        ),
    ]


def local(task: Task) -> Sums:
    """One engine over the whole timeline, which reads the files one after the other."""
    session = Session(checked_program(task.program), engine="interval")
    for path in sorted(task.folder.iterdir()):
        for batch in Stream.read(path, map=task.mapping).batches():
            session.append(batch)
    table = session.advance(task.last).table()
    return table.num_rows, pc.sum(table["from"]).as_py(), pc.sum(table["to"]).as_py()


def on_spark(session: Any, task: Task, *, frame: bool = False, **cuts: int) -> Sums:
    from larspark.spark import run

    facts = _frame(session, task) if frame else task.folder
    return _sums(run(task.program, facts, map=task.mapping, **cuts))


def _frame(session: Any, task: Task) -> Any:
    return session.read.parquet(str(task.folder))


def _sums(answers: Any) -> Sums:
    [row] = answers.selectExpr("count(*)", "sum(`from`)", "sum(`to`)").collect()
    return tuple(row)


def _task(folder: Path, title: str, quick: bool) -> Task:
    if title == "cooling":
        table = cooling_facts(200_000 if quick else 10_000_000)
        return laid_down(folder, table, COOLING, "temp")
    last = 50 if quick else 2_000
    if title == "diamond":
        return _written(folder, DIAMOND, unique_pairs(_RATE, last))
    return _written(folder, JOIN, chain(_RATE, last))


def cooling_facts(facts: int) -> pa.Table:
    """One reading of each machine at every time point; a machine is hot one hour of three."""
    random = np.random.default_rng(_SEED)
    times = np.repeat(np.arange(1, facts // KEYS + 1), KEYS)
    machines = np.tile(np.arange(KEYS), facts // KEYS)
    hot = (times // 60 + machines) % 3 == 0
    values = np.where(hot, random.integers(100, 200, facts), random.integers(1, 120, facts))
    return pa.table({"t": times, "a0": machines, "a1": values})


def _written(folder: Path, program: str, facts: Facts) -> Task:
    [segment] = facts.segments
    table = segment.table.drop_columns(["seq"]).rename_columns(["t", "a0", "a1"])
    return laid_down(folder, table, program, segment.signature.predicate)


def laid_down(folder: Path, table: Any, program: str, predicate: str) -> Task:
    folder.mkdir()
    size = -(-table.num_rows // _FILES)
    for number in range(_FILES):
        parquet.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
    return Task(program, folder, predicate, table.num_rows, table["t"][-1].as_py())


if TYPE_CHECKING:
    from larspark.bench.spark_batch import Task

_SCHEMA = "facts long"


class Brought(NamedTuple):
    """The facts that pieces got, all together, and the grid that they lie in."""

    facts: int
    grid: Grid


def pass_through(
    session: Any,
    task: "Task",
    *,
    frame: bool = False,
    shards: int | None = None,
    slices: int | None = None,
) -> Brought | None:
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
    job = prepared.job(seen, None, spread.parallelism(session))
    if job is None:
        return None
    text = job.text()
    if spread.by_themselves(sources, job):
        counting = partial(_count_pieces, parts=spread.parts_of(sources, surveyed), job_text=text)
        numbers = spread.each_number(session, job.grid.pieces)
        counted = numbers.mapInArrow(counting, _SCHEMA)
    else:
        # Spark reads from the types which kind of function this is.
        def count(packed: pa.Table) -> pa.Table:
            rows = (row for row in packed.to_pylist() if row["payload"] is not None)
            found = step.unpacked((row["place"], row["predicate"], row["payload"]) for row in rows)
            return _counted(found, load(text))

        counted = spread.shuffled(session, sources, job).applyInArrow(count, _SCHEMA)
    return Brought(sum(row["facts"] for row in counted.collect()), job.grid)


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

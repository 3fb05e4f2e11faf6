"""Batch on Spark: the cooling system, the diamond and the join, on engines and on PySpark by hand.

`transfer` runs the same Spark plan without reasoning: it measures the cost of moving the facts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from larspark.base.problems import LarsparkError, Problem
from larspark.bench import by_pyspark
from larspark.bench.contest import Measurement, Progress
from larspark.bench.generated_streams import Facts, chain, unique_pairs
from larspark.bench.workload import Stopwatch, checked_program
from larspark.feeds import Stream
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.scale import exchange
from larspark.scale import parquet_files as files
from larspark.scale import piece_step as step
from larspark.scale.dataframe_facts import find_file_sources, find_sources
from larspark.scale.first_look import survey_of
from larspark.scale.grid import Grid, RequestedCuts
from larspark.scale.job import Loaded, load, prepare
from larspark.scale.spark_session import DataFrame, SparkSession
from larspark.scale.survey import combine_surveys
from larspark.spark import local_session, run

WINDOW = 20
KEYS = 1000
_RATE = 1000
_FILES = 8
_SEED = 2017
CORES = 2

# The cooling system of Laser's paper, for each of many machines.
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
    """A way to compute the answers; without reasoning there are no sums."""

    name: str
    answer: Callable[[], Sums | None]


def spark(bench: str, title: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """The cooling system by time and by key, the diamond, or the join."""
    progress(f"{bench}: starting Spark")
    session = local_session(CORES, quiet=True)
    with TemporaryDirectory(prefix="larspark-bench-") as name:
        progress(f"{bench}: writing facts")
        task = _task(Path(name, title), title, quick)
        contestants = _contestants(session, title, task)
        yield from _contest(bench, task, contestants, 1 if quick else 2, progress)


def _contest(
    bench: str, task: Task, contestants: Sequence[Contestant], repetitions: int, progress: Progress
) -> Iterator[Measurement]:
    """Measure in turns, after a warm-up turn; all sums must equal those of the first contestant."""
    times: dict[str, list[float]] = {one.name: [] for one in contestants}
    expected: Sums | None = None
    for turn in range(repetitions + 1):
        for one in contestants:
            progress(f"{bench}: {one.name}, run {turn} of {repetitions}")
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
    """The measurement of a contestant; its ratio is relative to the seconds of `base`."""
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


def _contestants(session: SparkSession, title: str, task: Task) -> list[Contestant]:
    alone = Contestant("interval, one local engine", partial(local, task))
    frame = Contestant("spark, a DataFrame", partial(on_spark, session, task, frame=True))

    def moved(**cuts: Any) -> None:
        transfer(session, task, **cuts)

    if title == "cooling":
        return [
            alone,
            Contestant("spark, files by time", partial(on_spark, session, task, shards=1)),
            Contestant("files by time, no reasoning", partial(moved, shards=1)),
            Contestant(
                "spark, files by key", partial(on_spark, session, task, shards=CORES, slices=1)
            ),
            Contestant("files by key, no reasoning", partial(moved, shards=CORES, slices=1)),
            frame,
            Contestant("a DataFrame, no reasoning", partial(moved, frame=True)),
        ]
    query = by_pyspark.diamond if title == "diamond" else by_pyspark.join
    return [
        alone,
        Contestant("spark, files", partial(on_spark, session, task)),
        frame,
        Contestant(
            "PySpark by hand", lambda: _sums(query(_frame(session, task), WINDOW, task.last))
        ),
    ]


def local(task: Task) -> Sums:
    """One local engine over the whole timeline, reading the files one after the other."""
    session = Session(checked_program(task.program), engine="interval")
    for path in sorted(task.folder.iterdir()):
        for batch in Stream.read(path, map=task.mapping).batches():
            session.append(batch)
    table = session.advance(task.last).table()
    return table.num_rows, pc.sum(table["from"]).as_py(), pc.sum(table["to"]).as_py()


def on_spark(session: SparkSession, task: Task, *, frame: bool = False, **cuts: int) -> Sums:
    facts = _frame(session, task) if frame else task.folder
    return _sums(run(task.program, facts, map=task.mapping, **cuts))


def _frame(session: SparkSession, task: Task) -> DataFrame:
    # A DataFrame that only reads files would be read as files.
    return session.read.parquet(str(task.folder)).where("t >= 0")


def _sums(answers: DataFrame) -> Sums:
    [row] = answers.selectExpr("count(*)", "sum(`from`)", "sum(`to`)").collect()
    return tuple(row)


def _task(folder: Path, title: str, quick: bool) -> Task:
    if title == "cooling":
        table = cooling_facts(200_000 if quick else 10_000_000)
        return write_task(folder, table, COOLING, "temp")
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
    return write_task(folder, table, program, segment.signature.predicate)


def write_task(folder: Path, table: Any, program: str, predicate: str) -> Task:
    folder.mkdir()
    size = -(-table.num_rows // _FILES)
    for number in range(_FILES):
        parquet.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
    return Task(program, folder, predicate, table.num_rows, table["t"][-1].as_py())


_SCHEMA = "facts long"


class Transferred(NamedTuple):
    """The number of facts that reached the pieces, and the grid."""

    facts: int
    grid: Grid


def transfer(
    session: SparkSession,
    task: Task,
    *,
    frame: bool = False,
    shards: int | None = None,
    slices: int | None = None,
) -> Transferred | None:
    """Survey the facts, partition them, bring them to the pieces, sort and count them."""
    prepared = prepare(task.program, (), "interval", Settings(), RequestedCuts(shards, slices))
    sources: exchange.Sources
    if frame:
        facts = session.read.parquet(str(task.folder))
        sources = find_sources(facts, None, task.mapping, None)
    else:
        sources = find_file_sources(task.folder, None, task.mapping, None)
    surveyed = survey_of(session, sources, prepared)
    survey = combine_surveys([row for rows in surveyed for row in rows])
    job = prepared.job(survey, None, exchange.parallelism(session))
    if job is None:
        return None
    text = job.text()
    if exchange.pieces_read_files(sources, job):
        counting = partial(
            _count_pieces, parts=exchange.file_parts(sources, surveyed), job_text=text
        )
        numbers = exchange.number_frame(session, job.grid.pieces)
        counted = numbers.mapInArrow(counting, _SCHEMA)
    else:
        # Spark infers from the annotations which kind of function this is.
        def count(packed: pa.Table) -> pa.Table:
            rows = (row for row in packed.to_pylist() if row["payload"] is not None)
            found = step.unpacked((row["place"], row["predicate"], row["payload"]) for row in rows)
            return _counted(found, load(text))

        counted = exchange.shuffled(session, sources, job).applyInArrow(count, _SCHEMA)
    return Transferred(sum(row["facts"] for row in counted.collect()), job.grid)


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

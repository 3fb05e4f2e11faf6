"""Batch on Spark beside one local engine, beside Spark without reasoning, beside queries by hand.

All read the same Parquet files and end with the same sums over their answers: how many intervals
there are, and of all their beginnings and ends. Times count only when the sums agree.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from larspark.base.problems import LarsparkError, Problem
from larspark.bench.clock import Stopwatch
from larspark.bench.contest import Measurement, Tell
from larspark.bench.streams import Facts, chain, unique_pairs
from larspark.bench.workload import checked_program
from larspark.feeds import Stream
from larspark.run.session import Session

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
    from larspark.bench import spark_by_hand, spark_pass

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

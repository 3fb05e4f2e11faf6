"""The same Spark operators as in a stream, with the same facts and as much state, and no engine."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from larspark.base.problems import LarsparkError, Problem
from larspark.bench.contest import Measurement, Tell
from larspark.bench.spark_batch import COOLING, CORES, KEYS, PACKAGE, WINDOW, Sums, cooling_facts
from larspark.bench.stopwatch import Stopwatch
from larspark.bench.workload import checked_program
from larspark.feeds import Stream
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.scale.dataframe_facts import find_sources
from larspark.scale.grid import Grid, Wish
from larspark.scale.job_plan import prepare
from larspark.scale.piece_step import in_arrival_order, unpacked
from larspark.scale.spark_session import DataFrame
from larspark.scale.streaming.intake import Parcel
from larspark.scale.streaming.operator import ShardOperator
from larspark.scale.streaming.output import schema
from larspark.scale.streaming.shard_step import Stepped
from larspark.scale.streaming.stream_job import Live
from larspark.scale.streaming.stream_progress import Spent
from larspark.scale.streaming.stream_query import Inlet, answers


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


MAPPING = "t -> temp(a0, a1)"
COLUMNS = "t long, a0 long, a1 long"
# What `stream` takes by itself: the partitions of the state.
SHARDS = CORES
DELAY = 2
# Each core reads a file of a micro-batch.
FILES = CORES
# The first micro-batches of a query start Python, read the program and fill the windows.
_SETTLING = 2


class Feed(NamedTuple):
    """Files of facts; after so many micro-batches comes one fact, so late that all has ended."""

    folder: Path
    micro_batches: int
    # The facts of a micro-batch.
    size: int

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    def counted(self, seconds: Sequence[float]) -> Sequence[float]:
        """The times that count."""
        return seconds[_SETTLING : self.micro_batches]


class Watched(NamedTuple):
    """A query that has ended: the seconds of its micro-batches, and what it said of itself."""

    seconds: Sequence[float]
    intervals: int
    state_bytes: int


def streaming(bench: str, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """The cooling system, 100,000 facts in each micro-batch."""
    if find_spec(PACKAGE) is None:
        return
    # Nobody else needs it.
    from larspark.bench.spark_stream import passed
    from larspark.spark import local_session, stream

    tell(f"{bench}: starting Spark")
    session = local_session(CORES, quiet=True)
    # Spark may still write into a checkpoint after its query has ended.
    with TemporaryDirectory(prefix="larspark-bench-", ignore_cleanup_errors=True) as name:
        feed = _written(Path(name, "facts"), *((3, 10_000) if quick else (10, 100_000)))
        facts = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", FILES)
        frame = facts.parquet(str(feed.folder))
        answers = stream(COOLING, frame, map=MAPPING, watermark=DELAY, shards=SHARDS)
        tell(f"{bench}: checking the answers")
        expected, checked = _agreed(bench, feed, answers, Path(name, "check"))
        through = passed(frame, state_bytes=checked.state_bytes // SHARDS)
        contestants: dict[str, Callable[[Path], Sequence[float]]] = {
            "interval, one local engine": lambda _: _local(feed)[0],
            "spark": partial(_timed, bench, answers, expected[0]),
            "spark, no reasoning": partial(_timed, bench, through, 0),
        }
        times: dict[str, list[float]] = {one: [] for one in contestants}
        turns = 1 if quick else 3
        for turn in range(1, turns + 1):
            for number, (one, run) in enumerate(contestants.items()):
                tell(f"{bench}: {one}, run {turn} of {turns}")
                times[one] += feed.counted(run(Path(name, f"{turn}-{number}")))
    yield from _measured(bench, feed, times, expected[0], checked.state_bytes)


def _measured(
    bench: str, feed: Feed, times: Mapping[str, Sequence[float]], intervals: int, state: int
) -> Iterator[Measurement]:
    """By the best micro-batch; ratios are those to the local engine."""
    base = min(next(iter(times.values())))
    for name, seconds in times.items():
        best, usual = min(seconds), median(seconds)
        yield Measurement(
            bench,
            WINDOW,
            KEYS,
            name,
            best / feed.size * 1e9,
            best / (feed.size / KEYS) * 1e6,
            state if name == "spark" else None,
            ratio=best / base,
            more={
                "facts": feed.size * feed.micro_batches,
                "facts_per_second": round(feed.size / best),
                "median_ns_per_fact": round(usual / feed.size * 1e9, 1),
                "micro_batches": len(seconds),
                "best_ms": round(best * 1e3),
                "median_ms": round(usual * 1e3),
                "intervals": intervals,
            },
        )


def _agreed(bench: str, feed: Feed, answers: Any, folder: Path) -> tuple[Sums, Watched]:
    """The sums over all answers, when the stream and the local engine have the same."""
    tables: list[pa.Table] = []
    keep = answers.writeStream.foreachBatch(lambda given, _: tables.append(given.toArrow()))
    watched = _watched(keep, folder)
    expected = _sums(_coalesced(_local(feed)[1]))
    if _sums(pa.concat_tables(tables)) != expected:
        raise _different(bench)
    return expected, watched


def _timed(bench: str, answers: Any, intervals: int, folder: Path) -> Sequence[float]:
    """The seconds of the micro-batches of a query that gives its answers to nobody."""
    watched = _watched(answers.writeStream.format("noop"), folder)
    if watched.intervals != intervals:
        raise _different(bench)
    return watched.seconds


def _different(bench: str) -> LarsparkError:
    message = f"{bench}: `spark` and `interval, one local engine` differ"
    return LarsparkError(Problem("L552", message))


def _watched(writing: Any, folder: Path) -> Watched:
    """Run a query with a new checkpoint over all files that there are."""
    from larspark.spark import wait

    checkpoint = writing.option("checkpointLocation", str(folder))
    query = checkpoint.trigger(availableNow=True).start()
    wait(query)
    told = query.recentProgress
    seen = [progress["observedMetrics"]["larspark"] for progress in told]
    return Watched(
        [progress["durationMs"]["triggerExecution"] / 1e3 for progress in told],
        sum(row["answers"] for row in seen),
        max(row["state_bytes"] for row in seen),
    )


def _local(feed: Feed) -> tuple[Sequence[float], pa.Table]:
    """One engine, which reads the files of a micro-batch and answers what Spark answers then."""
    session = Session(checked_program(COOLING), engine="interval")
    seconds: list[float] = []
    tables: list[pa.Table] = []
    for number in range(0, len(feed.files), FILES):
        watch = Stopwatch()
        with watch.running():
            latest = 0
            for path in feed.files[number : number + FILES]:
                for batch in Stream.read(path, map=MAPPING).batches():
                    session.append(batch)
                    latest = max(latest, *(t["t"][-1].as_py() for _, t in batch.segments()))
            tables.append(session.advance(latest - DELAY - 1).table())
        seconds.append(watch.seconds)
    return seconds, pa.concat_tables(tables)


def _coalesced(table: pa.Table) -> pa.Table:
    """Intervals that were cut between two micro-batches, in one."""
    ordered = table.sort_by([("atom", "ascending"), ("from", "ascending")])
    atoms = pc.rank(ordered["atom"], tiebreaker="dense").to_numpy()
    first, last = ordered["from"].to_numpy(), ordered["to"].to_numpy()
    cut = (atoms[1:] == atoms[:-1]) & (first[1:] == last[:-1] + 1)
    begins, ends = np.append(True, ~cut), np.append(~cut, True)
    return pa.table({"from": first[begins], "to": last[ends]})


def _sums(table: pa.Table) -> Sums:
    return table.num_rows, pc.sum(table["from"]).as_py(), pc.sum(table["to"]).as_py()


def _written(folder: Path, micro_batches: int, size: int) -> Feed:
    folder.mkdir()
    table = cooling_facts(micro_batches * size)
    part = size // FILES
    tables = [table.slice(start, part) for start in range(0, table.num_rows, part)]
    far = table["t"][-1].as_py() + 10 * WINDOW
    tables.append(pa.table({"t": [far], "a0": [0], "a1": [1]}, schema=table.schema))
    for number, each in enumerate(tables):
        path = folder / f"{number:04}.parquet"
        parquet.write_table(each, path)
        # Spark takes files by the time of their last change.
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return Feed(folder, micro_batches, size)

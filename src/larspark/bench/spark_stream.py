"""Streaming on Spark: micro-batches of the cooling system, with and without reasoning.

`passed` builds the same Spark query with the same facts and the same amount of state, but without
an engine: it measures the cost of Spark's operators.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from larspark.base.problems import LarsparkError, Problem
from larspark.bench.contest import Measurement, Progress
from larspark.bench.spark_batch import COOLING, CORES, KEYS, WINDOW, Sums, cooling_facts
from larspark.bench.workload import Stopwatch, checked_program
from larspark.feeds import Stream
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.scale.dataframe_facts import find_sources
from larspark.scale.grid import Grid, RequestedCuts
from larspark.scale.job import prepare
from larspark.scale.piece_step import in_arrival_order, unpacked
from larspark.scale.spark_session import DataFrame
from larspark.scale.streaming.intake import ShardMessage
from larspark.scale.streaming.output import schema
from larspark.scale.streaming.shard_step import StepResult, Timing
from larspark.scale.streaming.stream_job import StreamJob
from larspark.scale.streaming.stream_query import ShardOperator, StreamInput, answers
from larspark.spark import local_session, stream, wait


class PassingOperator(ShardOperator):
    """Unpacks and sorts the facts of a shard, and keeps some of their bytes as state."""

    def __init__(self, stream_text: str, state_bytes: int) -> None:
        super().__init__(stream_text)
        self._state_bytes = state_bytes

    def step(
        self, before: bytes | None, messages: Iterable[ShardMessage], shard: int
    ) -> StepResult:
        """No answers, and a state of the configured size."""
        packed = [
            (message.place, message.predicate, message.payload)
            for message in messages
            if message.payload is not None
            and message.place is not None
            and message.predicate is not None
        ]
        segments = in_arrival_order(unpacked(packed), counts_tuples=False)
        payload = b"".join(payload for _, _, payload in packed) or before or b"\0"
        state = (payload * (self._state_bytes // len(payload) + 1))[: self._state_bytes]
        return StepResult(
            rows=schema("intervals", "count").empty_table(),
            sent=(),
            facts=sum(segment.table.num_rows for segment in segments),
            late=0,
            late_so_far=0,
            skipped=0,
            held=0,
            answered=0,
            lag=0,
            state=state,
            timing=Timing(),
        )


def passed(facts: DataFrame, state_bytes: int) -> DataFrame:
    """The query that `stream` builds, without the engine."""
    prepared = prepare(COOLING, (), "interval", Settings(), RequestedCuts(SHARDS))
    [source] = find_sources(facts, None, MAPPING, None)
    stream_job = StreamJob(
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
    operator = PassingOperator(stream_job.text(), state_bytes)
    return answers([StreamInput(facts, (source.shape,))], SHARDS, [(stream_job, operator)])


MAPPING = "t -> temp(a0, a1)"
COLUMNS = "t long, a0 long, a1 long"
# The default of `stream`: one shard for each state partition.
SHARDS = CORES
DELAY = 2
# Each core reads a file of a micro-batch.
FILES = CORES
# The first micro-batches of a query start Python, parse the program and fill the windows.
_WARM_UP = 2


class Feed(NamedTuple):
    """Files of facts; after the micro-batches a last fact follows that closes all time points."""

    folder: Path
    micro_batches: int
    # The facts of a micro-batch.
    size: int

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    def counted(self, seconds: Sequence[float]) -> Sequence[float]:
        """The times without those of the warm-up and of the last fact."""
        return seconds[_WARM_UP : self.micro_batches]


class Watched(NamedTuple):
    """A finished query: the seconds of its micro-batches, and its metrics."""

    seconds: Sequence[float]
    intervals: int
    state_bytes: int


def streaming(bench: str, quick: bool, progress: Progress) -> Iterator[Measurement]:
    """The cooling system, 100,000 facts in each micro-batch."""
    progress(f"{bench}: starting Spark")
    session = local_session(CORES, quiet=True)
    # Spark may still write to a checkpoint after its query has ended.
    with TemporaryDirectory(prefix="larspark-bench-", ignore_cleanup_errors=True) as name:
        feed = _written(Path(name, "facts"), *((3, 10_000) if quick else (10, 100_000)))
        facts = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", FILES)
        frame = facts.parquet(str(feed.folder))
        answers = stream(COOLING, frame, map=MAPPING, watermark=DELAY, shards=SHARDS)
        progress(f"{bench}: checking the answers")
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
                progress(f"{bench}: {one}, run {turn} of {turns}")
                times[one] += feed.counted(run(Path(name, f"{turn}-{number}")))
    yield from _measured(bench, feed, times, expected[0], checked.state_bytes)


def _measured(
    bench: str, feed: Feed, times: Mapping[str, Sequence[float]], intervals: int, state: int
) -> Iterator[Measurement]:
    """The measurements by the best micro-batch; ratios are relative to the local engine."""
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
    """The sums over all answers; raises if stream and local engine differ."""
    tables: list[pa.Table] = []
    keep = answers.writeStream.foreachBatch(lambda given, _: tables.append(given.toArrow()))
    watched = _watched(keep, folder)
    expected = _sums(_coalesced(_local(feed)[1]))
    if _sums(pa.concat_tables(tables)) != expected:
        raise _different(bench)
    return expected, watched


def _timed(bench: str, answers: Any, intervals: int, folder: Path) -> Sequence[float]:
    """The seconds of the micro-batches of a query that discards its answers."""
    watched = _watched(answers.writeStream.format("noop"), folder)
    if watched.intervals != intervals:
        raise _different(bench)
    return watched.seconds


def _different(bench: str) -> LarsparkError:
    message = f"{bench}: `spark` and `interval, one local engine` differ"
    return LarsparkError(Problem("L552", message))


def _watched(writing: Any, folder: Path) -> Watched:
    """Run a query with a new checkpoint over all files."""
    checkpoint = writing.option("checkpointLocation", str(folder))
    query = checkpoint.trigger(availableNow=True).start()
    wait(query)
    batches = query.recentProgress
    metrics = [progress["observedMetrics"]["larspark"] for progress in batches]
    return Watched(
        [progress["durationMs"]["triggerExecution"] / 1e3 for progress in batches],
        sum(row["answers"] for row in metrics),
        max(row["state_bytes"] for row in metrics),
    )


def _local(feed: Feed) -> tuple[Sequence[float], pa.Table]:
    """One local engine that reads the files of each micro-batch and answers its time points."""
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
    """Merge intervals that were cut between two micro-batches."""
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
        # Spark orders files by their modification time.
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return Feed(folder, micro_batches, size)

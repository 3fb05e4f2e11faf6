"""Where the time of a step goes."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from larspark.scale.spark_session import SparkSession, StreamingQueryListener


@dataclass(slots=True)
class Spent:
    """Seconds on reading, restoring and saving state, and on reasoning."""

    state: float = 0.0
    engine: float = 0.0

    @contextmanager
    def on(self, what: Literal["state", "engine"]) -> Iterator[None]:
        """Count the time within this block."""
        begin = perf_counter()
        yield
        setattr(self, what, getattr(self, what) + perf_counter() - begin)


# The name under which `query.lastProgress` shows what happened.
OBSERVED = "larspark"

# What Spark calls the time of a whole micro-batch.
_WHOLE = "triggerExecution"

_LOG = logging.getLogger("larspark.stream")


class _Watch(StreamingQueryListener):
    """Writes a line for each micro-batch of a stream of ours."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing happened yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress
        seen = progress.observedMetrics.get(OBSERVED)
        if seen is not None:
            name = progress.name or str(progress.id)
            _LOG.info(
                "%s", progress_line(name, progress.batchId, seen.asDict(), progress.durationMs)
            )

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing happens."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        if event.exception:
            _LOG.error("query %s ended with an error", event.id)


def watch(spark: SparkSession) -> None:
    """Log what the streams of a session do, with the logger `larspark.stream` at level INFO."""
    spark.streams.addListener(_Watch())


def progress_line(
    name: str, batch: int, seen: Mapping[str, float | None], took: Mapping[str, int]
) -> str:
    """One micro-batch in one line; engines and state are summed over all shards.

    >>> seen = {"facts": 900, "late": 2, "skipped": 0, "held": 40, "answers": 7,
    ...         "answered": 35, "lag": 4, "state_bytes": 20480, "state_ms": 4.2, "engine_ms": 90.4}
    >>> took = {"triggerExecution": 412, "addBatch": 310, "queryPlanning": 40, "walCommit": 20}
    >>> progress_line("alarms", 3, seen, took)
    'alarms, micro-batch 3: 900 facts, 2 late, 0 skipped, 7 answers up to time point 35 (4 behind \
the facts), 40 facts held back, 20 kB of state, 412 ms (addBatch 310, queryPlanning 40, \
walCommit 20; engines 90, state 4)'
    """
    longest = sorted(took.items(), key=lambda item: -item[1])
    stages = ", ".join(f"{stage} {ms}" for stage, ms in longest if stage != _WHOLE and ms)
    # Where no shard had anything to do there are no numbers.
    count = {key: value or 0 for key, value in seen.items()}
    upto = "none yet" if seen["answered"] is None else f"up to time point {seen['answered']}"
    lag = "" if seen["lag"] is None else f" ({seen['lag']} behind the facts)"
    return (
        f"{name}, micro-batch {batch}: {count['facts']} facts, {count['late']} late, "
        f"{count['skipped']} skipped, {count['answers']} answers {upto}{lag}, "
        f"{count['held']} facts held back, {count['state_bytes'] / 1024:.0f} kB of state, "
        f"{took.get(_WHOLE, 0)} ms ({stages}; engines {count['engine_ms']:.0f}, "
        f"state {count['state_ms']:.0f})"
    )

"""Progress and failures of streams: a log line for each micro-batch, failures as problems."""

import logging
import re
from collections.abc import Mapping
from typing import Any

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.problem_transport import causes, failure, reasons, reported_problems
from larspark.scale.spark_session import (
    Py4JJavaError,
    PySparkException,
    SparkSession,
    StreamingQuery,
    StreamingQueryListener,
)

# The name of larspark's metrics in `query.lastProgress`.
OBSERVED = "larspark"

# Spark's name for the time of a whole micro-batch.
_WHOLE = "triggerExecution"

_LOG = logging.getLogger("larspark.stream")


class _ProgressLogger(StreamingQueryListener):
    """Logs a line for each micro-batch of a larspark stream."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Log nothing."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress
        metrics = progress.observedMetrics.get(OBSERVED)
        if metrics is not None:
            name = progress.name or str(progress.id)
            counts = _named(metrics)
            _LOG.info("%s", progress_line(name, progress.batchId, counts, progress.durationMs))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Log nothing."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        if event.exception:
            _LOG.error("query %s ended with an error", event.id)


def watch(spark: SparkSession) -> None:
    """Log the progress of the session's streams: logger `larspark.stream`, level INFO."""
    spark.streams.addListener(_ProgressLogger())


def progress(query: StreamingQuery) -> dict[str, Any] | None:
    """The metrics of the last micro-batch by name, as `larspark.spark.stream` counts them."""
    last = query.lastProgress
    metrics = None if last is None else last["observedMetrics"].get(OBSERVED)
    return None if metrics is None else _named(metrics)


def _named(metrics: Any) -> dict[str, Any]:
    """Observed metrics by name; Spark Connect gives a row of their values and a schema."""
    found: dict[str, Any] = metrics.asDict()
    if found.keys() != {"values", "schema"}:
        return found
    schema = found["schema"]
    fields = schema["fields"] if isinstance(schema, dict) else schema
    names = [field["name"] if isinstance(field, dict) else field.name for field in fields]
    return dict(zip(names, found["values"], strict=True))


def progress_line(
    name: str, batch: int, metrics: Mapping[str, float | None], took: Mapping[str, int]
) -> str:
    """The log line of a micro-batch; times of engines and state are summed over all shards.

    >>> metrics = {"facts": 900, "late": 2, "skipped": 0, "held": 40, "answers": 7,
    ...         "answered": 35, "lag": 4, "state_bytes": 20480, "state_ms": 4.2, "engine_ms": 90.4}
    >>> took = {"triggerExecution": 412, "addBatch": 310, "queryPlanning": 40, "walCommit": 20}
    >>> progress_line("alarms", 3, metrics, took)
    'alarms, micro-batch 3: 900 facts, 2 late, 0 skipped, 7 answers up to time point 35 (4 behind \
the facts), 40 facts held back, 20 kB of state, 412 ms (addBatch 310, queryPlanning 40, \
walCommit 20; engines 90, state 4)'
    """
    longest = sorted(took.items(), key=lambda item: -item[1])
    stages = ", ".join(f"{stage} {ms}" for stage, ms in longest if stage != _WHOLE and ms)
    # Metrics are None in a micro-batch without rows.
    count = {key: value or 0 for key, value in metrics.items()}
    upto = "none yet" if metrics["answered"] is None else f"up to time point {metrics['answered']}"
    lag = "" if metrics["lag"] is None else f" ({metrics['lag']} behind the facts)"
    return (
        f"{name}, micro-batch {batch}: {count['facts']} facts, {count['late']} late, "
        f"{count['skipped']} skipped, {count['answers']} answers {upto}{lag}, "
        f"{count['held']} facts held back, {count['state_bytes'] / 1024:.0f} kB of state, "
        f"{took.get(_WHOLE, 0)} ms ({stages}; engines {count['engine_ms']:.0f}, "
        f"state {count['state_ms']:.0f})"
    )


_NOTHING_LOST = "nothing in it was overwritten: restore a copy of it, or start with a new one"
# The parts of a checkpoint, and the Spark classes that read them.
_READERS = {
    "metadata": r"\bStreamMetadata\b",
    "state": r"CANNOT_LOAD_STATE_STORE|\bOperatorStateMetadata\w*|\bStateSchema\w*",
    "commits": r"\bCommitLog\b",
    "offsets": r"\b\w*OffsetSeqLog\b",
    "sources": r"\b\w*StreamLog\b",
    "logs": r"\b\w*MetadataLog\b",
}
_CHECKSUM = "Checksum error"
# Spark starts a Python worker to read state; a machine under load may be too slow for it.
_WORKER = re.compile(r"Python worker (?:to|failed to) connect back")
_FILE = re.compile(r"\b\w+:/+([^\s,]*/(?:metadata|(?:state|commits|offsets|sources)/[^\s,]*\w))")


def start(writing: Any, path: str | None = None) -> StreamingQuery:
    """Start a query: `writing` is a configured `writeStream`, `path` the path of its sink.

    Problems of its checkpoint are raised as a `LarsparkError` instead of Spark's own error.
    """
    try:
        query: StreamingQuery = writing.start() if path is None else writing.start(path)
    except (PySparkException, Py4JJavaError) as error:
        raise LarsparkError(_problems(error)) from None
    return query


def wait(query: StreamingQuery, timeout: float | None = None) -> bool:
    """Wait until a query ends, or for `timeout` seconds; True when it has ended.

    A failure is raised as a `LarsparkError` instead of Spark's own error.
    """
    try:
        if timeout is None:
            query.awaitTermination()
            return True
        return bool(query.awaitTermination(timeout))  # type: ignore[arg-type]
    except PySparkException as error:
        raise LarsparkError(_problems(error)) from None


def _problems(error: Exception) -> tuple[Problem, ...]:
    return reported_problems(error) or _unreadable_checkpoint(error) or failure(error)


def _unreadable_checkpoint(error: Exception) -> tuple[Problem, ...]:
    """The problem of a checkpoint that Spark cannot read; empty for other failures."""
    text = "\n".join(f"{cause}\n{getattr(cause, '_stackTrace', '')}" for cause in causes(error))
    if _WORKER.search(text):
        return ()
    part = next((name for name, reader in _READERS.items() if re.search(reader, text)), None)
    if part is None and not (_CHECKSUM in text and _FILE.search(text)):
        return ()
    return (Problem("L492", damage(text, part, reasons(error)[-1]), hint=_NOTHING_LOST),)


def damage(text: str, part: str | None, reason: str) -> str:
    """The message that names the damaged file of a checkpoint, as far as Spark reports it.

    >>> damage("Checksum error: file:/data/run/commits/2 at 0", "commits", "Checksum error")
    'the checkpoint cannot be read: /data/run/commits/2 is damaged: Checksum error'
    >>> damage("java.io.EOFException", "state", "java.io.EOFException")
    'the checkpoint cannot be read: a file of its `state` is damaged: java.io.EOFException'
    """
    file = _FILE.search(text)
    which = f"a file of its `{part}`" if file is None else f"/{file[1].lstrip('/')}"
    return f"the checkpoint cannot be read: {which} is damaged: {reason}"

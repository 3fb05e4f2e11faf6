"""Failures of streams as problems: reported by executors, a damaged checkpoint, or Spark's own."""

import re
from typing import Any

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.problem_transport import causes, failure, reasons, reported_problems
from larspark.scale.spark_session import Py4JJavaError, PySparkException, StreamingQuery

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

"""Why a query ended: our problems out of Spark's errors."""

import re
from collections.abc import Iterator

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.sql import PySparkException, StreamingQuery
from larspark.scale.streaming.telling import told

_NOTHING_LOST = "nothing in it was overwritten: go back to a copy of it, or begin with a new one"
# Where Spark reads its checkpoint: the state of the operator, and the logs of offsets and commits.
_READING = re.compile(
    r"CANNOT_LOAD_STATE_STORE|\b(?:\w*SeqLog|CommitLog|\w*StreamLog|\w*MetadataLog)\b"
)
# What Spark wraps a reason in.
_WRAPPING = re.compile(r"^\[STREAM_FAILED\].*?terminated with exception: |\s*SQLSTATE: \w+\s*$")
_RAISED = re.compile(r"^[\w.]+(?:Error|Exception)\b.*$", re.MULTILINE)


def wait(query: StreamingQuery, timeout: float | None = None) -> bool:
    """Wait until a query ends, or for so many seconds; True when it has ended.

    What made it fail is raised as problems, where `query.awaitTermination` raises Spark's error.
    """
    try:
        if timeout is None:
            query.awaitTermination()
            return True
        return bool(query.awaitTermination(timeout))  # type: ignore[arg-type]
    except PySparkException as error:
        raise LarsparkError(problems_of(error)) from None


def problems_of(error: Exception) -> tuple[Problem, ...]:
    """The problems behind an error of Spark: ours, or the error in short."""
    causes = list(_causes(error))
    texts = [str(cause) for cause in causes]
    for text in texts:
        if problems := told(text):
            return problems
    reasons = list(dict.fromkeys(map(_brief, texts)))
    stacks = "\n".join(str(getattr(cause, "_stackTrace", "")) for cause in causes)
    if found := _READING.search("\n".join([*texts, stacks])):
        message = f"the checkpoint cannot be read ({found[0]}): {' / '.join(reasons)}"
        return (Problem("L492", message, hint=_NOTHING_LOST),)
    return (Problem("L495", f"the query failed: {reasons[0]}"),)


def _causes(error: Exception) -> Iterator[Exception]:
    """An error of Spark and what it came from, in Java."""
    cause: Exception | None = error
    while cause is not None:
        yield cause
        cause = getattr(cause, "_cause", None)


def _brief(text: str) -> str:
    """The line that says it.

    >>> _brief("[STREAM_FAILED] Query [id = 1] terminated with exception: No disk SQLSTATE: XXKST")
    'No disk'
    >>> _brief("Job aborted:\\nTraceback (most recent call last):\\n  File x\\nOSError: No disk\\n")
    'OSError: No disk'
    """
    _, traceback, python = text.partition("Traceback (most recent call last)")
    raised = _RAISED.findall(python) if traceback else []
    line = raised[-1] if raised else next(filter(str.strip, text.splitlines()), "no reason given")
    return _WRAPPING.sub("", _WRAPPING.sub("", line))

"""Why a stream ended: an executor told, the checkpoint cannot be read, or Spark failed."""

import re

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.failing import causes, failure, reasons, told_by
from larspark.scale.sql import PySparkException, StreamingQuery

_NOTHING_LOST = "nothing in it was overwritten: go back to a copy of it, or begin with a new one"
# Where Spark reads its checkpoint: the state of the operator, and the logs of offsets and commits.
_READING = re.compile(
    r"CANNOT_LOAD_STATE_STORE|\b(?:\w*SeqLog|CommitLog|\w*StreamLog|\w*MetadataLog)\b"
)


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
        found = told_by(error) or _unreadable_checkpoint(error) or failure(error)
        raise LarsparkError(found) from None


def _unreadable_checkpoint(error: Exception) -> tuple[Problem, ...]:
    """What Spark says when it stumbles over its checkpoint."""
    texts = [f"{cause}\n{getattr(cause, '_stackTrace', '')}" for cause in causes(error)]
    found = _READING.search("\n".join(texts))
    if found is None:
        return ()
    message = f"the checkpoint cannot be read ({found[0]}): {' / '.join(reasons(error))}"
    return (Problem("L492", message, hint=_NOTHING_LOST),)

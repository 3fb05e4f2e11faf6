"""Why a query ended: our problems out of Spark's errors."""

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.sql import PySparkException, StreamingQuery
from larspark.scale.streaming.telling import told


def wait(query: StreamingQuery, timeout: float | None = None) -> bool:
    """Wait until a query ends; True when it has. What made it fail is raised as problems.

    `query.awaitTermination` does the same, and raises Spark's own error.
    """
    try:
        if timeout is None:
            query.awaitTermination()
            return True
        return bool(query.awaitTermination(timeout))  # type: ignore[arg-type]
    except PySparkException as error:
        raise LarsparkError(problems_of(error)) from None


def problems_of(error: PySparkException) -> tuple[Problem, ...]:
    """The problems behind an error of Spark: ours, or the error in short."""
    text = str(error)
    return told(text) or (Problem("L495", _brief(text)),)


def _brief(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "Spark gave no reason")

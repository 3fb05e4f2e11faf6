"""Transport of problems from executors to the driver.

Spark passes an exception of an executor on as text. So the text of such an error also carries its
problems as JSON, and the driver parses them back out of Spark's error.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import pyarrow as pa

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.spark_session import DataFrame, PySparkException

_P = ParamSpec("_P")
_T = TypeVar("_T")
_MARK = "larspark-problems:"
_ENCODED = re.compile(rf"{_MARK}(\[.*?\]):")


class ReportedError(LarsparkError):
    """An error whose text carries its problems as data."""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{_MARK}{_encoded(self.problems)}:"


def reports_problems(function: Callable[_P, Iterator[_T]]) -> Callable[_P, Iterator[_T]]:
    """Decorate a generator that runs on executors: its problems reach the driver."""

    @wraps(function)
    def reporting(*args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        try:
            yield from function(*args, **kwargs)
        except LarsparkError as error:
            # The traceback on the executor is of no use to the user.
            raise ReportedError(error) from None

    return reporting


def problems_in(text: str) -> tuple[Problem, ...]:
    """The problems that the text of an error carries.

    >>> error = ReportedError(Problem("L401", "the stream [x] holds"))
    >>> problems_in(f"Spark says: {error} in stage 7 [y]")[0].message
    'the stream [x] holds'
    """
    found = _ENCODED.search(text)
    if found is None:
        return ()
    return tuple(Problem(code, message, hint=hint) for code, message, hint in json.loads(found[1]))


def _encoded(problems: tuple[Problem, ...]) -> str:
    text = json.dumps([(problem.code, problem.message, problem.hint) for problem in problems])
    # A bracket inside a text would end the match too early.
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: m[0].replace("]", "\\u005d"), text)


# Spark's text around a reason.
_WRAPPING = re.compile(r"^\[STREAM_FAILED\].*?terminated with exception: |\s*SQLSTATE: \w+\s*$")
# The line that precedes the reason when a call into Java fails.
_CALLING = re.compile(r"An error occurred while calling ")
_RAISED = re.compile(r"^[\w.]+(?:Error|Exception)\b.*$", re.MULTILINE)


@contextmanager
def problems() -> Iterator[None]:
    """Raise problems that executors report within this block as a `LarsparkError`.

    Spark evaluates lazily, so its errors come from the action that needs the answers.
    """
    try:
        yield
    except PySparkException as error:
        raise LarsparkError(reported_problems(error) or failure(error)) from None


def collect(answers: DataFrame) -> pa.Table:
    """The answers as an Arrow table; failures are raised as a `LarsparkError`."""
    with problems():
        return answers.toArrow()


def reported_problems(error: Exception) -> tuple[Problem, ...]:
    """The problems that larspark on an executor reported through an error of Spark, if any."""
    found = (problems_in(str(cause)) or _missing_package(str(cause)) for cause in causes(error))
    return next(filter(None, found), ())


# The packages without which larspark does not start on an executor.
_NEEDED = re.compile(r"ModuleNotFoundError: No module named '(larspark|lark|numpy|orjson)\b")


def _missing_package(text: str) -> tuple[Problem, ...]:
    """The problem of an executor that has too few packages.

    >>> _missing_package("ModuleNotFoundError: No module named 'orjson'")[0].message
    'executors lack the package orjson'
    """
    found = _NEEDED.search(text)
    if found is None:
        return ()
    hint = "install larspark in the Python environment of the executors; see docs/deploy.md"
    return (Problem("L497", f"executors lack the package {found[1]}", hint=hint),)


def failure(error: Exception) -> tuple[Problem, ...]:
    """A short problem for an error of Spark."""
    return (Problem("L495", f"the query failed: {reasons(error)[0]}"),)


def reasons(error: Exception) -> list[str]:
    """One line for each cause of an error."""
    return list(dict.fromkeys(_brief(str(cause)) for cause in causes(error)))


def causes(error: Exception) -> Iterator[Exception]:
    """An error of Spark and its causes in Java."""
    cause: Exception | None = error
    while cause is not None:
        yield cause
        cause = getattr(cause, "_cause", None)


def _brief(text: str) -> str:
    """The line of an error text that names the reason.

    >>> _brief("[STREAM_FAILED] Query [id = 1] terminated with exception: No disk SQLSTATE: XXKST")
    'No disk'
    >>> _brief("Job aborted:\\nTraceback (most recent call last):\\n  File x\\nOSError: No disk\\n")
    'OSError: No disk'
    >>> _brief("An error occurred while calling o3.start.\\n: java.io.EOFException\\n\\tat x")
    'java.io.EOFException'
    """
    _, traceback, python = text.partition("Traceback (most recent call last)")
    raised = _RAISED.findall(python) if traceback else []
    lines = (each for each in text.splitlines() if each.strip() and not _CALLING.match(each))
    line = raised[-1] if raised else next(lines, "no reason given").removeprefix(": ")
    return _WRAPPING.sub("", _WRAPPING.sub("", line))

"""Problems on their way from an executor to the user.

Spark shows what an executor raised as text within text. So the text of an error carries its
problems as data, too, and whoever catches Spark's error finds them again.
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
_TOLD = re.compile(rf"{_MARK}(\[.*?\]):")


class ToldError(LarsparkError):
    """An error whose text carries its problems as data."""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{_MARK}{_encoded(self.problems)}:"


def telling(function: Callable[_P, Iterator[_T]]) -> Callable[_P, Iterator[_T]]:
    """Let the problems that a generator on an executor raises arrive on the driver."""

    @wraps(function)
    def tell(*args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        try:
            yield from function(*args, **kwargs)
        except LarsparkError as error:
            # Where on an executor it was raised tells the user nothing.
            raise ToldError(error) from None

    return tell


def told(text: str) -> tuple[Problem, ...]:
    """The problems that the text of an error carries.

    >>> error = ToldError(Problem("L401", "the stream [x] holds"))
    >>> told(f"Spark says: {error} in stage 7 [y]")[0].message
    'the stream [x] holds'
    """
    found = _TOLD.search(text)
    if found is None:
        return ()
    return tuple(Problem(code, message, hint=hint) for code, message, hint in json.loads(found[1]))


def _encoded(problems: tuple[Problem, ...]) -> str:
    text = json.dumps([(problem.code, problem.message, problem.hint) for problem in problems])
    # Brackets within texts would look like the end of the data.
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: m[0].replace("]", "\\u005d"), text)


# What Spark wraps a reason in.
_WRAPPING = re.compile(r"^\[STREAM_FAILED\].*?terminated with exception: |\s*SQLSTATE: \w+\s*$")
# What a call into Java says before the reason.
_CALLING = re.compile(r"An error occurred while calling ")
_RAISED = re.compile(r"^[\w.]+(?:Error|Exception)\b.*$", re.MULTILINE)


@contextmanager
def problems() -> Iterator[None]:
    """Let what executors complain about within this block be raised as a `LarsparkError`.

    Spark computes answers when they are asked for, and raises its own error then.
    """
    try:
        yield
    except PySparkException as error:
        raise LarsparkError(told_by(error) or failure(error)) from None


def collect(answers: DataFrame) -> pa.Table:
    """The answers as an Arrow table; what goes wrong is a `LarsparkError`."""
    with problems():
        return answers.toArrow()


def told_by(error: Exception) -> tuple[Problem, ...]:
    """The problems that an executor told with an error of Spark, if it was ours that raised it."""
    return next(filter(None, (told(str(cause)) for cause in causes(error))), ())


def failure(error: Exception) -> tuple[Problem, ...]:
    """An error of Spark, in short."""
    return (Problem("L495", f"the query failed: {reasons(error)[0]}"),)


def reasons(error: Exception) -> list[str]:
    """A line for each cause of an error."""
    return list(dict.fromkeys(_brief(str(cause)) for cause in causes(error)))


def causes(error: Exception) -> Iterator[Exception]:
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
    >>> _brief("An error occurred while calling o3.start.\\n: java.io.EOFException\\n\\tat x")
    'java.io.EOFException'
    """
    _, traceback, python = text.partition("Traceback (most recent call last)")
    raised = _RAISED.findall(python) if traceback else []
    said = (each for each in text.splitlines() if each.strip() and not _CALLING.match(each))
    line = raised[-1] if raised else next(said, "no reason given").removeprefix(": ")
    return _WRAPPING.sub("", _WRAPPING.sub("", line))

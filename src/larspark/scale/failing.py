"""Answers fetched from Spark, with our own problems where something goes wrong on an executor."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from larspark.base.problems import LarsparkError
from larspark.scale.sql import DataFrame, PySparkException
from larspark.scale.streaming.failures import problems_of


@contextmanager
def problems() -> Iterator[None]:
    """Let what executors complain about within this block be raised as a `LarsparkError`.

    Spark computes answers when they are asked for, and raises its own error then.
    """
    try:
        yield
    except PySparkException as error:
        raise LarsparkError(problems_of(error)) from None


def collect(answers: DataFrame) -> pa.Table:
    """The answers as an Arrow table; what goes wrong is a `LarsparkError`."""
    with problems():
        return answers.toArrow()

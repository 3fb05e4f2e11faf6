"""Time points in the text of explanations, written as the run writes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from larspark.feeds.time_format import POINTS, TimeFormat

_FORMAT: ContextVar[TimeFormat] = ContextVar("time format", default=POINTS)


@contextmanager
def times_written(times: TimeFormat) -> Iterator[None]:
    """In this context, time points are written in this format."""
    token = _FORMAT.set(times)
    try:
        yield
    finally:
        _FORMAT.reset(token)


def time_text(t: int) -> str:
    """A time point in a text."""
    return _FORMAT.get().text(t)


def time_json(t: int | None) -> int | str | None:
    """A time point as a JSON value; None where there is none."""
    return None if t is None else _FORMAT.get().json_value(t)

"""Problems on their way from an executor to the user.

Spark shows what an executor raised as text within text. So the text of an error carries its
problems as data, too, and whoever catches Spark's error finds them again.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from larspark.base.problems import LarsparkError, Problem

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

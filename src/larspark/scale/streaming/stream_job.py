"""What executors are told about a stream, as JSON: the job, and how its time and output go."""

import json
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import ceil
from typing import Literal, TypeAlias, get_args

from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import INTEGER_MAX
from larspark.feeds.reading import OnError
from larspark.language.window_syntax import MICROSECONDS
from larspark.scale.job import Loaded, load

Form: TypeAlias = Literal["intervals", "changes"]
Late: TypeAlias = Literal["count", "output"]
OnProgramChange: TypeAlias = Literal["refuse", "restart", "migrate"]

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")


@dataclass(frozen=True, slots=True)
class Live:
    """A stream, in plain data.

    `job` is the text of the job that all shards run, `delay` how many time points facts may come
    late, `sources` how many DataFrames there are: time passes when it has passed in all of them.
    Facts of the last `keep` time points that were answered are kept for a program that comes later.
    """

    job: str
    start: int | None
    delay: int
    keep: int
    sources: int
    form: Form
    late: Late
    on_error: OnError
    on_program_change: OnProgramChange

    def text(self) -> str:
        """The stream as it travels."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def loaded(self) -> Loaded:
        """The program, read and checked once in each process."""
        return load(self.job)


@lru_cache(maxsize=16)
def read_live(text: str) -> Live:
    """A stream at its destination."""
    return Live(**json.loads(text))


def check_choices(form: str, late: str, on_error: str, on_program_change: str) -> None:
    """Refuse what is none of the choices, all of it at once."""
    asked = {
        "form": (form, Form),
        "late": (late, Late),
        "on_error": (on_error, OnError),
        "on_program_change": (on_program_change, OnProgramChange),
    }
    problems = [
        Problem(
            "L490", f"{name} cannot be {value!r}", hint=f"one of {', '.join(get_args(choices))}"
        )
        for name, (value, choices) in asked.items()
        if value not in get_args(choices)
    ]
    if problems:
        raise LarsparkError(problems)


def time_points(name: str, given: str | int, tick: int | None) -> int:
    """An option that is a number of time points, or a duration.

    >>> time_points("watermark", 3, None), time_points("watermark", "90 s", 60_000_000)
    (3, 2)
    """
    if isinstance(given, int) and not isinstance(given, bool):
        points = given
    else:
        found = _DURATION.fullmatch(given) if isinstance(given, str) else None
        if found is None or found[2] not in MICROSECONDS:
            units = ", ".join(MICROSECONDS)
            hint = f"a number of time points, or a duration such as `10 s` (units: {units})"
            raise LarsparkError(Problem("L490", f"{name} cannot be {given!r}", hint=hint))
        if tick is None:
            hint = "say with `#tick` how long a time point lasts, or give a number of time points"
            message = f"the {name} {given!r} is a duration, and the program has no `#tick`"
            raise LarsparkError(Problem("L490", message, hint=hint))
        points = ceil(float(found[1]) * MICROSECONDS[found[2]] / tick)
    if not 0 <= points <= INTEGER_MAX:
        raise LarsparkError(Problem("L490", f"{name} cannot be {given!r}", hint="0 or more"))
    return points

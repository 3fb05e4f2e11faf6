"""The job of a stream as plain data, sent to executors as JSON: the job and its stream options."""

import json
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import ceil
from typing import Literal, TypeAlias, get_args

from larspark.base.durations import MICROSECONDS
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import INTEGER_MAX
from larspark.feeds.reading import OnError
from larspark.scale.job import Loaded, load

Form: TypeAlias = Literal["intervals", "changes"]
Late: TypeAlias = Literal["count", "output"]
OnProgramChange: TypeAlias = Literal["refuse", "restart", "migrate"]

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")


@dataclass(frozen=True, slots=True)
class StreamJob:
    """A stream as plain data.

    `job` is the JSON of the job that all shards run, `delay` is the number of time points that
    facts may be late, `sources` is the number of DataFrames: the watermark is the minimum over all
    of them. Facts of the last `keep` answered time points are kept for a later program.
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
        """The stream job as JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def loaded(self) -> Loaded:
        """The loaded job; the program is checked once in each process."""
        return load(self.job)


@lru_cache(maxsize=16)
def load_stream_job(text: str) -> StreamJob:
    """Load a stream job from JSON."""
    return StreamJob(**json.loads(text))


def check_choices(form: str, late: str, on_error: str, on_program_change: str) -> None:
    """Raise all invalid choices at once."""
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
    """The value of an option in time points, given as a number of them or as a duration.

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

"""What a reading is asked to do, and what it has met."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import INTEGER_MAX

OnError: TypeAlias = Literal["fail", "skip"]

PROBLEMS_KEPT = 100
# So that the nanoseconds of a tick still fit 64 bits.
_LONGEST_TICK = INTEGER_MAX // 1000


@dataclass(frozen=True, slots=True)
class Options:
    """How to read; `tick` is the length of a time point in microseconds."""

    tick: int | None = None
    on_error: OnError = "fail"
    lateness: int = 0
    batch_size: int = 1 << 16

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        if self.on_error not in ("fail", "skip"):
            problems.append(_wrong("on_error", self.on_error, "fail or skip"))
        if not 0 <= self.lateness <= INTEGER_MAX:
            problems.append(_wrong("lateness", self.lateness, "0 or more time points"))
        if self.batch_size < 1:
            problems.append(_wrong("batch_size", self.batch_size, "1 or more"))
        if self.tick is not None and not 1 <= self.tick <= _LONGEST_TICK:
            problems.append(_wrong("tick", self.tick, f"from 1 to {_LONGEST_TICK} microseconds"))
        if problems:
            raise LarsparkError(problems)


def _wrong(option: str, value: object, allowed: str) -> Problem:
    return Problem("L318", f"{option} cannot be {value}", hint=f"it is {allowed}")


@dataclass(slots=True)
class Reading:
    """The counts of one reading of a stream.

    `facts` were delivered; `skipped` lines, rows or facts were left out, `late` facts among them
    because they came later than allowed. `problems` holds the first reasons.
    """

    facts: int = 0
    late: int = 0
    skipped: int = 0
    first_t: int | None = None
    last_t: int | None = None
    problems: list[Problem] = field(default_factory=list)

    def note(self, problem: Problem) -> None:
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem)


def late_by(t: int, newest: int, lateness: int) -> tuple[str, str]:
    """The message and hint for a time before the oldest one that is still allowed."""
    if lateness == 0:
        return (
            f"the time {t} comes after {newest}, and time does not go back",
            f"sort the stream, or allow {newest - t} time points of disorder with lateness",
        )
    return (
        f"the time {t} comes after {newest}, and the lateness allowed is {lateness}",
        f"a lateness of {newest - t} would allow it",
    )

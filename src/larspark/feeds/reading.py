"""What a reading is asked to do, and what it has met."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import INTEGER_MAX

OnError: TypeAlias = Literal["fail", "skip"]

BATCH_SIZE = 1 << 16
PROBLEMS_KEPT = 100
# So that the nanoseconds of a tick still fit 64 bits.
_LONGEST_TICK = INTEGER_MAX // 1000


@dataclass(frozen=True, slots=True)
class Options:
    """How to read; `tick` is the length of a time point in microseconds."""

    tick: int | None = None
    on_error: OnError = "fail"
    lateness: int = 0
    batch_size: int = BATCH_SIZE

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


def _unknown() -> float | None:
    return None


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
    # How much of a file was read, from 0 to 1, where that is known.
    share: Callable[[], float | None] = _unknown

    def leave_out(self, problem: Problem, late: int = 0) -> None:
        """Count a refused line, or the late facts that it held."""
        self.skipped += late or 1
        self.late += late
        self.note(problem)

    def note(self, problem: Problem) -> None:
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem)


def late_by(t: int, newest: int, lateness: int) -> tuple[str, str]:
    """The message and hint for a time before the oldest one that is still allowed."""
    why = "time does not go back" if lateness == 0 else f"the lateness allowed is {lateness}"
    message = f"the time {t} comes after {newest}, and {why}"
    return message, f"sort the stream, or allow a lateness of {newest - t}"

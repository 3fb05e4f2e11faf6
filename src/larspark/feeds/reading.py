"""Options and counts of reading a stream, and refused values before their line is known."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, timedelta, tzinfo
from typing import Literal, TypeAlias

from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import INTEGER_MAX
from larspark.feeds.time_format import TimeFormat

# Lines longer than this are not shown with a problem.
_EXCERPT_LIMIT = 200


class Refused(Exception):  # noqa: N818 - internal: it becomes a Problem
    """A text or value that is not valid, with the offset of the error in it, from 0.

    `quoted` is the text that the offset refers to, if the line holds that text in quotes.
    """

    def __init__(
        self, code: str, message: str, hint: str = "", offset: int = 0, quoted: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.offset = offset
        self.quoted = quoted

    def moved(self, by: int) -> "Refused":
        """The same for a text that begins `by` characters later."""
        return Refused(self.code, self.message, self.hint, self.offset + by)

    def inside(self, quoted: str) -> "Refused":
        """The same for a line that holds the text in quotes."""
        return Refused(self.code, self.message, self.hint, self.offset, quoted)

    def of_column(self, name: str) -> "Refused":
        """The same for a value of a column."""
        return Refused(self.code, f"column `{name}`: {self.message}", self.hint)

    def at(self, source: str, line: int, text: str = "", column: int = 1) -> Problem:
        """The problem, for a text that is `line` of `source` or begins there at `column`.

        >>> print(Refused("L310", "a time is missing", offset=2).at("a.jsonl", 7, "{ }").render())
        a.jsonl:7:3: error L310: a time is missing
          7 | { }
            |   ^
        """
        if self.quoted is None:
            column += self.offset
        elif (place := text.find(f'"{self.quoted}"')) >= 0:
            # A text with escapes is not found; then the whole line is the place.
            column += place + 1 + self.offset
        span = Span(source, line, column, line, column + 1)
        shown = text if len(text) <= _EXCERPT_LIMIT else ""
        return Problem(self.code, self.message, span, self.hint, line_text=shown)


OnError: TypeAlias = Literal["fail", "skip"]

BATCH_SIZE = 1 << 16
PROBLEMS_KEPT = 100
# So that the nanoseconds of a tick still fit 64 bits.
_LONGEST_TICK = INTEGER_MAX // 1000


@dataclass(frozen=True, slots=True)
class Options:
    """Options of reading; `tick` is the length of a time point in microseconds.

    `delay` is a lateness as a duration, as long as there is no tick that makes it time points.
    `zone` is that of timestamps without one; None, as long as no one has named one, is UTC.
    """

    tick: int | None = None
    on_error: OnError = "fail"
    lateness: int = 0
    batch_size: int = BATCH_SIZE
    delay: str | timedelta | None = None
    zone: tzinfo | None = None

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

    @property
    def local(self) -> tzinfo:
        """The zone of timestamps that have none."""
        return UTC if self.zone is None else self.zone


def _wrong(option: str, value: object, allowed: str) -> Problem:
    return Problem("L318", f"{option} cannot be {value}", hint=f"it is {allowed}")


def _unknown() -> float | None:
    return None


@dataclass(slots=True)
class Reading:
    """The counts of one reading of a stream.

    `facts` counts delivered facts; `skipped` counts lines, rows or facts that were skipped,
    including `late` facts beyond the allowed lateness. `problems` holds the first reasons.
    """

    facts: int = 0
    late: int = 0
    skipped: int = 0
    first_t: int | None = None
    last_t: int | None = None
    problems: list[Problem] = field(default_factory=list)
    # The fraction of the file that was read, from 0 to 1; None if unknown.
    share: Callable[[], float | None] = _unknown
    # Whether times were timestamps so far, and not integers.
    timestamps: Callable[[], bool] = bool
    # Called with the first problem, when it is met.
    on_first_problem: Callable[[Problem], None] | None = None

    def skip(self, problem: Problem, late: int = 0) -> None:
        """Count a refused line, or the late facts in it."""
        self.skipped += late or 1
        self.late += late
        self.note(problem)

    def note(self, problem: Problem) -> None:
        if not self.problems and self.on_first_problem is not None:
            self.on_first_problem(problem)
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem)


def late_by(
    t: int, newest: int, options: Options, timestamps: Callable[[], bool]
) -> tuple[str, str]:
    """The message and hint for a time beyond the allowed lateness."""
    times = TimeFormat(options.tick, applies=timestamps)
    allowed = options.lateness
    why = "time does not go back" if allowed == 0 else f"the lateness allowed is {allowed}"
    message = f"the time {times.text(t)} comes after {times.text(newest)}, and {why}"
    needed = "1 time point" if newest - t == 1 else f"{newest - t} time points"
    return message, f"sort the stream, or allow a lateness of {needed}"

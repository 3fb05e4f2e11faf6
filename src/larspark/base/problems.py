"""What can be wrong, said with a code, a place and a way out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Span(NamedTuple):
    """A place in a text: lines and columns count from 1, the end column is exclusive."""

    source: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong or doubtful."""

    code: str
    message: str
    span: Span | None = None
    hint: str = ""
    severity: Severity = Severity.ERROR
    # The text of the line the span starts on, for the caret; empty when there is no text.
    line_text: str = field(default="", compare=False)

    def render(self) -> str:
        """The problem as a person reads it, with the line and a caret below the place."""
        if self.span is None:
            head = f"{self.severity} {self.code}: {self.message}"
        else:
            place = f"{self.span.source}:{self.span.line}:{self.span.column}"
            head = f"{place}: {self.severity} {self.code}: {self.message}"
        lines = [head, *self._excerpt()]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def _excerpt(self) -> list[str]:
        if self.span is None or not self.line_text:
            return []
        number = str(self.span.line)
        width = 1
        if self.span.end_line == self.span.line:
            width = max(1, self.span.end_column - self.span.column)
        # Tabs keep their width, so that the caret stays below the place.
        before = "".join("\t" if c == "\t" else " " for c in self.line_text[: self.span.column - 1])
        return [
            f"  {number} | {self.line_text}",
            f"  {' ' * len(number)} | {before}{'^' * width}",
        ]


class LarsparkError(Exception):
    """Bad input: everything that is wrong with it, as data."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(problem.render() for problem in self.problems))

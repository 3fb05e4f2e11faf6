"""Problems: errors and warnings with a code, a place and a hint."""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

# A longer line is of no help below a message.
LONGEST_EXCERPT = 400


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
    """An error or a warning."""

    code: str
    message: str
    span: Span | None = None
    hint: str = ""
    severity: Severity = Severity.ERROR
    # The text of the line the span starts on, for the caret; empty when there is no text.
    line_text: str = field(default="", compare=False)
    # The word that is meant within the span, such as a variable.
    focus: str = field(default="", compare=False)

    def render(self) -> str:
        """The problem as text, with the line and a caret below the place."""
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


def placed(problem: Problem, texts: Mapping[str, str]) -> Problem:
    """The problem with its line, and its span narrowed to the word that is meant.

    >>> where = Span("a.lars", 1, 1, 1, 9)
    >>> problem = Problem("L202", "`Y` is not bound", where, focus="Y")
    >>> placed(problem, {"a.lars": "p(X, Y) :- q(X)."}).span.column
    6
    """
    span = problem.span
    if span is None or problem.line_text or span.source not in texts:
        return problem
    lines = texts[span.source].split("\n")
    if problem.focus:
        word = re.compile(rf"(?<!\w){re.escape(problem.focus)}(?!\w)")
        for number in range(span.line, span.end_line + 1):
            found = word.search(lines[number - 1], span.column - 1 if number == span.line else 0)
            if found is not None:
                start, end = found.span()
                span = Span(span.source, number, start + 1, number, end + 1)
                break
    line = lines[span.line - 1].rstrip("\r")
    return replace(problem, span=span, line_text=line if len(line) <= LONGEST_EXCERPT else "")


class LarsparkError(Exception):
    """Invalid input, with all its problems as data."""

    def __init__(self, problems: "Problem | Iterable[Problem] | LarsparkError") -> None:
        # clingo raises an error of a callback anew, as the error's class called with the error.
        found = problems.problems if isinstance(problems, LarsparkError) else problems
        self.problems: tuple[Problem, ...] = (
            (found,) if isinstance(found, Problem) else tuple(found)
        )
        super().__init__("\n".join(problem.render() for problem in self.problems))


class LarsparkWarning(UserWarning):
    """A warning about the input, as data."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem.render()


def warn(problem: Problem) -> None:
    """Issue a Python warning; the command line prints it as it prints problems."""
    warnings.warn(LarsparkWarning(problem), stacklevel=2)

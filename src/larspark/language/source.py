"""A text that is being read, and what is found wrong with it."""

from dataclasses import dataclass, field

from larspark.base.problems import LONGEST_EXCERPT, Problem, Severity, Span
from larspark.language.dialect import Dialect
from larspark.language.tree import Tick

# So many errors, and so many warnings, are listed for one text.
MAX_PROBLEMS = 100


class TooManyProblemsError(Exception):
    """A text has `MAX_PROBLEMS` errors; reading it ends here, and the last problem says so."""


@dataclass(slots=True)
class Source:
    """One text: where it is from, how it is meant, and the problems it has."""

    name: str
    text: str
    dialect: Dialect = Dialect.LARS
    tick: Tick | None = None
    problems: list[Problem] = field(default_factory=list)
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.text.split("\n")
        if not self.text.isascii():
            self._refuse_half_characters()

    def report(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """Take an error in."""
        self._add(code, message, span, hint, Severity.ERROR)
        if self._count(Severity.ERROR) == MAX_PROBLEMS:
            self._add("L108", f"only the first {MAX_PROBLEMS} errors are listed", span)
            raise TooManyProblemsError

    def warn(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """Take a warning in; those beyond the limit are dropped."""
        warnings = self._count(Severity.WARNING)
        if warnings < MAX_PROBLEMS:
            self._add(code, message, span, hint, Severity.WARNING)
        elif warnings == MAX_PROBLEMS:
            message = f"only the first {MAX_PROBLEMS} warnings are listed"
            self._add("L108", message, span, "", Severity.WARNING)

    def _add(
        self,
        code: str,
        message: str,
        span: Span,
        hint: str = "",
        severity: Severity = Severity.ERROR,
    ) -> None:
        line = self.lines[span.line - 1].rstrip("\r")
        excerpt = line if len(line) <= LONGEST_EXCERPT else ""
        self.problems.append(Problem(code, message, span, hint, severity, excerpt))

    def _count(self, severity: Severity) -> int:
        return sum(problem.severity is severity for problem in self.problems)

    def _refuse_half_characters(self) -> None:
        """Surrogates cannot be written to any output; after this there are none."""
        try:
            self.text.encode("utf-8")
        except UnicodeEncodeError as error:
            before = self.text[: error.start]
            line, column = before.count("\n") + 1, error.start - before.rfind("\n")
            self.text = self.text.encode("utf-8", "replace").decode("utf-8")
            self.lines = self.text.split("\n")
            span = Span(self.name, line, column, line, column + 1)
            self.report("L101", "the text holds half of a character", span)

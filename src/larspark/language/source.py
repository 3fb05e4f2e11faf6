"""A text that is being read, its notation, and the problems found in it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from larspark.base.problems import LONGEST_EXCERPT, Problem, Severity, Span
from larspark.base.terms import Term
from larspark.language.tree import Comparison, Tick

# A built-in relation written as an atom, from its name, arguments and place; None for other atoms.
Relation = Callable[[str, tuple[Term, ...], Span], Comparison | None]

# At most this many errors, and as many warnings, are listed for one text.
MAX_PROBLEMS = 100


class TooManyProblemsError(Exception):
    """A text has `MAX_PROBLEMS` errors; the reader stops, and the last problem says so."""


def no_relation(_name: str, _args: tuple[Term, ...], _span: Span) -> None:
    """LARS has no built-in relations."""


@dataclass(frozen=True, slots=True)
class Notation:
    """How the tokens of a dialect differ from those of LARS."""

    # `%` behind a number or a variable is the remainder of a division, and no comment.
    percent_is_modulo: bool = False
    # `/* ... *%` and `%* ... */` are comments too.
    mixed_comment_ends: bool = False
    # Strings may stand in single quotes, without escapes.
    single_quotes: bool = False
    # `==` is `=`.
    double_equals: bool = False
    # The unit of a window size that has none, in microseconds; None for time points.
    bare_size: int | None = None
    # `now` is the evaluation time, and no name, where a term is wanted.
    has_now: bool = True
    relation: Relation = no_relation


@dataclass(slots=True)
class Source:
    """One text: its name, its notation, and the problems found in it."""

    name: str
    text: str
    notation: Notation = field(default_factory=Notation)
    tick: Tick | None = None
    problems: list[Problem] = field(default_factory=list)
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.text.split("\n")
        if not self.text.isascii():
            self._refuse_half_characters()

    def report(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """Add an error."""
        self._add(code, message, span, hint, Severity.ERROR)
        if self._count(Severity.ERROR) == MAX_PROBLEMS:
            self._add("L108", f"only the first {MAX_PROBLEMS} errors are listed", span)
            raise TooManyProblemsError

    def warn(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """Add a warning; warnings beyond the limit are dropped."""
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
        """Report and replace surrogates, which cannot be written to any output."""
        try:
            self.text.encode("utf-8")
        except UnicodeEncodeError as error:
            before = self.text[: error.start]
            line, column = before.count("\n") + 1, error.start - before.rfind("\n")
            self.text = self.text.encode("utf-8", "replace").decode("utf-8")
            self.lines = self.text.split("\n")
            span = Span(self.name, line, column, line, column + 1)
            self.report("L101", "the text holds a lone surrogate", span)

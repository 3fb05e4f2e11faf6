"""A program text in an editor, and what is known about it."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from larspark.analysis.checked import Checked
from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.language import Parsed, load_program, parse_program
from larspark.language.dialects import dialect_of
from larspark.language.kept_statements import KeptStatements
from larspark.lsp.symbols import Occurrence, Outline, Statements, outline
from larspark.run.prepare import checked_with
from larspark.run.protocol import Settings
from larspark.run.registry import choose

# How a hint names a word to put in the place of the one that is wrong.
_SUGGESTED = re.compile(r"^(?:did you mean|write) `([^`\s]+)`(?:$|\?|[ ,;:.])")

# How a hint names a directive that the program lacks.
_LACKING = re.compile(r"^(?:keep them with|say how long one time point lasts, e\.g\.) `(#[^`]+\.)`")
_MISSING_DOT = "put a `.` here"


@dataclass(frozen=True, slots=True)
class Replacement:
    """Text to put in a place."""

    span: Span
    text: str

    @property
    def title(self) -> str:
        """What it does, for people."""
        is_insertion = self.span.column == self.span.end_column
        return f"{'Insert' if is_insertion else 'Replace by'} `{self.text.strip()}`"


class Document:
    """One version of a text. `path` is the file it is the content of, or will be."""

    def __init__(self, text: str, path: Path | None, before: "Document | None" = None) -> None:
        self.text = text
        self.path = path
        self.name = "<program>" if path is None else str(path)
        self._statements: Statements = Statements() if before is None else before._statements
        self._kept: KeptStatements = KeptStatements() if before is None else before._kept
        self._known_before = None if before is None else before.known
        self._summary: tuple[Checked, str] | None = None if before is None else before._summary

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text with their ends; an empty one after the last."""
        return [*self.text.splitlines(keepends=True), ""]

    @cached_property
    def parsed(self) -> Parsed:
        """What the text was read as."""
        if self.path is None:
            return parse_program(self.text, self.name, kept=self._kept)
        return load_program(self.path, text=self.text, kept=self._kept)

    @cached_property
    def checked(self) -> Checked | None:
        """What is known about the program, unless the text has errors."""
        if self.parsed.program is None:
            return None
        return checked_with(self.parsed.program, (), Settings())

    @property
    def known(self) -> Checked | None:
        """The checked program, or that of an earlier version until this one has been checked."""
        checked: Checked | None = self.__dict__.get("checked")
        return checked or self._known_before

    @property
    def is_lars(self) -> bool:
        """Is the text in the language itself, not in a dialect?"""
        return self.path is None or dialect_of(self.path).name == "lars"

    @cached_property
    def outlines(self) -> dict[str, Outline]:
        """The symbols of this text and of those it includes, by the name of the text."""
        if not self.is_lars:
            return {self.name: Outline((), ())}
        texts = {} if self.known is None else dict(self.known.program.texts)
        texts[self.name] = self.text
        return {name: outline(text, name, self._statements) for name, text in texts.items()}

    @property
    def own(self) -> Outline:
        """The symbols of this text."""
        return self.outlines[self.name]

    def problems(self) -> list[Problem]:
        """All problems; those of included files stand on the directives that include them."""
        found = [*self.parsed.problems, *(self.checked.problems if self.checked else ())]
        return [self._here(problem) for problem in found]

    def _here(self, problem: Problem) -> Problem:
        span = problem.span
        if span is not None and span.source == self.name:
            return problem
        where = "" if span is None else f"{span.source}:{span.line}:{span.column}: "
        place = Span(self.name, 1, 1, 1, 1)
        if span is not None:
            line = next(
                (
                    number
                    for number, text in enumerate(self.text.split("\n"), start=1)
                    if text.lstrip().startswith("#include") and Path(span.source).name in text
                ),
                1,
            )
            place = Span(self.name, line, 1, line + 1, 1)
        message = f"{where}{problem.message}"
        return Problem(problem.code, message, place, problem.hint, problem.severity)

    def fix(self, problem: Problem) -> Replacement | None:
        """What the hint of a problem proposes, if it removes the problem."""
        replacement = self._proposed(problem)
        if replacement is None:
            return None
        fixed = Document(self.replaced(replacement), self.path, self)
        left = [(p.code, p.message) for p in fixed.problems()]
        before = [(p.code, p.message) for p in self.problems()]
        return replacement if len(left) < len(before) else None

    def _proposed(self, problem: Problem) -> Replacement | None:
        span = problem.span
        if span is None or span.source != self.name:
            return None
        if lacking := _LACKING.match(problem.hint):
            return Replacement(Span(self.name, 1, 1, 1, 1), f"{lacking.group(1)}\n")
        if problem.hint == _MISSING_DOT:
            return Replacement(span._replace(end_line=span.line, end_column=span.column), ".")
        found = _SUGGESTED.match(problem.hint)
        if found is None or span.line != span.end_line:
            return None
        new = found.group(1)
        if re.fullmatch(r"[a-z]\w*/\d+", new):
            # A predicate is named with its arity; only its name stands in the text.
            new = new.partition("/")[0]
            line = self.text.split("\n")[span.line - 1]
            name = re.compile(r"\w+").match(line, span.column - 1)
            if name is None:
                return None
            span = span._replace(end_column=name.end() + 1)
        if new.startswith("#"):
            new = new[1:]
        return Replacement(span, new)

    def replaced(self, replacement: Replacement) -> str:
        """The text with a replacement made."""
        lines = self.text.split("\n")
        span = replacement.span
        line = lines[span.line - 1]
        lines[span.line - 1] = (
            line[: span.column - 1] + replacement.text + line[span.end_column - 1 :]
        )
        return "\n".join(lines)

    def predicates(self) -> set[Signature]:
        """All predicates that stand in this text or in those it includes."""
        return {
            found.name
            for part in self.outlines.values()
            for found in part.occurrences
            if isinstance(found.name, Signature)
        }

    def occurrences(self, wanted: Occurrence) -> list[Occurrence]:
        """A predicate in all texts, or a variable in its statement."""
        if not isinstance(wanted.name, Signature):
            return list(self.own.same(wanted))
        return [found for part in self.outlines.values() for found in part.same(wanted)]

    def role(self, signature: Signature) -> str:
        """What a predicate is in the program, in one line of Markdown."""
        checked = self.known
        if checked is None:
            return f"`{signature}`"
        if signature in checked.derived:
            what = "derived" if signature in checked.shown else "derived, not shown"
            if checked.strata is not None and len(checked.strata) > 1:
                layer = next(n for n, part in enumerate(checked.strata, 1) if signature in part)
                what += f", stratum {layer} of {len(checked.strata)}"
            if signature in checked.program.remembered:
                what += ", remembered"
        elif signature in checked.background_signatures:
            what = "background data"
        elif signature in checked.inputs:
            what = "input: facts of the stream"
        else:
            what = "not used"
        return f"`{signature}`: {what}"

    def summary(self) -> str:
        """The engine of the program and how far back it looks, in Markdown."""
        checked = self.known
        if checked is None:
            return ""
        # An earlier version may be known before this one is checked.
        if self._summary is None or self._summary[0] is not checked:
            self._summary = checked, _summarized(checked)
        return self._summary[1]


def _summarized(checked: Checked) -> str:
    try:
        engine = choose(checked, Settings()).name
    except LarsparkError:
        engine = "none"
    time = checked.lookback.time
    back = "without bound" if time is None else f"{time} time points"
    return f"engine `{engine}`, lookback: {back}"

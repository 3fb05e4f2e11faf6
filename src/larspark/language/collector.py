"""A program from its text and the texts it includes.

Shared by the dialects whose texts consist of LARS tokens and statements.
"""

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from larspark.base.atoms import Signature
from larspark.base.problems import Problem, Severity, Span
from larspark.language.builder import (
    Directive,
    IncludeDirective,
    ShowDirective,
    Shown,
    SignaturesDirective,
    TickDirective,
)
from larspark.language.dialect import Parsed, ProgramText
from larspark.language.grammar import read_statement
from larspark.language.source import Notation, Source, TooManyProblemsError
from larspark.language.tokens import Statement, statements
from larspark.language.tree import Background, Program, Rule, Tick
from larspark.language.window_syntax import tick_text

# Larger texts are refused; data belongs into a stream or a background file.
MAX_CHARACTERS = 10_000_000
MAX_FILES = 100
_ALLOW = "`--allow-path DIRECTORY` allows another directory"


@dataclass(frozen=True, slots=True)
class Form:
    """What a dialect has of its own; the defaults are those of LARS.

    `split` cuts a text into statements. `read` gives the rule of a statement, if it is right, and
    the rest of the statement when a `.` is missing in between. `tick` is the length of a time
    point unless `#tick` gives one.
    """

    notation: Notation = field(default_factory=Notation)
    split: Callable[[Source], Iterator[Statement]] = statements
    read: Callable[[Statement], tuple[Any | None, Statement | None]] = read_statement
    tick: Tick | None = None


class Collector:
    """Reads a text and its includes.

    All directives are read first, because `#tick` gives durations their length wherever it
    stands, then the rules, in the order of the text.
    """

    def __init__(self, text: ProgramText, form: Form) -> None:
        self._main = text
        self._form = form
        self._sources: list[Source] = []
        self._tick: Tick | None = None
        self._signatures: dict[str, set[Signature]] = {}
        self._columns: dict[Signature, tuple[str, ...]] = {}
        self._backgrounds: list[Background] = []

    def problems(self) -> Iterator[Problem]:
        """All problems, text by text, in the order of their places."""
        for source in self._sources:
            yield from sorted(source.problems, key=lambda problem: problem.span or ())

    def program(self) -> Program:
        """The whole program; incomplete when there are errors."""
        name = self._main.name
        pending = self._text(name, self._main.text, (self._main.path,))
        if self._tick is None:
            self._tick = self._form.tick
        for source in self._sources:
            source.tick = self._tick
        signatures = {word: frozenset(found) for word, found in self._signatures.items()}
        return Program(
            tuple(self._rules(pending)),
            self._tick,
            signatures.get("input"),
            signatures.get("show"),
            signatures.get("remember", frozenset()),
            tuple(self._backgrounds),
            tuple(sorted(self._columns.items())),
            name,
            {source.name: source.text for source in self._sources},
        )

    def warn(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """Add a warning about a place in one of the texts."""
        source = next(source for source in self._sources if source.name == span.source)
        source.warn(code, message, span, hint)

    def _text(self, name: str, text: str, paths: tuple[str, ...]) -> list[Statement]:
        """The statements of a text without directives; `paths` is the chain of includes to it."""
        size = len(text)
        source = Source(name, text if size <= MAX_CHARACTERS else "", self._form.notation)
        self._sources.append(source)
        pending: list[Statement] = []
        try:
            if size > MAX_CHARACTERS:
                message = f"the text has {size} characters, more than {MAX_CHARACTERS}"
                source.report("L108", message, Span(name, 1, 1, 1, 1))
            for statement in self._form.split(source):
                rest: Statement | None = statement
                while rest is not None and rest.tokens[0].type == "HASH":
                    result, rest = read_statement(rest)
                    if result is not None and not isinstance(result, Rule):
                        pending.extend(self._directive(source, result, paths))
                if rest is not None:
                    pending.append(rest)
        except TooManyProblemsError:
            pass
        return pending

    def _directive(
        self, source: Source, directive: Directive, paths: tuple[str, ...]
    ) -> list[Statement]:
        """Apply a directive; an include gives the statements of its file."""
        match directive:
            case TickDirective(tick, span):
                if self._tick is not None and tick != self._tick:
                    message = f"`#tick` says {tick_text(tick)}, and {tick_text(self._tick)} before"
                    source.report("L120", message, span, "a program has one length of time points")
                self._tick = tick
            case SignaturesDirective(word, signatures):
                self._signatures.setdefault(word, set()).update(signatures)
            case ShowDirective(shown):
                self._signatures.setdefault("show", set()).update(one.signature for one in shown)
                for one in shown:
                    self._name_columns(source, one)
            case Background():
                self._background(source, directive, paths[-1])
            case IncludeDirective():
                return self._include(source, directive, paths)
            case _:
                assert_never(directive)
        return []

    def _name_columns(self, source: Source, shown: Shown) -> None:
        signature, columns, span = shown
        if span is None:
            return
        before = self._columns.setdefault(signature, columns)
        if before != columns:
            message = f"`#show` names the columns of `{signature}` {_listed(columns)}"
            message += f", and {_listed(before)} before"
            source.report("L120", message, span, "a predicate has one list of names")

    def _background(self, source: Source, background: Background, path: str) -> None:
        """Relative paths are meant from the file that names them."""
        located = posixpath.join(self._main.root, posixpath.dirname(path), background.path)
        if why := self._main.forbid(located):
            message = f'"{background.path}" cannot be used: {why}'
            source.report("L121", message, background.span, _ALLOW)
        self._backgrounds.append(replace(background, path=located))

    def _include(
        self, source: Source, include: IncludeDirective, paths: tuple[str, ...]
    ) -> list[Statement]:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(paths[-1]), include.path))
        name = posixpath.join(self._main.root, path)

        def refuse(why: str, hint: str = "") -> list[Statement]:
            source.report("L121", f'"{include.path}" cannot be included: {why}', include.span, hint)
            return []

        if self._main.read is None:
            return refuse("the program is not a file", "load it from a file")
        if why := self._main.forbid(name):
            return refuse(why, _ALLOW)
        if path in paths:
            chain = " -> ".join(f'"{part}"' for part in (*paths[paths.index(path) :], path))
            return refuse(f"it includes itself: {chain}")
        if any(earlier.name == name for earlier in self._sources):
            return []
        if len(self._sources) >= MAX_FILES:
            return refuse(f"a program has at most {MAX_FILES} files")
        try:
            text = self._main.read(path)
        except LookupError:
            return refuse("there is no such file")
        except OSError as error:
            return refuse(error.strerror or "it cannot be read")
        except ValueError as error:
            return refuse(str(error))
        return self._text(name, text, (*paths, path))

    def _rules(self, pending: list[Statement]) -> Iterator[Rule]:
        given_up: set[str] = set()
        for statement in pending:
            source = statement.tokens[0].source
            if source.name in given_up:
                continue
            rest: Statement | None = statement
            try:
                while rest is not None:
                    result, rest = self._form.read(rest)
                    if isinstance(result, Rule):
                        yield result
            except TooManyProblemsError:
                given_up.add(source.name)

    def parsed(self, program: Program) -> Parsed:
        """The program, unless there are errors, with all problems."""
        problems = tuple(self.problems())
        return Parsed(None if has_errors(problems) else program, problems)


def _listed(columns: tuple[str, ...]) -> str:
    return f"({', '.join(columns)})"


def has_errors(problems: tuple[Problem, ...]) -> bool:
    return any(problem.severity is Severity.ERROR for problem in problems)

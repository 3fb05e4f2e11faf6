"""A program from its text and the texts it includes."""

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem, Severity, Span
from larspark.language.builder import (
    Directive,
    IncludeDirective,
    SignaturesDirective,
    TickDirective,
)
from larspark.language.dialect import TICKER_TICK, Dialect, doubtful_relations
from larspark.language.dialects.laser import laser_statements, read_laser_rule
from larspark.language.grammar import read_query, read_statement
from larspark.language.source import Source, TooManyProblemsError
from larspark.language.tokens import Statement, statements
from larspark.language.tree import AtomFormula, Background, Formula, Program, Rule, Tick
from larspark.language.window_syntax import tick_text

# Larger texts are refused; data belongs into a stream or a background file.
MAX_CHARACTERS = 10_000_000
MAX_FILES = 100

# Gives the text of a file that is named relative to the main program's directory; raises
# LookupError, OSError or ValueError when there is none.
Read = Callable[[str], str]


class Collector:
    """Reads a text and its includes: first all directives, because `#tick` gives durations their
    length wherever it stands, then the rules, in the order of the text."""

    def __init__(self, dialect: Dialect, read: Read | None, root: str = "") -> None:
        self._dialect = dialect
        self._read = read
        self._root = root
        self._sources: list[Source] = []
        self._tick: Tick | None = None
        self._signatures: dict[str, set[Signature]] = {}
        self._backgrounds: list[Background] = []

    def problems(self) -> Iterator[Problem]:
        """All problems, text by text, in the order of their places."""
        for source in self._sources:
            yield from sorted(source.problems, key=lambda problem: problem.span or ())

    def program(self, name: str, text: str, path: str = "") -> Program:
        """The whole program; it means something only when there are no errors."""
        pending = self._text(name, text, (path,))
        if self._tick is None and self._dialect is Dialect.TICKER:
            self._tick = TICKER_TICK
        for source in self._sources:
            source.tick = self._tick
        signatures = {word: frozenset(found) for word, found in self._signatures.items()}
        program = Program(
            tuple(_rules(pending)),
            self._tick,
            signatures.get("input"),
            signatures.get("show"),
            signatures.get("remember", frozenset()),
            tuple(self._backgrounds),
            name,
            {source.name: source.text for source in self._sources},
        )
        if self._dialect is Dialect.LARS:
            self._warn_of_relations(program)
        return program

    def _warn_of_relations(self, program: Program) -> None:
        sources = {source.name: source for source in self._sources}
        for formula in doubtful_relations(program):
            name = formula.atom.predicate
            message = f"`{name}` is an ordinary predicate, and a relation only in Ticker's dialect"
            hint = f"write a comparison, or declare `#input {formula.atom.signature}.`"
            sources[formula.span.source].warn("L131", message, formula.span, hint)

    def _text(self, name: str, text: str, paths: tuple[str, ...]) -> list[Statement]:
        """The statements of a text that are no directives; `paths` leads to it by includes."""
        size = len(text)
        source = Source(name, text if size <= MAX_CHARACTERS else "", self._dialect)
        self._sources.append(source)
        pending: list[Statement] = []
        try:
            if size > MAX_CHARACTERS:
                message = f"the text has {size} characters, more than {MAX_CHARACTERS}"
                source.report("L108", message, Span(name, 1, 1, 1, 1))
            split = laser_statements if self._dialect is Dialect.LASER else statements
            for statement in split(source):
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
        """Take a directive in; an include gives the statements of its file."""
        match directive:
            case TickDirective(tick, span):
                if self._tick is not None and tick != self._tick:
                    message = f"`#tick` says {tick_text(tick)}, and {tick_text(self._tick)} before"
                    source.report("L120", message, span, "a program has one length of time points")
                self._tick = tick
            case SignaturesDirective(word, signatures):
                self._signatures.setdefault(word, set()).update(signatures)
            case Background():
                self._backgrounds.append(self._located(directive, paths[-1]))
            case IncludeDirective():
                return self._include(source, directive, paths)
            case _:
                assert_never(directive)
        return []

    def _located(self, background: Background, path: str) -> Background:
        """Relative paths are meant from the file that names them."""
        located = posixpath.join(self._root, posixpath.dirname(path), background.path)
        return Background(located, background.signature, background.span)

    def _include(
        self, source: Source, include: IncludeDirective, paths: tuple[str, ...]
    ) -> list[Statement]:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(paths[-1]), include.path))
        name = posixpath.join(self._root, path)

        def refuse(why: str, hint: str = "") -> list[Statement]:
            source.report("L121", f'"{include.path}" cannot be included: {why}', include.span, hint)
            return []

        if self._read is None:
            return refuse("the program is not a file", "load it from a file")
        if posixpath.isabs(path) or path == ".." or path.startswith("../"):
            where = "the directory of the main program"
            return refuse(f"it lies outside {where}", f"name a file in {where} or below")
        if path in paths:
            chain = " -> ".join(f'"{part}"' for part in (*paths[paths.index(path) :], path))
            return refuse(f"it includes itself: {chain}")
        if any(earlier.name == name for earlier in self._sources):
            return []
        if len(self._sources) >= MAX_FILES:
            return refuse(f"a program has at most {MAX_FILES} files")
        try:
            text = self._read(path)
        except LookupError:
            return refuse("there is no such file")
        except OSError as error:
            return refuse(error.strerror or "it cannot be read")
        except ValueError as error:
            return refuse(str(error))
        return self._text(name, text, (*paths, path))


def _rules(pending: list[Statement]) -> Iterator[Rule]:
    given_up: set[str] = set()
    for statement in pending:
        source = statement.tokens[0].source
        if source.name in given_up:
            continue
        rest: Statement | None = statement
        try:
            while rest is not None:
                if source.dialect is Dialect.LASER:
                    result, rest = read_laser_rule(rest), None
                else:
                    result, rest = read_statement(rest)
                if isinstance(result, Rule):
                    yield result
        except TooManyProblemsError:
            given_up.add(source.name)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A program, when nothing is wrong with its text, and every problem and doubt."""

    program: Program | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedFormula:
    """A formula, when nothing is wrong with its text, and every problem and doubt."""

    formula: Formula | None
    problems: tuple[Problem, ...] = ()


def parse_program(
    text: str, source: str = "<program>", dialect: str = "lars", read: Read | None = None
) -> Parsed:
    """Read a program; `read` gives the text of an included file, named relative to this text.

    >>> parse_program("q(X) :- p(X) [3].").program.rules[0].body[0].window
    TimeWindow(past=3, future=0, every=1)
    >>> [problem.code for problem in parse_program("q :- .  r :- p [3 s].").problems]
    ['L104', 'L115']
    """
    if dialect not in tuple(Dialect):
        return unknown_dialect(dialect)
    collector = Collector(Dialect(dialect), read)
    return parsed(collector.program(source, text), collector)


def parsed(program: Program, collector: Collector) -> Parsed:
    """The program, unless there are errors, with the problems that were found on the way."""
    problems = tuple(collector.problems())
    return Parsed(None if _errors(problems) else program, problems)


def unknown_dialect(dialect: str) -> Parsed:
    known = ", ".join(f"`{name}`" for name in Dialect)
    message = f"there is no dialect `{dialect}`"
    return Parsed(None, (Problem("L126", message, hint=f"the dialects are {known}"),))


def parse_formula(text: str, source: str = "<formula>", tick: Tick | None = None) -> ParsedFormula:
    """Read a formula, such as a query; a final `.` may stand there or not.

    >>> parse_formula("[5] some tram(A, b)").formula.window
    TimeWindow(past=5, future=0, every=1)
    """
    reading = Source(source, text, tick=tick)
    formula: Formula | None = None
    try:
        parts = list(statements(reading))
        if parts:
            formula = read_query(parts[0])
        elif not reading.problems:
            reading.report("L104", "a formula was expected", Span(source, 1, 1, 1, 2))
        if len(parts) > 1:
            reading.report("L104", "there is more than one formula", parts[1].tokens[0].span)
    except TooManyProblemsError:
        pass
    problems = tuple(reading.problems)
    return ParsedFormula(None if _errors(problems) else formula, problems)


def parse_atom(text: str, source: str = "<atom>") -> Atom:
    """Read an atom, ground or not; anything else is an error.

    >>> parse_atom("tram(a1, X)")
    Atom(predicate='tram', args=('a1', Variable(name='X')))
    """
    parsed = parse_formula(text, source)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    if not isinstance(parsed.formula, AtomFormula):
        span = parsed.formula.span
        raise LarsparkError(Problem("L104", "an atom was expected, such as `p(a,3)`", span))
    return parsed.formula.atom


def _errors(problems: tuple[Problem, ...]) -> bool:
    return any(problem.severity is Severity.ERROR for problem in problems)


def load_program(path: str | Path, dialect: str = "lars") -> Parsed:
    """Read a program file and the files it includes.

    Included files lie in the directory of the program or below it. Paths of `#include` and
    `#background` are meant from the file that names them.
    """
    if dialect not in tuple(Dialect):
        return unknown_dialect(dialect)
    path = Path(path)
    try:
        text = _read_text(path)
    except OSError as error:
        return _unreadable(path, error.strerror or "it cannot be read")
    except ValueError as error:
        return _unreadable(path, str(error))
    root = path.parent

    def read(relative: str) -> str:
        target = root / relative
        if not target.resolve().is_relative_to(root.resolve()):
            raise ValueError("it is a link out of the directory of the main program")
        return _read_text(target)

    collector = Collector(Dialect(dialect), read, "" if str(root) == "." else root.as_posix())
    program = collector.program(str(path), text, path.name)
    return parsed(program, collector)


def _read_text(path: Path) -> str:
    # A character takes at most four bytes, so a larger file is too large in any case.
    if path.stat().st_size > 4 * MAX_CHARACTERS:
        raise ValueError(f"it has more than {MAX_CHARACTERS} characters")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _unreadable(path: Path, why: str) -> Parsed:
    return Parsed(None, (Problem("L121", f"{path} cannot be read: {why}"),))

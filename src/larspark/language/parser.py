"""Programs, formulas and atoms from text, with everything that is wrong in one go."""

from dataclasses import dataclass

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem, Severity, Span
from larspark.language.collect import Collector, Read
from larspark.language.dialects import Dialect
from larspark.language.grammar import read_query
from larspark.language.source import Source, TooManyProblemsError
from larspark.language.tokens import statements
from larspark.language.tree import AtomFormula, Formula, Program, Tick


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

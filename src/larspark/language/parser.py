"""Programs and formulas from text and files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.language.collector import MAX_CHARACTERS, has_errors
from larspark.language.dialect import Dialect, Parsed, ProgramText, Read
from larspark.language.dialects import DIALECTS, dialect_of
from larspark.language.grammar import read_query
from larspark.language.kept_statements import KeptStatements
from larspark.language.source import Notation, Source, TooManyProblemsError
from larspark.language.tokens import statements
from larspark.language.tree import AtomFormula, Formula, Tick


@dataclass(frozen=True, slots=True)
class ParsedFormula:
    """A formula, unless its text has errors, and all errors and warnings."""

    formula: Formula | None
    problems: tuple[Problem, ...] = ()


def parse_program(
    text: str,
    source: str = "<program>",
    dialect: str = "lars",
    read: Read | None = None,
    allow: Iterable[str | Path] = (),
    options: Mapping[str, str] | None = None,
    kept: KeptStatements | None = None,
) -> Parsed:
    """Read a program; `read` gives the text of an included file, named relative to this text.

    Background files lie in the current directory or in one of those allowed. `options` are those
    of the dialect, `kept` statements of earlier versions of the text.

    >>> parse_program("q(X) :- p(X) [3].").program.rules[0].body[0].window
    TimeWindow(past=3, future=0, every=1)
    >>> [problem.code for problem in parse_program("q :- .  r :- p [3 s].").problems]
    ['L104', 'L115']
    """
    known = DIALECTS.get(dialect)
    if known is None:
        return _unknown_dialect(dialect)
    forbid = _Confined(Path(), allow).forbid
    program = ProgramText(text, source, read=read, forbid=forbid, options=options or {}, kept=kept)
    return _parsed(known, program)


def _parsed(dialect: Dialect, text: ProgramText) -> Parsed:
    unknown = [name for name in text.options if name not in dialect.options]
    if unknown:
        hint = f"its options: {', '.join(dialect.options) or 'none'}"
        message = f"the dialect `{dialect.name}` has no option"
        return Parsed(None, tuple(Problem("L126", f"{message} `{n}`", hint=hint) for n in unknown))
    return dialect.parse(text)


def _unknown_dialect(dialect: str) -> Parsed:
    known = ", ".join(f"`{name}`" for name in DIALECTS)
    message = f"there is no dialect `{dialect}`"
    return Parsed(None, (Problem("L126", message, hint=f"the dialects are {known}"),))


def parse_formula(text: str, source: str = "<formula>", tick: Tick | None = None) -> ParsedFormula:
    """Read a formula, such as a query; a final `.` may stand there or not.

    >>> parse_formula("[5] some tram(A, b)").formula.window
    TimeWindow(past=5, future=0, every=1)
    """
    return _parse_formula(Source(source, text, tick=tick))


def _parse_formula(reading: Source) -> ParsedFormula:
    formula: Formula | None = None
    try:
        parts = list(statements(reading))
        if parts:
            formula = read_query(parts[0])
        elif not reading.problems:
            reading.report("L104", "a formula was expected", Span(reading.name, 1, 1, 1, 2))
        if len(parts) > 1:
            reading.report("L104", "there is more than one formula", parts[1].tokens[0].span)
    except TooManyProblemsError:
        pass
    problems = tuple(reading.problems)
    return ParsedFormula(None if has_errors(problems) else formula, problems)


def parse_atom(text: str, source: str = "<atom>") -> Atom:
    """Read an atom, ground or not; anything else is an error. Here `now` is a name.

    >>> parse_atom("tram(a1, X)")
    Atom(predicate='tram', args=('a1', Variable(name='X')))
    """
    parsed = _parse_formula(Source(source, text, Notation(has_now=False)))
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    if not isinstance(parsed.formula, AtomFormula):
        span = parsed.formula.span
        raise LarsparkError(Problem("L104", "an atom was expected, such as `p(a,3)`", span))
    return parsed.formula.atom


class _Confined:
    """The directories that a program may read files from: its own, and those that are allowed."""

    def __init__(self, root: Path, allow: Iterable[str | Path]) -> None:
        self._allowed = [Path(directory).resolve() for directory in (root, *allow)]

    def forbid(self, path: str) -> str:
        """Why a file may not be read; links are followed."""
        try:
            target = Path(path).resolve()
        except (OSError, RuntimeError, ValueError):
            return "there is no such file"
        if any(map(target.is_relative_to, self._allowed)):
            return ""
        return "it lies outside the directory of the main program"


def load_program(
    path: str | Path,
    dialect: str | None = None,
    allow: Iterable[str | Path] = (),
    options: Mapping[str, str] | None = None,
    *,
    text: str | None = None,
    kept: KeptStatements | None = None,
) -> Parsed:
    """Read a program file and the files it includes; `text` replaces the content of the file.
    `kept` are statements of earlier versions.

    Without `dialect` the suffix of the file decides, and a file with any other suffix is LARS.
    Included files and background files lie in the directory of the program or below it, or in a
    directory of `allow`. Paths of `#include` and `#background` are relative to the file that names
    them.
    """
    path = Path(path)
    known = dialect_of(path) if dialect is None else DIALECTS.get(dialect)
    if known is None:
        return _unknown_dialect(str(dialect))
    try:
        text = _read_text(path) if text is None else text
    except OSError as error:
        return _unreadable(path, error.strerror or "it cannot be read")
    except ValueError as error:
        return _unreadable(path, str(error))
    root = path.parent

    def read(relative: str) -> str:
        return _read_text(root / relative)

    directory = "" if str(root) == "." else root.as_posix()
    forbid = _Confined(root, allow).forbid
    program = ProgramText(text, str(path), path.name, directory, read, forbid, options or {}, kept)
    return _parsed(known, program)


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

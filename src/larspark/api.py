"""The front door: programs, streams, reasoners, queries, whole runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.base.terms import Constant
from larspark.feeds import Stream, parse_ground_atom, read_background
from larspark.language import Parsed, load_program, parse_formula, parse_program, program_text, tree
from larspark.meaning.check import check, formula_problems
from larspark.meaning.checked import Checked
from larspark.meaning.queries import query as query_elements
from larspark.run.engines import Choice, choose
from larspark.run.protocol import Model, Settings
from larspark.run.replay import intervals, replay, up_to
from larspark.run.session import Session
from larspark.show.report import report_json, report_text


class Answer(NamedTuple):
    """The output at a time point; `atoms` is None when there is no answer stream."""

    t: int
    atoms: frozenset[Atom] | None
    added: frozenset[Atom]
    removed: frozenset[Atom]


@dataclass(frozen=True)
class Report:
    """What is known about a program before it runs."""

    checked: Checked
    choice: Choice

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.checked.problems

    def to_json(self) -> dict[str, Any]:
        return report_json(self.checked, *self.choice)

    def __str__(self) -> str:
        return report_text(self.checked, *self.choice)


class Program:
    """A parsed program.

    >>> program = Program.parse("q(X) :- [3] some a(X).")
    >>> program.check().checked.fragment.value
    'positive plain'
    """

    def __init__(self, syntax: tree.Program, warnings: Sequence[Problem] = ()) -> None:
        self.syntax = syntax
        self.warnings = tuple(warnings)

    @classmethod
    def parse(cls, text: str, *, dialect: str = "lars", source: str = "<program>") -> "Program":
        """Read a program from text; everything that is wrong with it is raised at once."""
        return cls._accept(parse_program(text, source=source, dialect=dialect))

    @classmethod
    def load(cls, path: str | Path, *, dialect: str = "lars") -> "Program":
        """Read a program from a file, with the files it includes."""
        return cls._accept(load_program(path, dialect=dialect))

    @classmethod
    def _accept(cls, parsed: Parsed) -> "Program":
        if parsed.program is None:
            raise LarsparkError(parsed.problems)
        return cls(parsed.program, parsed.problems)

    @cached_property
    def text(self) -> str:
        """The program in its one normalized form."""
        return program_text(self.syntax)

    def check(self, background: Iterable[Atom] = (), *, settings: Settings | None = None) -> Report:
        """What is known about the program; problems are part of the report, not raised."""
        signatures = {atom.signature for atom in background}
        settings = settings or Settings()
        checked = check(self.syntax, signatures, ends=settings.until is not None)
        return Report(checked, choose(checked, settings))


def open_session(
    program: Program, background: Iterable[Atom | str], engine: str, settings: Settings
) -> Session:
    """A session of the checked program, or everything that is wrong with it."""
    atoms = {parse_ground_atom(atom) if isinstance(atom, str) else atom for atom in background}
    for source in program.syntax.backgrounds:
        atoms.update(read_background(source.path, source.signature))
    checked = program.check(atoms, settings=settings).checked
    errors = [problem for problem in checked.problems if problem.severity is Severity.ERROR]
    if errors:
        raise LarsparkError(errors)
    return Session(checked, atoms, engine, settings)


class Reasoner:
    """A program at work on a stream that arrives piece by piece."""

    def __init__(
        self,
        program: Program | str,
        background: Iterable[Atom | str] = (),
        *,
        engine: str = "auto",
        start: int | None = None,
        hindsight: bool = False,
        until: int | None = None,
    ) -> None:
        self.program = Program.parse(program) if isinstance(program, str) else program
        settings = Settings(start=start, hindsight=hindsight, until=until)
        self.session = open_session(self.program, background, engine, settings)
        tick = self.program.syntax.tick
        self._tick = None if tick is None else tick.microseconds
        self._last: frozenset[Atom] = frozenset()

    def append(self, t: int, facts: Iterable[Atom | str]) -> None:
        """Take in what happened at t.

        Facts are atoms or their text. Elements come in the order of their time points.
        """
        atoms = [parse_ground_atom(fact) if isinstance(fact, str) else fact for fact in facts]
        self.session.append(RowBatch([Row(t, atom, 0) for atom in atoms], t))

    def append_stream(self, stream: Stream) -> None:
        """Take in a whole stream, such as `Stream.from_table(table, map="t -> temp(s, v)")`."""
        for batch in stream.with_tick(self._tick).batches():
            self.session.append(batch)

    def advance(self, t: int) -> Iterator[Answer]:
        """The answers for every time point after the last advance, up to t."""
        for point in self.session.advance(t).points():
            now = point.atoms if point.atoms is not None else frozenset()
            yield Answer(point.t, point.atoms, now - self._last, self._last - now)
            self._last = now

    def models(self, at: int, limit: int | None = None) -> list[Model]:
        """All answer streams at a time point, or the first ones."""
        return list(self.session.models(at, limit))


def models(
    session: Session, stream: Stream, at: int, *, limit: int | None = None, hindsight: bool = False
) -> Iterator[Model]:
    """The answer streams at a time point of a stream."""
    for batch in stream.batches():
        session.append(batch if hindsight else up_to(batch, at))
        if not hindsight and batch.last_t is not None and batch.last_t > at:
            break
    return session.models(at, limit)


def parse_tick(text: str) -> tree.Tick:
    """How long one time point lasts, from text such as `1 min`."""
    parsed = parse_program(f"#tick {text}.", source="<tick>")
    if parsed.program is None or parsed.program.tick is None:
        raise LarsparkError(parsed.problems)
    return parsed.program.tick


def query(
    formula: str,
    stream: Stream,
    *,
    at: int | None = None,
    background: Iterable[Atom | str] = (),
    start: int | None = None,
    until: int | None = None,
    tick: tree.Tick | None = None,
) -> list[dict[str, Constant]]:
    """The substitutions under which a formula holds at a time point of a stream.

    A ground formula gives `[{}]` for yes and `[]` for no. Without `at` the question is asked at
    every time point, and the answers carry the time point as `t`.
    """
    parsed = parse_formula(formula, tick=tick)
    problems = list(parsed.problems)
    if parsed.formula is not None:
        problems += formula_problems(parsed.formula)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors or parsed.formula is None:
        raise LarsparkError(errors)
    atoms = {parse_ground_atom(atom) if isinstance(atom, str) else atom for atom in background}
    elements = [(row.t, row.atom) for row in stream.elements()]
    first = stream.first_t if start is None else start
    last = stream.last_t if until is None else until
    return query_elements(parsed.formula, elements, atoms, first, last, at)


def run(
    program: Program | str,
    stream: Stream,
    *,
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    start: int | None = None,
    to: int | None = None,
    hindsight: bool = False,
    until: int | None = None,
) -> pa.Table:
    """The whole timeline at once: maximal intervals as a table (atom, from, to)."""
    reasoner = Reasoner(
        program, background, engine=engine, start=start, hindsight=hindsight, until=until
    )
    pieces = replay(reasoner.session, stream.batches(), to=to, hindsight=hindsight)
    rows = list(intervals(pieces))
    return pa.table(
        {
            "atom": pa.array([str(atom) for atom, _, _ in rows], pa.string()),
            "from": pa.array([begin for _, begin, _ in rows], pa.int64()),
            "to": pa.array([end for _, _, end in rows], pa.int64()),
        }
    )

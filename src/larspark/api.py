"""The front door: programs, streams, reasoners, queries, whole runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch, Row, RowBatch
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.base.terms import Constant
from larspark.feeds import Stream, parse_ground_atom, read_background
from larspark.feeds.live import LiveStream
from larspark.language import Parsed, load_program, parse_formula, parse_program, program_text, tree
from larspark.meaning.check import check, formula_problems
from larspark.meaning.checked import Checked
from larspark.meaning.queries import query as query_elements
from larspark.plan.build import plan
from larspark.plan.text import plan_text
from larspark.run.engines import Choice, choose
from larspark.run.history import History
from larspark.run.hypothetical import HypotheticalAnswer
from larspark.run.hypothetical import Monitor as MonitorSession
from larspark.run.hypothetical import hypothesize as hypothetical_answers
from larspark.run.live import live
from larspark.run.protocol import Answers, Model, Settings
from larspark.run.replay import intervals, replay, up_to
from larspark.run.saved import SavedState
from larspark.run.session import Session
from larspark.show.explanation import Explanation, explain_atom, parse_goal
from larspark.show.picture import Picture, Scene, picture_run
from larspark.show.report import report_json, report_text
from larspark.show.tables import answer_html


class Answer(NamedTuple):
    """The output at a time point; `atoms` is None when there is no answer stream."""

    t: int
    atoms: frozenset[Atom] | None
    added: frozenset[Atom]
    removed: frozenset[Atom]

    def _repr_html_(self) -> str:
        return answer_html(self.t, self.atoms, self.added, self.removed)


@dataclass(frozen=True)
class Report:
    """What is known about a program before it runs."""

    checked: Checked
    choice: Choice

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.checked.problems

    def plan(self) -> str:
        """How the interval engine works the rules off; raises what stands in the way."""
        return plan_text(plan(self.checked))

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


class Prepared(NamedTuple):
    """A program that is ready to run, with all its background data."""

    checked: Checked
    background: frozenset[Atom]


def prepare(
    program: Program, background: Iterable[Atom | str] = (), settings: Settings | None = None
) -> Prepared:
    """The program checked against its background data, or everything that is wrong with it."""
    atoms = set(_atoms(background))
    for source in program.syntax.backgrounds:
        atoms.update(read_background(source.path, source.signature))
    checked = program.check(atoms, settings=settings).checked
    errors = [problem for problem in checked.problems if problem.severity is Severity.ERROR]
    if errors:
        raise LarsparkError(errors)
    return Prepared(checked, frozenset(atoms))


def open_session(
    program: Program, background: Iterable[Atom | str], engine: str, settings: Settings
) -> Session:
    """A session of a program on an engine."""
    return Session(*prepare(program, background, settings), engine, settings)


def _atoms(given: Iterable[Atom | str]) -> Iterator[Atom]:
    return (parse_ground_atom(item) if isinstance(item, str) else item for item in given)


@runtime_checkable
class Tabular(Protocol):
    """Whatever offers its rows as an Arrow stream: pyarrow tables, data frames."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


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
        time_limit: float | None = None,
        incremental: bool = False,
    ) -> None:
        self.program = Program.parse(program) if isinstance(program, str) else program
        settings = Settings(start, hindsight, until, time_limit=time_limit, incremental=incremental)
        self._prepared = prepare(self.program, background, settings)
        self._settings = settings
        self.session = Session(*self._prepared, engine, settings)
        self._history = History(self._prepared.checked.lookback)
        tick = self.program.syntax.tick
        self._tick = None if tick is None else tick.microseconds
        self._last: frozenset[Atom] = frozenset()

    def append(
        self,
        t: int,
        facts: Iterable[Atom | str] | Tabular,
        *,
        map: str | None = None,  # noqa: A002 - the same as the option `--map`
    ) -> None:
        """Take in what happened at t. Elements come in the order of their time points.

        Facts are atoms or their text; or the rows of a pyarrow table, a pandas or polars data
        frame, with the atoms that its columns make: `map="temp(sensor, value)"`.
        """
        if isinstance(facts, Tabular):
            if map is None:
                hint = 'such as `map="temp(sensor, value)"`'
                raise LarsparkError(Problem("L303", "a table needs a mapping to atoms", hint=hint))
            for batch in Stream.from_table(facts, map=map, at=t).batches():
                self._append(batch)
            facts = ()
        self._append(RowBatch([Row(t, atom, 0) for atom in _atoms(facts)], t))

    def append_stream(self, stream: Stream) -> None:
        """Take in a whole stream, such as `Stream.from_table(table, map="t -> temp(s, v)")`."""
        for batch in stream.with_tick(self._tick).batches():
            self._append(batch)

    def _append(self, batch: AnyBatch) -> None:
        self.session.append(batch)
        self._history.append(batch)

    def advance(self, t: int) -> Iterator[Answer]:
        """The answers for every time point after the last advance, up to t."""
        yield from self._answers(self.session.advance(t))

    def _answers(self, found: Answers) -> Iterator[Answer]:
        for point in found.points():
            now = point.atoms if point.atoms is not None else frozenset()
            yield Answer(point.t, point.atoms, now - self._last, self._last - now)
            self._last = now

    def follow(self, stream: LiveStream) -> Iterator[Answer]:
        """The answers while a live stream comes, each when its time point is over.

        `stream.stop()` ends it: all that has arrived is still answered.
        """
        stream = stream.with_tick(self._tick)
        for piece in live(self.session, stream, seen=[self._history.append]):
            yield from self._answers(piece)

    def models(self, at: int, limit: int | None = None) -> list[Model]:
        """All answer streams at a time point, or the first ones."""
        return list(self.session.models(at, limit))

    def closest(self, at: int) -> Model | None:
        """The answer stream at a time point that `advance` would follow; None without one."""
        return self.session.closest(at)

    def count(self, at: int) -> int:
        """How many answer streams there are at a time point."""
        return self.session.count(at)

    def cautious(self, at: int) -> Model | None:
        """What every answer stream at a time point holds; None without one."""
        return self.session.cautious(at)

    def brave(self, at: int) -> Model | None:
        """What at least one answer stream at a time point holds; None without one."""
        return self.session.brave(at)

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know about the answers, such as that one of several is followed."""
        return self.session.notes

    def explain(self, atom: Atom | str, at: int | None = None) -> Explanation:
        """Why an atom holds at a time point (the last one answered), or what is missing."""
        at = self.session.answered if at is None else at
        if at is None:
            raise LarsparkError(Problem("L409", "nothing was answered yet"))
        self._history.check(at)
        goal, when = parse_goal(str(atom))
        settings = self._settings._replace(start=self.session.start)
        elements = self._history.elements()
        return explain_atom(
            self._prepared.checked,
            goal,
            at,
            elements,
            self._prepared.background,
            settings=settings,
            when=when,
        )

    def stats(self) -> dict[str, int]:
        """What the engine holds and has done, where it counts that."""
        count = getattr(self.session.engine, "stats", None)
        return dict(count()._asdict()) if count is not None else {}

    def save(self, path: str | Path) -> None:
        """Write the state to a file, which is replaced only when all of it is written."""
        target = Path(path)
        written = target.with_name(f".{target.name}.writing")
        written.write_bytes(self.session.save())
        written.replace(target)

    @classmethod
    def restore(
        cls, path: str | Path, program: Program | str, background: Iterable[Atom | str] = ()
    ) -> "Reasoner":
        """Go on from a saved state; the program must be the one that was saved.

        What arrived before is in the state of the engine; it cannot be explained any more.
        """
        saved = SavedState.from_bytes(Path(path).read_bytes())
        settings = saved.settings
        reasoner = cls(
            program,
            background,
            engine=saved.engine,
            start=settings.start,
            hindsight=settings.hindsight,
            until=settings.until,
            time_limit=settings.time_limit,
            incremental=settings.incremental,
        )
        reasoner.session.restore(saved.to_bytes())
        reasoner._history.forget_up_to(saved.latest)
        return reasoner


def feed(session: Session, stream: Stream, at: int, *, hindsight: bool = False) -> None:
    """Let a session know what is known of a stream at a time point."""
    for batch in stream.batches():
        session.append(batch if hindsight else up_to(batch, at))
        if not hindsight and batch.last_t is not None and batch.last_t > at:
            break


def parse_tick(text: str) -> tree.Tick:
    """How long one time point lasts, from text such as `1 min`."""
    parsed = parse_program(f"#tick {text}.", source="<tick>")
    if parsed.program is None or parsed.program.tick is None:
        raise LarsparkError(parsed.problems)
    return parsed.program.tick


def explain(
    program: Program | str,
    atom: Atom | str,
    stream: Stream,
    *,
    at: int,
    background: Iterable[Atom | str] = (),
    start: int | None = None,
    hindsight: bool = False,
    until: int | None = None,
) -> Explanation:
    """Why an atom holds at a time point of a stream, or what is missing for it."""
    program = Program.parse(program) if isinstance(program, str) else program
    settings = Settings(start, hindsight, until)
    checked, atoms = prepare(program, background, settings)
    goal, when = parse_goal(str(atom))
    elements = _elements(program, stream, None if hindsight else at)
    if start is None:
        settings = settings._replace(start=stream.first_t)
    return explain_atom(checked, goal, at, elements, atoms, settings=settings, when=when)


def show(
    program: Program | str,
    stream: Stream,
    *,
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    start: int | None = None,
    hindsight: bool = False,
    until: int | None = None,
    to: int | None = None,
    view: tuple[int, int] | None = None,
    at: int | None = None,
    only: Sequence[str] = (),
) -> Picture:
    """A run as a timeline: facts, what is derived from them, and the windows at a time point.

    Read and evaluated up to the time point `to`, drawn from the first to the last time point of
    `view`, and only for the predicates `only`, if any are named.
    """
    program = Program.parse(program) if isinstance(program, str) else program
    settings = Settings(start, hindsight, until)
    checked, atoms = prepare(program, background, settings)
    tick = program.syntax.tick
    batches = stream.with_tick(None if tick is None else tick.microseconds).batches()
    session = Session(checked, atoms, engine, settings)
    return picture_run(session, checked, batches, settings, Scene(to, view, at, only))


class Monitor(MonitorSession):
    """A program watched ahead of time: which of its shown atoms may come to hold, and when.

    It does not derive what holds now: that is what a reasoner does, which may run beside it.
    """

    def __init__(
        self,
        program: Program | str,
        background: Iterable[Atom | str] = (),
        *,
        start: int | None = None,
        follow: bool = True,
    ) -> None:
        self.program = Program.parse(program) if isinstance(program, str) else program
        super().__init__(*prepare(self.program, background), start=start, follow=follow)

    def append(self, t: int, facts: Iterable[Atom | str]) -> None:
        """Take in what happened at t; elements come in the order of their time points."""
        self.hear(RowBatch([Row(t, atom, 0) for atom in _atoms(facts)], t))


def hypothesize(
    program: Program | str,
    query: str,
    stream: Stream,
    *,
    at: int | None = None,
    background: Iterable[Atom | str] = (),
    start: int | None = None,
    limit: int | None = None,
) -> Iterator[HypotheticalAnswer]:
    """What may become true: answers with the evidence for them and what is still missing.

    At the time point `at`, or at each time point of the stream.
    """
    program = Program.parse(program) if isinstance(program, str) else program
    checked, atoms = prepare(program, background)
    parsed = parse_formula(query, tick=program.syntax.tick)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    elements = _elements(program, stream, at)
    first = stream.first_t if start is None else start
    return hypothetical_answers(checked, parsed.formula, elements, atoms, at, first, limit)


def _elements(program: Program, stream: Stream, to: int | None) -> list[tuple[int, Atom]]:
    tick = program.syntax.tick
    stream = stream.with_tick(None if tick is None else tick.microseconds)
    return [(row.t, row.atom) for row in stream.elements() if to is None or row.t <= to]


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
    atoms = frozenset(_atoms(background))
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

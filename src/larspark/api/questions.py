"""Questions to a program and a whole stream: runs, queries, explanations, pictures, hypotheses."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from larspark.analysis.check import formula_problems
from larspark.api.program import Program, open_session, prepare
from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Severity
from larspark.base.terms import Constant
from larspark.feeds import Stream
from larspark.language import parse_formula, parse_program, tree
from larspark.meaning.queries import query as query_elements
from larspark.run.hypothetical import HypotheticalAnswer
from larspark.run.hypothetical import Monitor as MonitorSession
from larspark.run.hypothetical import hypothesize as hypothetical_answers
from larspark.run.prepare import ground_atoms
from larspark.run.protocol import Settings
from larspark.run.replay import intervals, replay, up_to
from larspark.run.session import Session
from larspark.show.explain.explanation import Explanation, explain_atom, parse_goal
from larspark.show.timeline.picture import Picture, Scene, picture_run


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
    batches = stream.with_tick(program.tick).batches()
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
        self.hear(RowBatch([Row(t, atom, 0) for atom in ground_atoms(facts)], t))


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
    stream = stream.with_tick(program.tick)
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
    atoms = frozenset(ground_atoms(background))
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
    program = Program.parse(program) if isinstance(program, str) else program
    session = open_session(program, background, engine, Settings(start, hindsight, until))
    batches = stream.with_tick(program.tick).batches()
    pieces = replay(session, batches, to=to, hindsight=hindsight)
    rows = list(intervals(pieces))
    return pa.table(
        {
            "atom": pa.array([str(atom) for atom, _, _ in rows], pa.string()),
            "from": pa.array([begin for _, begin, _ in rows], pa.int64()),
            "to": pa.array([end for _, _, end in rows], pa.int64()),
        }
    )

"""Questions to a program and a whole stream: runs, queries, explanations, pictures, hypotheses."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import pyarrow as pa

from larspark.analysis.check import formula_problems
from larspark.api.program import Program, open_session, prepare
from larspark.api.time_texts import TimesAs, TimeTexts, time_column
from larspark.base.atoms import TIME_COLUMNS, Atom
from larspark.base.batch_cuts import up_to
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Problem, Severity, warn
from larspark.base.terms import Constant
from larspark.feeds import Stream, StreamOrTable, as_stream
from larspark.feeds.answer_columns import with_column_names
from larspark.feeds.time_options import TimeLike, time_option, zone_option
from larspark.language import parse_formula, parse_program, tree
from larspark.language.nodes import time_names
from larspark.meaning.queries import query as query_elements
from larspark.run.hypothetical import Hypotheses, HypotheticalAnswer, Precondition
from larspark.run.hypothetical import Monitor as MonitorSession
from larspark.run.hypothetical import hypothesize as hypothetical_answers
from larspark.run.joined_tables import joined_table
from larspark.run.prepare import ground_atoms
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.run.slices import replay_in_slices, usable_cores
from larspark.show.explain.explanation import Explanation, explain_atom, parse_goal
from larspark.show.run_notes import Arrivals, unmatched_notes
from larspark.show.timeline.picture import Picture, Scene, picture_run
from larspark.show.type_notes import ArgumentTypes


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
    stream: StreamOrTable,
    *,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    at: TimeLike,
    background: Iterable[Atom | str] = (),
    start: TimeLike | None = None,
    hindsight: bool = False,
    until: TimeLike | None = None,
    times: TimesAs = None,
    timezone: str | None = None,
) -> Explanation:
    """Why an atom holds at a time point of a stream, or what is missing for it."""
    program = Program.parse(program) if isinstance(program, str) else program
    stream = as_stream(stream, map).with_tick(program.tick).in_zone(zone_option(timezone))
    texts = TimeTexts(stream.options.tick, times, timezone)
    settings = Settings(texts.point(start), hindsight, texts.point(until))
    checked, atoms = prepare(program, background, settings)
    goal, when = parse_goal(str(atom), texts.known)
    moment = texts.known(at)
    elements = _elements(stream, None if hindsight else moment)
    if start is None:
        settings = settings._replace(start=stream.first_t)
    return explain_atom(
        checked,
        goal,
        moment,
        elements,
        atoms,
        settings=settings,
        when=when,
        times=texts.written(stream),
    )


def show(
    program: Program | str,
    stream: StreamOrTable,
    *,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    start: TimeLike | None = None,
    hindsight: bool = False,
    until: TimeLike | None = None,
    to: TimeLike | None = None,
    view: tuple[TimeLike, TimeLike] | None = None,
    at: TimeLike | None = None,
    only: Sequence[str] = (),
    times: TimesAs = None,
    timezone: str | None = None,
) -> Picture:
    """A run as a timeline: facts, what is derived from them, and the windows at a time point.

    Read and evaluated up to the time point `to`, drawn from the first to the last time point of
    `view`, and only for the predicates `only`, if any are named.
    """
    program = Program.parse(program) if isinstance(program, str) else program
    stream = as_stream(stream, map).with_tick(program.tick).in_zone(zone_option(timezone))
    texts = TimeTexts(stream.options.tick, times, timezone)
    settings = Settings(texts.point(start), hindsight, texts.point(until))
    checked, atoms = prepare(program, background, settings)
    session = Session(checked, atoms, engine, settings)
    drawn = None if view is None else (texts.known(view[0]), texts.known(view[1]))
    scene = Scene(texts.point(to), drawn, texts.point(at), only)
    written = texts.written(stream)
    return picture_run(session, checked, stream.batches(), settings, scene, written)


class Monitor(MonitorSession):
    """A program watched ahead of time: which of its shown atoms may come to hold, and when.

    It does not derive what holds now: that is what a reasoner does, which may run beside it.
    """

    def __init__(
        self,
        program: Program | str,
        background: Iterable[Atom | str] = (),
        *,
        start: TimeLike | None = None,
        follow: bool = True,
    ) -> None:
        self.program = Program.parse(program) if isinstance(program, str) else program
        first = None if start is None else time_option(start, self.program.tick)
        super().__init__(*prepare(self.program, background), start=first, follow=follow)

    def append(self, t: TimeLike, facts: Iterable[Atom | str]) -> None:
        """Take in what happened at t; elements come in the order of their time points."""
        moment = time_option(t, self.program.tick)
        self.hear(RowBatch([Row(moment, atom, 0) for atom in ground_atoms(facts)], moment))


def hypothesize(
    program: Program | str,
    query: str,
    stream: StreamOrTable,
    *,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    at: TimeLike | None = None,
    background: Iterable[Atom | str] = (),
    start: TimeLike | None = None,
    limit: int | None = None,
    timezone: str | None = None,
    unsupported: bool = False,
) -> Iterator[HypotheticalAnswer]:
    """What may become true: answers with the evidence for them and what is still missing.

    At the time point `at`, or at each time point of the stream. Times in the answers are time
    points. With `unsupported`, answers without evidence follow, their time points as variables.
    """
    program = Program.parse(program) if isinstance(program, str) else program
    stream = as_stream(stream, map).with_tick(program.tick).in_zone(zone_option(timezone))
    texts = TimeTexts(stream.options.tick, None, timezone)
    moment = texts.point(at)
    checked, atoms = prepare(program, background)
    parsed = parse_formula(query, tick=program.syntax.tick)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    elements = _elements(stream, moment)
    first = stream.first_t if start is None else texts.point(start)
    return hypothetical_answers(
        checked,
        parsed.formula,
        elements,
        atoms,
        moment,
        first,
        limit,
        unsupported=unsupported,
    )


def preconditions(
    program: Program | str, query: str, *, background: Iterable[Atom | str] = ()
) -> list[Precondition]:
    """The sets of facts that would give an answer to a query, before any fact has come.

    Windows lie within the timeline: an answer near its start can need fewer facts.
    """
    program = Program.parse(program) if isinstance(program, str) else program
    checked, atoms = prepare(program, background)
    parsed = parse_formula(query, tick=program.syntax.tick)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    return Hypotheses(checked, parsed.formula, atoms, start=0, follow=False).preconditions()


def _elements(stream: Stream, to: int | None) -> list[tuple[int, Atom]]:
    return [(row.t, row.atom) for row in stream.elements() if to is None or row.t <= to]


def query(
    formula: str,
    stream: StreamOrTable,
    *,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    at: TimeLike | None = None,
    background: Iterable[Atom | str] = (),
    start: TimeLike | None = None,
    until: TimeLike | None = None,
    tick: tree.Tick | str | int | None = None,
    times: TimesAs = None,
    timezone: str | None = None,
) -> list[dict[str, Constant | datetime]]:
    """The substitutions under which a formula holds at a time point of a stream.

    A ground formula gives `[{}]` for yes and `[]` for no. Without `at` the question is asked at
    every time point, and the answers carry the time point as `t`. Where the stream has timestamps,
    `t` and the variables of `@T` are timestamps, too. `tick` is how long one time point lasts: text
    such as `1 min`, or microseconds.
    """
    if isinstance(tick, int):
        tick = parse_tick(f"{tick} us")
    elif isinstance(tick, str):
        tick = parse_tick(tick)
    parsed = parse_formula(formula, tick=tick)
    problems = list(parsed.problems)
    if parsed.formula is not None:
        problems += formula_problems(parsed.formula)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors or parsed.formula is None:
        raise LarsparkError(errors)
    atoms = frozenset(ground_atoms(background))
    stream = as_stream(stream, map).with_tick(None if tick is None else tick.microseconds)
    stream = stream.in_zone(zone_option(timezone))
    texts = TimeTexts(stream.options.tick, times, timezone)
    elements = _elements(stream, None)
    first = stream.first_t if start is None else texts.point(start)
    last = stream.last_t if until is None else texts.point(until)
    found = query_elements(parsed.formula, elements, atoms, first, last, texts.point(at))
    written = texts.written(stream)
    named = {"t", *time_names(parsed.formula)} if written.stamps else frozenset[str]()
    return [
        {
            name: written.value(value) if name in named and isinstance(value, int) else value
            for name, value in answer.items()
        }
        for answer in found
    ]


def _warn_of_slips(session: Session, arrivals: Arrivals, types: ArgumentTypes) -> None:
    """Issue the warnings of a program, and of what its data does not fit."""
    checked = session.checked
    own = {atom.signature for _, atom in checked.elements}
    unmatched = unmatched_notes(checked.inputs - own, arrivals.signatures)
    for problem in checked.warnings:
        warn(problem)
    mixed = types.notes(checked.rules, session.background)
    for text in (*session.warnings, *unmatched, *mixed):
        warn(Problem("L434", text, severity=Severity.WARNING))


def run(
    program: Program | str,
    stream: StreamOrTable,
    *,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    start: TimeLike | None = None,
    to: TimeLike | None = None,
    hindsight: bool = False,
    until: TimeLike | None = None,
    times: TimesAs = None,
    timezone: str | None = None,
    jobs: int | None = None,
) -> pa.Table:
    """The whole timeline at once: maximal intervals as a table (atom, from, to).

    Where the program can be cut by time, `jobs` threads evaluate slices of a long stream, without
    it as many as there are cores.
    `from` and `to` are the first and the last time point: timestamps if those of the stream are.
    """
    program = Program.parse(program) if isinstance(program, str) else program
    stream = as_stream(stream, map).with_tick(program.tick).in_zone(zone_option(timezone))
    texts = TimeTexts(stream.options.tick, times, timezone)
    settings = Settings(texts.point(start), hindsight, texts.point(until))
    session = open_session(program, background, engine, settings)
    arrivals, types = Arrivals(), ArgumentTypes()
    pieces = replay_in_slices(
        session,
        stream.batches(),
        usable_cores() if jobs is None else jobs,
        to=texts.point(to),
        seen=[arrivals.add, types.add],
        in_tables=True,
    )
    answers = joined_table(pieces)
    _warn_of_slips(session, arrivals, types)
    written = texts.written(stream)
    for place, name in enumerate(TIME_COLUMNS, 1):
        answers = answers.set_column(place, name, time_column(answers[name], written))
    return with_column_names(answers, program.syntax.shown_columns)

"""Reasoners: pieces of a stream in, answers out."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from larspark.api.program import Program, prepare
from larspark.base.atoms import Atom, atom_text
from larspark.base.disk import Disk
from larspark.base.facts import AnyBatch, Row, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds import Stream, parse_ground_atom
from larspark.feeds.live import LiveStream
from larspark.feeds.time_format import TimeFormat, TimeValue
from larspark.feeds.time_options import TimeLike, is_number, time_option
from larspark.run.history import History
from larspark.run.prepare import ground_atoms
from larspark.run.protocol import Answers, Model, Settings
from larspark.run.replay import live
from larspark.run.session import Session, read_session
from larspark.run.state import MALFORMED, unreadable
from larspark.show.explain.explanation import Explanation, explain_atom, parse_goal
from larspark.show.notebook import answer_html


class Answer(NamedTuple):
    """The output at a time point; `atoms` is None when there is no answer stream.

    `t` is a timestamp where time points were given as timestamps.
    """

    t: TimeValue
    atoms: frozenset[Atom] | None
    added: frozenset[Atom]
    removed: frozenset[Atom]

    def _repr_html_(self) -> str:
        return answer_html(self.t, self.atoms, self.added, self.removed)


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
        start: TimeLike | None = None,
        hindsight: bool = False,
        until: TimeLike | None = None,
        time_limit: float | None = None,
        incremental: bool = False,
    ) -> None:
        self.program = Program.parse(program) if isinstance(program, str) else program
        self._stamped = False
        first = None if start is None else self._point(start)
        last = None if until is None else self._point(until)
        settings = Settings(first, hindsight, last, time_limit=time_limit, incremental=incremental)
        self._prepared = prepare(self.program, background, settings)
        self._settings = settings
        self.session = Session(*self._prepared, engine, settings)
        self._history = History(self._prepared.checked.lookback)
        self._last: frozenset[Atom] = frozenset()
        self._times = TimeFormat(self.program.tick)

    def append(
        self,
        t: TimeLike,
        facts: Iterable[Atom | str] | Tabular,
        *,
        map: str | None = None,  # noqa: A002 - the same as the option `--map`
    ) -> None:
        """Take in what happened at t, a time point or a timestamp, in the order of time.

        Facts are atoms or their text; or the rows of a pyarrow table, a pandas or polars data
        frame, with the atoms that its columns make: `map="temp(sensor, value)"`.
        """
        t = self._point(t)
        if isinstance(facts, Tabular):
            if map is None:
                hint = 'such as `map="temp(sensor, value)"`'
                raise LarsparkError(Problem("L303", "a table needs a mapping to atoms", hint=hint))
            for batch in Stream.from_table(facts, map=map, at=t).batches():
                self._append(batch)
            facts = ()
        self._append(RowBatch([Row(t, atom, 0) for atom in ground_atoms(facts)], t))

    def append_stream(self, stream: Stream) -> None:
        """Take in a whole stream, such as `Stream.from_table(table, map="t -> temp(s, v)")`."""
        stream = stream.with_tick(self.program.tick)
        for batch in stream.batches():
            self._append(batch)
            self._hear(stream)

    def _hear(self, stream: Stream) -> None:
        """Write times as those of the stream."""
        if stream.timestamps and not self._stamped:
            self._stamped = True
            self._times = TimeFormat(stream.options.tick)

    def _point(self, time: TimeLike) -> int:
        if not is_number(time):
            self._stamped = True
        return time_option(time, self.program.tick)

    def _append(self, batch: AnyBatch) -> None:
        self.session.append(batch)
        self._history.append(batch)

    def advance(self, t: TimeLike) -> Iterator[Answer]:
        """The answers for every time point after the last advance, up to t."""
        yield from self._answers(self.session.advance(self._point(t)))

    def _answers(self, found: Answers) -> Iterator[Answer]:
        points = found.points()
        while True:
            # Another thread may advance the reasoner meanwhile.
            with self.session.lock:
                point = next(points, None)
            if point is None:
                return
            now = point.atoms if point.atoms is not None else frozenset()
            t = self._times.value(point.t) if self._stamped else point.t
            yield Answer(t, point.atoms, now - self._last, self._last - now)
            self._last = now

    def follow(self, stream: LiveStream) -> Iterator[Answer]:
        """The answers while a live stream comes, each when its time point is over.

        `stream.stop()` ends it: all that has arrived is still answered.
        """
        stream = stream.with_tick(self.program.tick)
        for piece in live(self.session, stream, seen=[self._history.append]):
            self._hear(stream)
            yield from self._answers(piece)

    def models(self, at: TimeLike, limit: int | None = None) -> list[Model]:
        """All answer streams at a time point, or the first ones."""
        return list(self.session.models(self._point(at), limit))

    def closest(self, at: TimeLike) -> Model | None:
        """The answer stream at a time point that `advance` would follow; None without one."""
        return self.session.closest(self._point(at))

    def count(self, at: TimeLike) -> int:
        """How many answer streams there are at a time point."""
        return self.session.count(self._point(at))

    def cautious(self, at: TimeLike) -> Model | None:
        """What every answer stream at a time point holds; None without one."""
        return self.session.cautious(self._point(at))

    def brave(self, at: TimeLike) -> Model | None:
        """What at least one answer stream at a time point holds; None without one."""
        return self.session.brave(self._point(at))

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know about the answers, such as that one of several is followed."""
        return self.session.notes

    def explain(self, atom: Atom | str, at: TimeLike | None = None) -> Explanation:
        """Why an atom holds at a time point (the last one answered), or what is missing."""
        moment = self.session.answered if at is None else self._point(at)
        if moment is None:
            raise LarsparkError(Problem("L409", "nothing was answered yet"))
        self._history.check(moment)
        goal, when = parse_goal(str(atom), self._point)
        settings = self._settings._replace(start=self.session.start)
        elements = self._history.elements()
        return explain_atom(
            self._prepared.checked,
            goal,
            moment,
            elements,
            self._prepared.background,
            settings=settings,
            when=when,
            times=self._times if self._stamped else None,
        )

    def stats(self) -> dict[str, int]:
        """What the engine holds and has done, by name; each engine counts what matters to it."""
        return self.session.stats()

    def save(self, path: str | Path) -> None:
        """Write the state to a file, which is replaced only when all of it is on the disk."""
        holding = sorted(map(atom_text, self._last))
        owner = {"holding": holding, "timestamps": self._stamped}
        Disk().replace(Path(path), self.session.save(owner))

    @classmethod
    def restore(
        cls, path: str | Path, program: Program | str, background: Iterable[Atom | str] = ()
    ) -> "Reasoner":
        """Go on from a saved state; the program must be the one that was saved.

        What arrived before is in the state of the engine; it cannot be explained any more.
        """
        state = Path(path).read_bytes()
        saved, whole = read_session(state)
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
        reasoner.session.restore(state)
        reasoner._history.forget_up_to(saved.latest)
        try:
            # Without it, everything that holds would be reported as new.
            owner = whole.state.values["owner"]
            reasoner._last = frozenset(map(parse_ground_atom, owner["holding"]))
            reasoner._stamped = bool(owner["timestamps"])
        except (*MALFORMED, LarsparkError) as error:
            raise unreadable(error) from error
        return reasoner

"""Reasoners: pieces of a stream in, answers out."""

import copy
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, cast

from larspark.api.answer import Answer, Difference, Output, Unread
from larspark.api.program import Program, prepare
from larspark.base.atoms import Atom, atom_text
from larspark.base.disk import Disk
from larspark.base.problems import LarsparkError, Problem, warn
from larspark.base.terms import Constant
from larspark.feeds import (
    PointTables,
    Stream,
    StreamOrTable,
    as_stream,
    atom_of_values,
    parse_ground_atom,
)
from larspark.feeds.live import LiveStream
from larspark.feeds.time_format import TimeFormat, TimeValue
from larspark.feeds.time_options import (
    DurationLike,
    TimeLike,
    duration_option,
    is_number,
    time_option,
)
from larspark.run.history import History
from larspark.run.new_rules import RuleChange, check_replacement, replace_rules
from larspark.run.prepare import ground_atoms
from larspark.run.protocol import Answers, Model, Settings, SteppedAnswers
from larspark.run.replay import live
from larspark.run.session import Session, read_session
from larspark.run.state import MALFORMED, unreadable
from larspark.show.explain.explanation import Explanation, explain_atom, parse_goal
from larspark.show.run_notes import unmatched_notes

# What a fact is given as: an atom, its text, or a predicate and its arguments.
Fact: TypeAlias = Atom | str | tuple[Constant, ...]

# Texts of atoms are parsed once, as long as there are not too many.
_TEXTS_KEPT = 10_000

# So many facts are kept for explanations and other rules where the program looks back without
# bound and nothing else is asked for: about 20 MB.
_MOST_KEPT = 100_000


class Reasoner:
    """A program evaluated on a stream that arrives piece by piece."""

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
        keep: DurationLike | None = None,
    ) -> None:
        self.program = Program.parse(program) if isinstance(program, str) else program
        tick = self.program.tick
        first = None if start is None else time_option(start, tick)
        last = None if until is None else time_option(until, tick)
        settings = Settings(first, hindsight, last, time_limit=time_limit, incremental=incremental)
        self._given = tuple(ground_atoms(background))
        prepared = prepare(self.program, self._given, settings)
        for problem in prepared.checked.warnings:
            warn(problem)
        self._engine = engine
        self.session = Session(*prepared, engine, settings)
        kept = None if keep is None else duration_option(keep, self.program.tick)
        lookback = prepared.checked.lookback
        saved = keep is not None
        self.session.history = History(lookback, first, kept, most=_MOST_KEPT, saved=saved)
        # What held at the last answer, where the engine does not say what changed.
        self._last: AbstractSet[Atom] = frozenset()
        # The time point of the last answer when the rules were replaced, and what held by then.
        self._replaced: tuple[int | None, frozenset[Atom]] = (None, frozenset())
        self._times, self._stamped = TimeFormat(tick), False
        if not all(each is None or is_number(each) for each in (start, until)):
            self._stamp(self._times)
        # Whether all facts came to this session, and not to one that was saved or replaced.
        self._whole = True
        self._output = Output(self._holding)
        # Answers that were not read before the next advance, to be read later.
        self._unread: Unread | None = None
        self._texts: dict[str, Atom] = {}
        self._tables = PointTables()

    def append(
        self,
        t: TimeLike,
        facts: Iterable[Fact] | Any,
        *,
        map: str | None = None,  # noqa: A002 - the same as the option `--map`
    ) -> None:
        """Take in what happened at t, a time point or a timestamp, in the order of time.

        Facts are atoms, their text, or tuples of a predicate and its arguments; or the rows of a
        pyarrow table, a pandas or polars data frame, with the atoms that its columns make:
        `map="temp(sensor, value)"`.
        """
        if type(t) is not int:
            t = self._point(t)
        if hasattr(facts, "__arrow_c_stream__"):
            if map is None:
                hint = 'such as `map="temp(sensor, value)"`'
                raise LarsparkError(Problem("L303", "a table needs a mapping to atoms", hint=hint))
            self._append_table(t, facts, map)
            return
        atoms = [fact if type(fact) is Atom else self._atom(fact) for fact in facts]
        self.session.append_atoms(t, atoms)

    def _append_table(self, t: int, table: Any, map: str) -> None:  # noqa: A002
        """Take in the rows of a table; most Arrow tables need no conversion."""
        atoms = self._tables.atoms(table, map)
        if atoms is not None:
            self.session.append_atoms(t, atoms)
            return
        batch = self._tables.batch(table, map, t, self.session.next_seq)
        if batch is not None:
            self.session.append(batch)
            return
        for converted in Stream.from_table(table, map=map, at=t).batches():
            self.session.append(converted)

    def _atom(self, fact: Fact) -> Atom:
        """The atom of a text or a tuple."""
        if not isinstance(fact, str):
            return atom_of_values(fact)
        known = self._texts.get(fact)
        if known is None:
            if len(self._texts) >= _TEXTS_KEPT:
                self._texts.clear()
            known = self._texts[fact] = parse_ground_atom(fact)
        return known

    def extend(
        self,
        stream: StreamOrTable,
        *,
        map: str | None = None,  # noqa: A002 - the same as the option `--map`
    ) -> None:
        """Take in a stream, or rows of several time points: `extend(df, map="t -> temp(s, v)")`."""
        stream = as_stream(stream, map).with_tick(self.program.tick)
        for batch in stream.batches():
            self.session.append(batch)
            self._hear(stream)

    def _hear(self, stream: Stream) -> None:
        """Write times in the format of the stream."""
        if stream.timestamps and not self._stamped:
            self._stamp(TimeFormat(stream.options.tick))

    def _stamp(self, times: TimeFormat) -> None:
        """Write times as timestamps from now on."""
        self._stamped, self._times = True, times
        self.session.write_times(times)

    def _point(self, time: TimeLike) -> int:
        if not is_number(time) and not self._stamped:
            self._stamp(self._times)
        return time_option(time, self.program.tick)

    def advance(self, t: TimeLike) -> Iterator[Answer]:
        """The answers for every time point after the last advance, up to t.

        The reasoner advances at once; answers that are not read now can still be read later.
        """
        if type(t) is not int:
            t = self._point(t)
        # Another thread may use the reasoner meanwhile.
        session = self.session
        with session.lock:
            if self._unread is not None:
                self._unread.keep()
                self._unread = None
            changes = session.step(t)
            if changes is not None:
                when = self._shown(t) if self._stamped else t
                return iter((self._output.next(changes, when, several=False),))
            self._output.prepare()
            return self._read(session.advance(t))

    def _read(self, found: Answers) -> Iterator[Answer]:
        """The answers one by one."""
        # After `until` there are no answers, and nothing has changed.
        if self.session.stepping is not None and found.first <= found.last:
            steps = cast(SteppedAnswers, found).steps()
            unread = Unread(
                self._output.next(each, self._shown(each.t), several=True) for each in steps
            )
        else:
            unread = Unread(self._compared(found))
        self._unread = unread
        return unread

    def _compared(self, found: Answers) -> Iterator[Answer]:
        """The answers of an engine that does not say what changed."""
        for point in found.points():
            now = point.atoms if point.atoms is not None else frozenset()
            before, self._last = self._last, now
            yield Answer(self._shown(point.t), Difference(before, now), point.atoms)

    def _shown(self, t: int) -> TimeValue:
        """A time point as answers have it: a timestamp where timestamps were given."""
        return self._times.value(t) if self._stamped else t

    @property
    def _history(self) -> History:
        """The facts that are kept; every reasoner has some."""
        return cast(History, self.session.history)

    def _holding(self) -> AbstractSet[Atom]:
        """The atoms that hold at the time point up to which the engine has answered."""
        engine = self.session.stepping
        return frozenset() if engine is None else engine.holding()

    def follow(self, stream: LiveStream) -> Iterator[Answer]:
        """The answers to a live stream, each when its time point has ended.

        `stream.stop()` ends it: all that has arrived is still answered.
        """
        stream = stream.with_tick(self.program.tick)
        if self._unread is not None:
            self._unread.keep()
        self._output.prepare()
        for piece in live(self.session, stream):
            self._hear(stream)
            with self.session.lock:
                answers = self._read(piece)
            yield from answers

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
        """Notes on the answers so far.

        That one of several is followed; numbers that were compared with texts; calculations that
        never had a value; facts that the program does not read, where it reads similar ones.
        """
        session = self.session
        checked = session.checked
        own = {atom.signature for _, atom in checked.elements}
        came = session.came if self._whole else frozenset()
        unmatched = unmatched_notes(checked.inputs - own, came) if came else []
        limited = session.settings.time_limit is None or session.kind.time_limit
        limit = (
            () if limited else (f"the engine `{session.kind.name}` evaluates without a time limit",)
        )
        return (*session.notes, *limit, *session.warnings, *unmatched)

    def explain(self, atom: Atom | str, at: TimeLike | None = None) -> Explanation:
        """Why an atom holds at a time point (the last one answered), or what is missing."""
        moment = self.session.answered if at is None else self._point(at)
        if moment is None:
            raise LarsparkError(Problem("L409", "nothing was answered yet"))
        session = self.session
        self._history.check(moment)
        goal, when = parse_goal(str(atom), self._point)
        settings = session.settings._replace(start=session.start)
        elements = self._history.elements()
        return explain_atom(
            session.checked,
            goal,
            moment,
            elements,
            session.background,
            settings=settings,
            when=when,
            times=self._times if self._stamped else None,
        )

    def stats(self) -> dict[str, int]:
        """What the engine holds and has done, by name; each engine counts what matters to it."""
        return self.session.stats()

    def replace(
        self, program: Program | str, background: Iterable[Atom | str] | None = None
    ) -> RuleChange:
        """Go on with other rules, from the time point after the last answer on.

        The answers from there on are those of the new program over the whole stream, as far as the
        facts are kept that it looks back to: those that the windows of the old program can see, and
        with `keep` all that lie so many time points back. What is returned says which atoms the new
        rules add and remove at the last answer, and what could not be rebuilt. A program that
        cannot take over is an error, and the old one stays. The background data stays, too, unless
        there is other.
        """
        new = Program.parse(program) if isinstance(program, str) else program
        check_replacement(self.program.syntax, new.syntax)
        given = self._given if background is None else tuple(ground_atoms(background))
        session = self.session
        with session.lock:
            if self._unread is not None:
                self._unread.keep()
                self._unread = None
            # Several programs may follow each other between two answers.
            t, before = self._replaced
            if t is None or t != session.answered:
                before = session.output()
            prepared = prepare(new, given, session.settings)
            change = replace_rules(session, prepared, self._engine)
            self._replaced = session.answered, before
            self._output.replaced(before)
            self._last, self._whole = before, False
            if self._stamped:
                session.write_times(self._times)
        self.program, self._given = new, given
        return change

    def save(self, path: str | Path) -> None:
        """Write the state to a file, which is replaced only when all of it is on the disk.

        With `keep` the facts that are kept are in it, too.
        """
        owner = {
            "holding": sorted(map(atom_text, self._last)),
            "timestamps": self._stamped,
            "engine": self._engine,
        }
        Disk().replace(Path(path), self.session.save(owner))

    @classmethod
    def restore(
        cls, path: str | Path, program: Program | str, background: Iterable[Atom | str] = ()
    ) -> "Reasoner":
        """Go on from a saved state; the program must be the one that was saved.

        What arrived before is in the state of the engine; it cannot be explained any more, and
        other rules do not see it, unless it was kept by `keep`.
        """
        state = Path(path).read_bytes()
        saved, whole = read_session(state)
        reasoner = cls._with_settings(program, background, saved.engine, saved.settings)
        reasoner.session.restore(state)
        try:
            # Without it, everything that holds would be reported as new.
            owner = whole.state.values["owner"]
            reasoner._last = frozenset(map(parse_ground_atom, owner["holding"]))
            reasoner._whole = False
            if owner["timestamps"]:
                reasoner._stamp(reasoner._times)
            reasoner._engine = str(owner.get("engine", saved.engine))
            if reasoner.session.stepping is None:
                reasoner.session.reached(saved.answered, saved.latest, reasoner._last)
        except (*MALFORMED, LarsparkError) as error:
            raise unreadable(error) from error
        return reasoner

    @classmethod
    def _with_settings(
        cls, program: Program | str, background: Iterable[Atom | str], engine: str, given: Settings
    ) -> "Reasoner":
        return cls(
            program,
            background,
            engine=engine,
            start=given.start,
            hindsight=given.hindsight,
            until=given.until,
            time_limit=given.time_limit,
            incremental=given.incremental,
        )

    def __copy__(self) -> "Reasoner":
        """The same as a deep copy: two reasoners cannot share what an engine holds."""
        return copy.deepcopy(self)

    def __reduce__(self) -> NoReturn:
        """A reasoner is not pickled."""
        raise TypeError("a reasoner cannot be pickled; `save` and `Reasoner.restore` do that")

    def __deepcopy__(self, memo: dict[int, object]) -> "Reasoner":
        """An independent copy, without the answers that were not read."""
        session = self.session
        other = self._with_settings(
            self.program, session.background, session.kind.name, session.settings
        )
        other.session.restore(session.save())
        other.session.history = self._history.copy()
        other.session.reached(session.answered, session.latest, session.output())
        other._last, other._given, other._engine = self._last, self._given, self._engine
        other._whole = False
        if self._stamped:
            other._stamp(self._times)
        return other

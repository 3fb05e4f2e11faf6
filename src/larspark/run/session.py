"""A session: one run of a program by an engine, with what is saved and restored of it."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from time import monotonic
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.facts import AnyBatch, PointBatch, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.time_format import TimeFormat
from larspark.language import program_text
from larspark.logic.values import noticing_mixed
from larspark.run.admission import Admission, check_range
from larspark.run.diagnostics import Diagnostics
from larspark.run.history import History
from larspark.run.protocol import Answers, Engine, Model, Settings, SliceEngine, Step, StepEngine
from larspark.run.registry import engine_kind, make_engine
from larspark.run.state import (
    FURTHEST,
    MALFORMED,
    SavedState,
    State,
    atom_fields,
    atom_of,
    optional_time,
    program_identity,
    refused,
    unreadable,
    whole_number,
)

_KIND = "session"
_HISTORY = "history"
P = ParamSpec("P")
R = TypeVar("R")


class SessionHeader(NamedTuple):
    """What a session knows beside its engine."""

    engine: str
    settings: Settings
    start: int | None
    answered: int | None
    latest: int | None
    next_seq: int


def read_session(data: bytes) -> tuple[SessionHeader, SavedState]:
    """A saved session, checked as far as that needs no program."""
    saved = SavedState.from_bytes(data, _KIND)
    try:
        engine, settings, *others = saved.state.values["session"]
        header = SessionHeader(engine, _settings(*settings), *others)
        for time in (header.start, header.answered, header.latest):
            optional_time(time)
        whole_number(header.next_seq, 0, 2**62)
    except MALFORMED as error:
        raise unreadable(error) from error
    return header, saved


def _settings(*values: object) -> Settings:
    """Settings of a saved state, each with a value that it can have."""
    settings = Settings(*values)  # type: ignore[arg-type]
    optional_time(settings.start)
    optional_time(settings.until)
    limit = settings.time_limit
    if limit is not None and not (isinstance(limit, int | float) and limit > 0):
        raise ValueError(f"{limit!r} is no time limit")
    if not all(isinstance(flag, bool) for flag in _flags(settings)):
        raise ValueError("a setting is neither true nor false")
    return settings


def _flags(settings: Settings) -> tuple[object, ...]:
    return settings.hindsight, settings.push, settings.incremental


def _alone(
    method: Callable[Concatenate["Session", P], R],
) -> Callable[Concatenate["Session", P], R]:
    """Let one thread at a time run a method: engines work on shared arrays."""

    @wraps(method)
    def alone(self: "Session", /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **kwargs)

    return alone


class Session:
    """One run of a program over a stream.

    Its methods wait for each other when several threads call them. Answers are built on demand, so
    who reads them while other threads use the session holds `lock` meanwhile.
    """

    def __init__(
        self,
        checked: Checked,
        background: Iterable[Atom] = (),
        engine: str = "auto",
        settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
    ) -> None:
        if checked.endless and settings.until is None:
            message = "the program can place atoms ever further into the future"
            raise LarsparkError(Problem("L405", message, hint="say where time ends with `until`"))
        check_range((settings.until,))
        self.lock = threading.RLock()
        self.checked = checked
        self.background = frozenset(background)
        self.settings = settings
        self._admission = Admission(checked, settings.start)
        # When the evaluation began that is going on.
        self.evaluating_since: float | None = None
        # What is kept for explanations and other rules, where somebody wants them.
        self.history: History | None = None
        # What the last answer holds, of an engine that does not know it, with a history.
        self._output: frozenset[Atom] = frozenset()
        self.kind = engine_kind(engine, checked, settings)
        self._diagnostics = Diagnostics()
        self.engine: Engine = make_engine(self.kind, checked, self.background, settings)
        self.stepping = cast(StepEngine, self.engine) if self.kind.steps else None

    @property
    def start(self) -> int | None:
        """The first time point of the timeline; None before it is known."""
        return self._admission.start

    @property
    def answered(self) -> int | None:
        """The last time point that was answered."""
        return self._admission.answered

    @property
    def latest(self) -> int | None:
        """The last time point that the input has reached."""
        return self._admission.latest

    @property
    def next_seq(self) -> int:
        """The number of the next element that arrives."""
        return self._admission.next_seq

    @property
    def last_own(self) -> int | None:
        """The last time point of the program's own elements."""
        return self._admission.last_own

    @cached_property
    def identity(self) -> str:
        """The identity of the program and its background data."""
        return self.identity_of(self.checked, self.background)

    @staticmethod
    def identity_of(checked: Checked, background: Iterable[Atom]) -> str:
        """The identity of a session of this program."""
        return program_identity(program_text(checked.program), map(atom_text, background))

    @property
    def came(self) -> frozenset[Signature]:
        """The predicates of the facts that came, not those of the program itself."""
        return self._admission.came

    def write_times(self, times: TimeFormat) -> None:
        """From now on messages write time points so."""
        self._admission.times = times

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user, such as that the run follows one of several models."""
        return tuple(self.engine.notes)

    @property
    def warnings(self) -> list[str]:
        """Warnings about data that the program does not handle."""
        return list(self.engine.warnings) or self._diagnostics.warnings()

    def forget_warnings(self) -> None:
        """Leave out what was counted so far for warnings; for engines of slices."""
        self._diagnostics.clear()
        cast(SliceEngine, self.engine).diagnostics.clear()

    def include_warnings(self, later: "Session") -> None:
        """Warn also of what a later slice of the run has met."""
        self._diagnostics.include(later._diagnostics)
        mine, others = cast(SliceEngine, self.engine), cast(SliceEngine, later.engine)
        mine.diagnostics.include(others.diagnostics)

    def append_atoms(self, t: int, atoms: Sequence[Atom]) -> None:
        """Take in what happened at t; the same as a batch of these atoms, in less time."""
        with self.lock:
            admission, stepping = self._admission, self.stepping
            if not admission.admits_at(t):
                self.append(PointBatch(t, atoms, admission.next_seq))
                return
            seq, check = admission.next_seq, admission.check_atoms
            if stepping is None or not stepping.take(t, atoms, seq, check):
                check(atoms)
                self.engine.append(PointBatch(t, atoms, seq))
            admission.latest, admission.next_seq = t, seq + len(atoms)
            if self.history is not None:
                self.history.append_point(t, atoms, seq, admission.answered)

    @_alone
    def append(self, batch: AnyBatch) -> None:
        """Take elements in, in time order and none before what was already answered."""
        admitted = self._admission.admit(batch)
        self.engine.append(admitted.batch)
        if self.history is not None:
            self.history.append(admitted.given, self.answered)

    def step(self, t: int) -> Step | None:
        """What changes at t, if that is the next time point and can be run in one call.

        None means that nothing happened and `advance` is needed. The caller holds the lock.
        """
        engine, admission = self.stepping, self._admission
        if engine is None or admission.own or t > FURTHEST:
            return None
        changes = engine.step(t)
        if changes is not None:
            admission.answered = t
            admission.reached(t)
        return changes

    @_alone
    def advance(self, t: int) -> Answers:
        """The answers for every time point after the last advance, up to t."""
        check_range((t,))
        self._reach(t)
        self._admission.answered = t
        self.evaluating_since = monotonic()
        try:
            with noticing_mixed(self._diagnostics.add_mixed):
                answers = self.engine.advance(t)
        finally:
            self.evaluating_since = None
        if self.history is not None and self.stepping is None and answers.first <= answers.last:
            *_, last = answers.points()
            self._output = last.atoms or frozenset()
        return answers

    def output(self) -> frozenset[Atom]:
        """What the last answer holds; only a session with a history knows."""
        return self._output if self.stepping is None else self.stepping.holding()

    def reached(self, t: int | None, latest: int | None, output: frozenset[Atom]) -> None:
        """Answers up to t were given, by other rules, and the last one is taken to hold this."""
        self._admission.answered, self._output = t, output
        self._admission.reached(latest)

    def begun_at(self, start: int | None) -> None:
        """The run as a whole, of which this session is a part, began at this time point."""
        self._admission.start = start

    @_alone
    def go_on_as(self, other: "Session") -> None:
        """Become another session, which has answered up to the same time point."""
        lock = self.lock
        self.__dict__.clear()
        self.__dict__.update(other.__dict__, lock=lock)

    def models(self, at: int, limit: int | None = None) -> Iterator[Model]:
        """The answer streams at a time point that was not passed yet, in a fixed order."""
        with self.lock:
            self._reach(at)
            found = self.engine.models(at, limit)
        while True:
            with self.lock:
                model = next(found, None)
            if model is None:
                return
            yield model

    @_alone
    def closest(self, at: int) -> Model | None:
        """The answer stream at a time point that a run would follow; None without one."""
        self._reach(at)
        return self.engine.closest(at)

    @_alone
    def count(self, at: int) -> int:
        """How many answer streams there are at a time point."""
        self._reach(at)
        return self.engine.count(at)

    @_alone
    def cautious(self, at: int) -> Model | None:
        """What every answer stream at a time point holds; None without one."""
        self._reach(at)
        return self.engine.cautious(at)

    @_alone
    def brave(self, at: int) -> Model | None:
        """What at least one answer stream at a time point holds; None without one."""
        self._reach(at)
        return self.engine.brave(at)

    @_alone
    def stats(self) -> dict[str, int]:
        """What the engine holds and has done, by name; each engine counts what matters to it."""
        return self.engine.stats()

    @_alone
    def save(self, owner: Mapping[str, object] | None = None) -> bytes:
        """The whole state, from which `restore` continues, with values of the session's owner."""
        header = SessionHeader(
            self.kind.name,
            self.settings,
            self.start,
            self.answered,
            self.latest,
            self.next_seq,
        )
        engine, history = self.engine.save(), self.history
        values: dict[str, Any] = {"session": header, "engine": engine.values}
        values["owner"] = dict(owner or {})
        arrays = engine.arrays
        if history is not None and history.saved:
            values["output"] = [atom_fields(a) for a in sorted(self.output(), key=atom_text)]
            arrays = {**arrays, _HISTORY: history.save()}
        return SavedState(_KIND, self.identity, State(values, arrays)).to_bytes()

    @_alone
    def restore(self, data: bytes) -> None:
        """Continue from a saved state of the same program, engine and settings."""
        header, saved = read_session(data)
        if saved.program != self.identity:
            raise refused("the saved state belongs to another program or other background data")
        if header.engine != self.kind.name:
            raise refused(f"the saved state belongs to the engine `{header.engine}`")
        if header.settings != self.settings:
            raise refused("the saved state was made with other settings")
        values, arrays = saved.state.values, saved.state.arrays
        try:
            kept, output = saved_history(saved, self.checked)
            own = {name: array for name, array in arrays.items() if name != _HISTORY}
            self.engine.restore(State(values["engine"], own))
        except MALFORMED as error:
            raise unreadable(error) from error
        if self.history is not None:
            self.history.forget_up_to(header.latest)
            self.history = kept or self.history
        self._output = output
        self._admission.resume(header.start, header.answered, header.latest, header.next_seq)

    def _reach(self, t: int) -> None:
        """Time moves on to t, which must not lie before what was answered."""
        self._admission.check_not_passed(t)
        if self.latest is None or self.latest < t:
            self.append_atoms(t, ())
        last_own = self.last_own
        if self.settings.hindsight and self._admission.own and last_own is not None:
            # What the program says of later time points is known, too.
            self.append(RowBatch((), last_own))


def saved_history(saved: SavedState, checked: Checked) -> tuple[History | None, frozenset[Atom]]:
    """The history of a saved session, if it has one, and what the last answer held."""
    array = saved.state.arrays.get(_HISTORY)
    if array is None:
        return None, frozenset()
    output = frozenset(map(atom_of, saved.state.values["output"]))
    return History.restored(checked.lookback, array.astype(np.uint8)), output

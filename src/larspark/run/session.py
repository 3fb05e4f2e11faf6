"""A session feeds an engine: it keeps order, merges the program's own elements, and checks.

What the session refuses it refuses whole: a batch is either taken or leaves nothing behind.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from time import monotonic
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from larspark.analysis.checked import Checked
from larspark.base.arrow_numpy import numpy_array
from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.facts import AnyBatch, ColumnBatch, PointBatch, Row, RowBatch, Segment
from larspark.base.problems import LarsparkError, Problem
from larspark.language import program_text
from larspark.run.history import History
from larspark.run.protocol import Answers, Engine, Model, Settings, Step, StepEngine
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
        _within_range((settings.start, settings.until, *(t for t, _ in checked.elements)))
        self.lock = threading.RLock()
        self.checked = checked
        self.background = frozenset(background)
        self.settings = settings
        self._own = sorted(checked.elements, key=lambda element: element.t)
        self.last_own = self._own[-1].t if self._own else None
        # The number of the next element that arrives.
        self.next_seq = 0
        self.latest: int | None = None
        # The timeline starts with the first time point that is heard of, unless it was given.
        self.start = settings.start
        self.answered: int | None = None
        # When the evaluation began that is going on.
        self.evaluating_since: float | None = None
        # Predicates that the stream may hold, as far as it did.
        self._admitted: set[tuple[str, int]] = set()
        # What is kept for explanations and other rules, where somebody wants them.
        self.history: History | None = None
        # What the last answer holds, of an engine that does not know it, with a history.
        self._output: frozenset[Atom] = frozenset()
        self.kind = engine_kind(engine, checked, settings)
        self.engine: Engine = make_engine(self.kind, checked, self.background, settings)
        self.stepping = cast(StepEngine, self.engine) if self.kind.steps else None

    @cached_property
    def identity(self) -> str:
        """What tells the program and its background data from all others."""
        return self.identity_of(self.checked, self.background)

    @staticmethod
    def identity_of(checked: Checked, background: Iterable[Atom]) -> str:
        """The identity of a session of this program."""
        return program_identity(program_text(checked.program), map(atom_text, background))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about the run, such as that it follows one of several models."""
        return tuple(self.engine.notes)

    @property
    def warnings(self) -> list[str]:
        """What the data gave that the program does not handle."""
        return list(self.engine.warnings)

    def append_atoms(self, t: int, atoms: Sequence[Atom]) -> PointBatch:
        """Take in what happened at t; the same as a batch of these atoms, in less time."""
        with self.lock:
            batch = PointBatch(t, atoms, self.next_seq)
            latest, start = self.latest, self.start
            in_order = latest is not None and latest <= t <= FURTHEST and t != self.answered
            if not in_order or self._own or start is None or t < start:
                self.append(batch)
                return batch
            admitted = self._admitted
            for predicate, args in atoms:
                if (predicate, len(args)) not in admitted:
                    self._admit(Signature(predicate, len(args)))
            self.latest = t
            self.next_seq += len(atoms)
            self.engine.append(batch)
            if self.history is not None:
                self.history.append(batch, self.answered)
            return batch

    def _admit(self, signature: Signature) -> None:
        if signature in self.checked.derived:
            raise LarsparkError(derived_in_stream(signature))
        self._admitted.add((signature.predicate, signature.arity))

    @_alone
    def append(self, batch: AnyBatch) -> None:
        """Take elements in, in time order and none before what was already answered."""
        first = self._check(batch)
        _within_range((first, batch.last_t))
        if self.start is None:
            heard = [t for t in (first, batch.last_t) if t is not None]
            heard += [element.t for element in self._own[:1]]
            self.start = min(heard, default=None)
        batch = given = self._from_start(batch)
        if batch.last_t is not None and self._own and self._own[0].t <= batch.last_t:
            batch = self._with_own_elements(batch, batch.last_t)
        if batch.last_t is not None:
            # Elements may reach further than the time point that answers are asked for.
            latest = self.latest
            self.latest = batch.last_t if latest is None else max(batch.last_t, latest)
        batch = batch.numbered_from(self.next_seq)
        self.next_seq += len(batch)
        self.engine.append(batch)
        if self.history is not None:
            self.history.append(given, self.answered)

    def step(self, t: int) -> Step | None:
        """What changes at t, if that is the next time point and can be run in one call.

        None: nothing happened, and `advance` is the way. The caller holds the lock.
        """
        engine, latest = self.stepping, self.latest
        if engine is None or latest is None or self._own or t > FURTHEST:
            return None
        changes = engine.step(t)
        if changes is not None:
            self.answered = t
            if latest < t:
                self.latest = t
        return changes

    @_alone
    def advance(self, t: int) -> Answers:
        """The answers for every time point after the last advance, up to t."""
        _within_range((t,))
        self._reach(t)
        self.answered = t
        self.evaluating_since = monotonic()
        try:
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
        self.answered, self._output = t, output
        if latest is not None:
            self.latest = latest if self.latest is None else max(self.latest, latest)

    @_alone
    def go_on_as(self, other: "Session") -> None:
        """Be another session, which has answered up to the same time point."""
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
        self.start, self.answered = header.start, header.answered
        self.latest, self.next_seq = header.latest, header.next_seq
        if self.latest is not None:
            self._own = [element for element in self._own if element.t > self.latest]

    def _reach(self, t: int) -> None:
        """Time moves on to t, which must not lie before what was answered."""
        if self.answered is not None and t < self.answered:
            message = f"time point {t} was already passed: answered up to {self.answered}"
            raise LarsparkError(Problem("L408", message))
        if self.latest is None or self.latest < t:
            self.append_atoms(t, ())
        if self.settings.hindsight and self._own:
            # What the program says of later time points is known, too.
            self.append(RowBatch((), self._own[-1].t))

    def _check(self, batch: AnyBatch) -> int | None:
        """Refuse what must not be in the stream here; the smallest time point otherwise."""
        if isinstance(batch, RowBatch):
            self._check_rows(batch)
        else:
            for part in batch.parts:
                self._admit(part.signature)
        first = batch.first_t
        if first is None:
            return None
        if self.answered is not None and first <= self.answered:
            message = f"an element at {first} comes too late: answered up to {self.answered}"
            raise LarsparkError(Problem("L402", message))
        if self.latest is not None and first < self.latest:
            raise _out_of_order(first, self.latest)
        return first

    def _check_rows(self, batch: RowBatch) -> None:
        admitted, latest = self._admitted, batch.first_t or 0
        for t, (predicate, args), _ in batch.rows():
            if (predicate, len(args)) not in admitted:
                self._admit(Signature(predicate, len(args)))
            if t < latest:
                raise _out_of_order(t, latest)
            latest = t

    def _from_start(self, batch: AnyBatch) -> AnyBatch:
        """What lies before the timeline is not seen."""
        start = self.settings.start
        if start is None or batch.first_t is None or start <= batch.first_t:
            return batch
        if isinstance(batch, RowBatch):
            return RowBatch([row for row in batch.rows() if row.t >= start], batch.last_t)
        kept = (
            Segment(signature, table.slice(int(np.searchsorted(numpy_array(table["t"]), start))))
            for signature, table in batch.segments()
        )
        return ColumnBatch([segment for segment in kept if segment.table.num_rows], batch.last_t)

    def _with_own_elements(self, batch: AnyBatch, last_t: int) -> AnyBatch:
        """Merge the program's elements in: each before what others give at its time point."""
        due = [element for element in self._own if element.t <= last_t]
        self._own = self._own[len(due) :]
        start = self.start if self.start is not None else 0
        rows = [Row(t, atom, 0) for t, atom in due if t >= start]
        # Sorting is stable: at equal times the program's elements stay in front.
        merged = sorted([*rows, *batch.rows()], key=lambda row: row.t)
        numbered = [Row(t, atom, seq) for seq, (t, atom, _) in enumerate(merged, self.next_seq)]
        return RowBatch(numbered, last_t)


def saved_history(saved: SavedState, checked: Checked) -> tuple[History | None, frozenset[Atom]]:
    """The history of a saved session, if it has one, and what the last answer held."""
    array = saved.state.arrays.get(_HISTORY)
    if array is None:
        return None, frozenset()
    output = frozenset(map(atom_of, saved.state.values["output"]))
    return History.restored(checked.lookback, array.astype(np.uint8)), output


def _out_of_order(t: int, latest: int) -> LarsparkError:
    message = f"an element at {t} comes after one at {latest}"
    hint = "append elements in the order of their time points"
    return LarsparkError(Problem("L402", message, hint=hint))


def derived_in_stream(signature: Signature) -> Problem:
    message = f"the stream holds an atom of `{signature}`, which the program derives"
    hint = "rename one of the two; `#remember` lets conclusions join the stream"
    return Problem("L401", message, hint=hint)


def _within_range(times: Iterable[int | None]) -> None:
    for t in times:
        if t is not None and abs(t) > FURTHEST:
            message = f"the time point {t} is too far from 0: at most {FURTHEST}"
            hint = "`#tick` turns timestamps into time points of a sensible size"
            raise LarsparkError(Problem("L419", message, hint=hint))

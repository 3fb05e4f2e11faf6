"""The common part of engines that evaluate time point by time point."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Self

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.run.answer_sets.evaluators import Derived, Evaluator
from larspark.run.answer_sets.solver import Solvable, TimeLimitError, in_order
from larspark.run.answer_sets.stream_views import Elements, View
from larspark.run.answer_sets.task import Task
from larspark.run.answers import PointAnswers
from larspark.run.protocol import Model, Point, Settings
from larspark.run.state import (
    State,
    atom_fields,
    atom_of,
    optional_time,
    time_of,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class SteppingState:
    """Everything that later answers depend on.

    `kept` are the elements that can still be seen, each with whether tuple windows count it, and
    `arrived` is the number of input elements in all.
    """

    kept: list[tuple[int, Atom, bool]]
    arrived: int
    waiting: list[Element]
    start: int | None
    latest: int | None
    answered: int | None
    previous: list[Atom]

    def to_state(self) -> State:
        return State(
            {
                "kept": [[t, counted, *atom_fields(atom)] for t, atom, counted in self.kept],
                "arrived": self.arrived,
                "waiting": [[t, *atom_fields(atom)] for t, atom in self.waiting],
                "times": [self.start, self.latest, self.answered],
                "previous": [atom_fields(atom) for atom in self.previous],
            }
        )

    @classmethod
    def of(cls, state: State) -> "SteppingState":
        """The inverse of `to_state`."""
        values = state.values
        start, latest, answered = map(optional_time, values["times"])
        kept = [(time_of(t), atom_of(fields), counted) for t, counted, *fields in values["kept"]]
        if not all(isinstance(counted, bool) for *_, counted in kept):
            raise ValueError("an element is neither counted nor not")
        arrived = whole_number(values["arrived"], sum(counted for *_, counted in kept), 2**62)
        waiting = [Element(time_of(t), atom_of(fields)) for t, *fields in values["waiting"]]
        for times in ([t for t, *_ in kept], [t for t, _ in waiting]):
            if any(later < earlier for earlier, later in pairwise(times)):
                raise ValueError("elements are not in the order of time")
        return cls(
            kept=kept,
            arrived=arrived,
            waiting=waiting,
            start=start,
            latest=latest,
            answered=answered,
            previous=[atom_of(fields) for fields in values["previous"]],
        )


class SteppingEngine(ABC):
    """Feeds an evaluator in the order of time, and follows one answer stream.

    If an evaluation exceeds the time limit, the previous output is repeated.
    `note` is called once for each note for the user; they are also in `notes`.
    """

    warnings: Sequence[str] = ()

    def __init__(
        self,
        checked: Checked,
        background: Iterable[Atom],
        settings: Settings,
        *,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self._checked = checked
        self._background = frozenset(background) | checked.background
        self._settings = settings
        self._note = note
        self.notes: list[str] = []
        self._elements = Elements()
        # Elements whose time point is not evaluated yet.
        self._waiting: deque[Element] = deque()
        self._start = settings.start
        self._latest: int | None = None
        self._answered: int | None = None
        self._previous: frozenset[Atom] = frozenset()
        task = Task(checked, self._background, self._elements, self._add_note)
        self._evaluator = self._new_evaluator(task)

    @abstractmethod
    def _new_evaluator(self, task: Task) -> Evaluator:
        """What evaluates the program at every tick."""

    def append(self, batch: AnyBatch) -> None:
        """Take elements in, in time order."""
        rows = [Element(row.t, row.atom) for row in batch.rows()]
        heard = [row.t for row in rows]
        if batch.last_t is not None:
            heard.append(batch.last_t)
        if not heard:
            return
        if self._start is None:
            self._start = min(heard)
        self._latest = max(heard) if self._latest is None else max(self._latest, *heard)
        if self._settings.hindsight:
            for element in rows:
                self._take(element, counted=True)
        else:
            self._waiting.extend(rows)

    def advance(self, t: int) -> PointAnswers:
        """The answers after the last advance, up to t; in push mode one for each tick."""
        first = self._next(t)
        last = t if self._settings.until is None else min(t, self._settings.until)
        self._latest = t if self._latest is None else max(self._latest, t)
        points: list[Point] = []
        for point in range(first, last + 1):
            points.extend(self._ticks(point))
        self._answered = max(last, first - 1)
        return PointAnswers(first, last, points)

    def models(self, at: int, limit: int | None = None) -> Iterator[Model]:
        """The answer streams at a time point that was not passed yet, in a fixed order."""
        with self._in_time(at):
            found = in_order(self._solvable(at).models(), self._text)
            for answer in islice(found, limit):
                yield Model(self._shown_stream(answer))

    def _model(self, answer: Derived | None) -> Model | None:
        return None if answer is None else Model(self._shown_stream(answer))

    def count(self, at: int) -> int:
        """How many answer streams there are at a time point."""
        with self._in_time(at):
            return self._solvable(at).count()

    def closest(self, at: int) -> Model | None:
        """The answer stream at a time point that changes the output before it least."""
        with self._in_time(at):
            twin = self._at(at, follow=True)
            shown, previous = self._checked.shown, twin._previous
            return self._model(
                twin._evaluator.solvable(self._deadline()).closest(at, shown, previous)
            )

    def can_output(self, at: int, output: frozenset[Atom]) -> bool:
        """Is this the output of some answer stream at a time point? Then none is closer to it."""
        with self._in_time(at):
            closest = self._solvable(at).closest(at, self._checked.shown, output)
            return closest is not None and self._output(closest, at) == output

    def cautious(self, at: int) -> Model | None:
        """What every answer stream at a time point holds; None without one."""
        with self._in_time(at):
            return self._model(self._solvable(at).certain())

    def brave(self, at: int) -> Model | None:
        """What at least one answer stream at a time point holds; None without one."""
        with self._in_time(at):
            return self._model(self._solvable(at).imaginable())

    def stats(self) -> dict[str, int]:
        """What is kept: elements of the stream, and ground rules from tick to tick."""
        return {"elements": len(self._elements), "ground rules": self._evaluator.size()}

    def save(self) -> State:
        """Everything that later answers depend on."""
        return self._state().to_state()

    def restore(self, state: State) -> None:
        """Continue from a state; one that cannot be read changes nothing."""
        twin = self._copy()
        twin._adopt(SteppingState.of(state))
        self.__dict__.update(twin.__dict__)

    def _state(self) -> SteppingState:
        return SteppingState(
            kept=[(a.t, a.atom, a.number is not None) for a in self._elements],
            arrived=self._elements.arrived,
            waiting=list(self._waiting),
            start=self._start,
            latest=self._latest,
            answered=self._answered,
            previous=sorted(self._previous, key=atom_text),
        )

    def _adopt(self, state: SteppingState) -> None:
        """Continue this engine in one without any state."""
        shown = self._checked.shown
        if not all(atom.signature in shown for atom in state.previous):
            raise ValueError("the output before holds what is never output")
        self._start, self._latest, self._answered = state.start, state.latest, state.answered
        self._previous = frozenset(state.previous)
        self._waiting.extend(state.waiting)
        for t, atom, counted in state.kept:
            self._take(Element(t, atom), counted=counted)
        self._elements.arrived = state.arrived

    def _copy(self) -> Self:
        """A new engine for the same program and settings, without any state."""
        return type(self)(
            self._checked,
            self._background,
            self._settings,
            note=self._note,
        )

    def _solvable(self, at: int) -> Solvable:
        """All answer streams at a time point."""
        twin = self._at(at, follow=bool(self._checked.program.remembered))
        return twin._evaluator.solvable(self._deadline())

    def _at(self, at: int, *, follow: bool) -> Self:
        """A copy of the engine about to answer at a time point."""
        twin = self._copy()
        state = self._state()
        # What was remembered at the time point itself joined the stream after its answer.
        kept = [(t, atom, counted) for t, atom, counted in state.kept if counted or t < at]
        twin._adopt(replace(state, kept=kept))
        if follow and at > twin._next(at):
            twin.advance(at - 1)
        twin._latest = at if twin._latest is None else max(twin._latest, at)
        twin._next(at)
        twin._evaluator.begin(at, twin._timeline(at))
        twin._feed(at)
        return twin

    def _ticks(self, t: int) -> Iterator[Point]:
        """The answer at t; in push mode also when it begins and after each of its elements."""
        push = self._settings.push
        self._evaluator.begin(t, self._timeline(t))
        # With hindsight all elements are there before the first tick.
        if push and not self._settings.hindsight:
            while self._waiting and self._waiting[0].t < t:
                self._take(self._waiting.popleft(), counted=True)
            while self._waiting and self._waiting[0].t <= t:
                if self._elements.holds(*self._waiting[0]) is None:
                    yield self._tick(t)
                self._take(self._waiting.popleft(), counted=True)
        self._feed(t)
        answer = self._answer(t)
        output = None if answer is None else self._output(answer, t)
        yield self._point(t, output)
        if answer is not None and output is not None:
            self._previous = output
            self._remember(answer, t)

    def _tick(self, t: int) -> Point:
        answer = self._answer(t)
        return self._point(t, None if answer is None else self._output(answer, t))

    def _point(self, t: int, output: frozenset[Atom] | None) -> Point:
        if not self._settings.push:
            return Point(t, output)
        return Point(t, output, self._elements.arrived)

    def _answer(self, t: int) -> Derived | None:
        """The answer stream to follow at the current tick."""
        try:
            return self._evaluator.answer(self._previous, self._deadline())
        except TimeLimitError:
            self._add_note(
                f"the evaluation at {t} took longer than {self._settings.time_limit:g} s: "
                "the previous output is kept"
            )
            return frozenset(Element(t, atom) for atom in self._previous)

    @contextmanager
    def _in_time(self, at: int) -> Iterator[None]:
        try:
            yield
        except TimeLimitError:
            limit = self._settings.time_limit
            message = f"the answer streams at {at} take longer than {limit:g} s"
            hint = "ask for fewer with a limit, or allow more time"
            raise LarsparkError(Problem("L412", message, hint=hint)) from None

    def _deadline(self) -> float | None:
        limit = self._settings.time_limit
        return None if limit is None else time.monotonic() + limit

    def _take(self, element: Element, *, counted: bool) -> None:
        arrival = self._elements.add(element.t, element.atom, counted=counted)
        if arrival is not None:
            self._evaluator.add(arrival)

    def _feed(self, t: int) -> None:
        while self._waiting and self._waiting[0].t <= t:
            self._take(self._waiting.popleft(), counted=True)

    def _remember(self, answer: Derived, t: int) -> None:
        remembered = self._checked.program.remembered
        if not remembered:
            return
        for element in sorted(answer, key=lambda element: atom_text(element.atom)):
            if element.t == t and element.atom.signature in remembered:
                self._take(element, counted=False)

    def _next(self, t: int) -> int:
        """The first time point that is not answered yet; t starts a stream without elements."""
        if self._answered is not None:
            return self._answered + 1
        if self._start is None:
            self._start = t
        return self._start

    def _timeline(self, t: int) -> View:
        start = t if self._start is None else self._start
        if self._settings.until is not None:
            return View(start, self._settings.until)
        if self._checked.future_heads:
            return View(start, None)
        end = self._latest if self._settings.hindsight and self._latest is not None else t
        return View(start, max(t, end))

    def _output(self, answer: Derived, t: int) -> frozenset[Atom]:
        shown = self._checked.shown
        # A signature is a tuple; making one for every atom would cost more than all the rest.
        return frozenset(
            atom for s, atom in answer if s == t and (atom.predicate, len(atom.args)) in shown
        )

    def _shown_stream(self, answer: Derived) -> dict[int, frozenset[Atom]]:
        found: dict[int, set[Atom]] = {}
        for t, atom in sorted(answer, key=lambda element: element.t):
            if atom.signature in self._checked.shown:
                found.setdefault(t, set()).add(atom)
        return {t: frozenset(atoms) for t, atoms in found.items()}

    def _text(self, answer: Derived) -> list[tuple[int, list[str]]]:
        stream = self._shown_stream(answer)
        return [(t, sorted(map(atom_text, atoms))) for t, atoms in stream.items()]

    def _add_note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
            if self._note is not None:
                self._note(note)

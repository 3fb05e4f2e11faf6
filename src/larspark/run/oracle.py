"""The evaluator of the definitions as an engine: slow, exact, for every program."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.facts import AnyBatch
from larspark.base.problems import Problem
from larspark.meaning.output_stream import Oracle
from larspark.run.answers import ListedModels, PointAnswers
from larspark.run.protocol import EngineKind, Model, Point, Settings
from larspark.run.state import State, atom_fields, atom_of, optional_time, time_of


class OracleEngine(ListedModels):
    """Keeps all elements, and evaluates the definitions anew at every time point."""

    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def __init__(self, checked: Checked, background: Iterable[Atom], settings: Settings) -> None:
        self._checked = checked
        self._background = frozenset(background)
        self._settings = settings
        self._elements: list[Element] = []
        self._latest: int | None = None
        self._answered: int | None = None
        self._oracle: Oracle | None = None
        if settings.start is not None:
            self._begin(settings.start)

    def append(self, batch: AnyBatch) -> None:
        """Take elements in."""
        rows = [Element(row.t, row.atom) for row in batch.rows()]
        heard = [row.t for row in rows]
        if batch.last_t is not None:
            heard.append(batch.last_t)
        if not heard:
            return
        self._elements = list(dict.fromkeys([*self._elements, *rows]))
        self._latest = max(heard) if self._latest is None else max(self._latest, *heard)
        if self._oracle is None:
            self._begin(min(heard))

    def advance(self, t: int) -> PointAnswers:
        """The answers after the last advance, up to t; in push mode one for each tick."""
        oracle = self._ready(t)
        first = oracle.start if self._answered is None else self._answered + 1
        until = self._settings.until
        last = t if until is None else min(t, until)
        points: list[Point] = []
        for point in range(first, last + 1):
            if self._settings.push:
                points += self._ticks(oracle, point)
            else:
                points.append(Point(point, oracle.step(self._elements, point)))
        self._answered = max(last, first - 1)
        return PointAnswers(first, last, points)

    def models(self, at: int, limit: int | None = None) -> Iterator[Model]:
        """The answer streams at a time point that was not passed yet."""
        oracle = self._just_before(at, follow=bool(self._checked.program.remembered))
        for answer in oracle.answers(self._elements, at)[:limit]:
            yield Model(oracle.model(answer))

    def closest(self, at: int) -> Model | None:
        """The answer stream to follow at a time point that was not passed yet."""
        oracle = self._just_before(at, follow=True)
        answer = oracle.closest(oracle.answers(self._elements, at), at)
        return None if answer is None else Model(oracle.model(answer))

    def _just_before(self, at: int, *, follow: bool) -> Oracle:
        """An evaluator about to answer at a time point."""
        oracle = self._ready(at)
        remembered = [element for element in oracle.remembered if element.t < at]
        oracle = replace(oracle, remembered=remembered)
        first = oracle.start if self._answered is None else self._answered + 1
        for point in range(first, at) if follow else ():
            oracle.step(self._elements, point)
        return oracle

    def stats(self) -> dict[str, int]:
        """What is kept: all elements of the stream."""
        return {"elements": len(self._elements)}

    def save(self) -> State:
        """The elements, and what was answered last."""
        oracle = self._oracle
        remembered = oracle.remembered if oracle else ()
        previous = oracle.previous if oracle else ()
        return State(
            {
                "elements": [[t, *atom_fields(atom)] for t, atom in self._elements],
                "latest": self._latest,
                "answered": self._answered,
                "start": None if oracle is None else oracle.start,
                "remembered": [[t, *atom_fields(atom)] for t, atom in remembered],
                "previous": [atom_fields(atom) for atom in sorted(previous, key=atom_text)],
            }
        )

    def restore(self, state: State) -> None:
        """Continue from a state."""
        values = state.values
        elements, remembered = (
            [Element(time_of(t), atom_of(fields)) for t, *fields in values[name]]
            for name in ("elements", "remembered")
        )
        previous = frozenset(map(atom_of, values["previous"]))
        times = (values["start"], values["latest"], values["answered"])
        start, latest, answered = map(optional_time, times)
        self._elements, self._latest, self._answered = elements, latest, answered
        self._oracle = None
        if start is not None:
            oracle = self._begin(start)
            oracle.remembered, oracle.previous = remembered, previous

    def _begin(self, start: int) -> Oracle:
        settings = self._settings
        self._oracle = Oracle(
            self._checked, self._background, start, settings.until, settings.hindsight
        )
        return self._oracle

    def _ready(self, t: int) -> Oracle:
        oracle = self._oracle or self._begin(t)
        oracle.end = t if self._latest is None else max(self._latest, t)
        return oracle

    def _ticks(self, oracle: Oracle, t: int) -> list[Point]:
        """One output when the time point begins, and one after each of its elements."""
        before = [element for element in self._elements if oracle.start <= element.t < t]
        here = [element for element in self._elements if element.t == t]
        seen = [here] if oracle.hindsight else [here[:count] for count in range(len(here) + 1)]
        ticks: list[Point] = []
        for arrived in seen:
            known = self._elements if oracle.hindsight else [*before, *arrived]
            answer = oracle.closest(oracle.answers(known, t), t)
            output = None if answer is None else oracle.output(answer, t)
            ticks.append(Point(t, output, len(before) + len(arrived)))
        # What the last tick says is what later time points follow and remember.
        oracle.follow(answer, t)
        return ticks


def _no_obstacles(checked: Checked, settings: Settings) -> tuple[Problem, ...]:
    return ()


ORACLE = EngineKind("oracle", OracleEngine, _no_obstacles, "every program", several_models=True)

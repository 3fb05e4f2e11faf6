"""The evaluator of the definitions as an engine: slow, exact, for every program."""

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element
from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import constant
from larspark.meaning.output_stream import Oracle
from larspark.run.answers import ListedModels, PointAnswers
from larspark.run.protocol import Model, Point, Settings

_MAGIC = b"larspark oracle 1\n"


class OracleEngine(ListedModels):
    """Keeps all elements, and evaluates the definitions anew at every time point."""

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
        """An evaluator that is about to answer at a time point, and may follow the way there."""
        oracle = self._ready(at)
        remembered = [element for element in oracle.remembered if element.t < at]
        oracle = replace(oracle, remembered=remembered)
        first = oracle.start if self._answered is None else self._answered + 1
        for point in range(first, at) if follow else ():
            oracle.step(self._elements, point)
        return oracle

    def save(self) -> bytes:
        """The elements and what was answered, as JSON behind a version and a checksum."""
        oracle = self._oracle
        state = {
            "program": repr(self._checked.program),
            "settings": self._settings,
            "elements": [_to_json(element) for element in self._elements],
            "latest": self._latest,
            "answered": self._answered,
            "start": None if oracle is None else oracle.start,
            "remembered": [_to_json(e) for e in oracle.remembered] if oracle else [],
            "previous": [_to_json(Element(0, atom)) for atom in oracle.previous] if oracle else [],
        }
        payload = json.dumps(state, separators=(",", ":")).encode()
        return _MAGIC + zlib.crc32(payload).to_bytes(4, "big") + payload

    def restore(self, state: bytes) -> None:
        """Continue from a saved state of the same program."""
        saved = _checked_payload(state)
        if saved["program"] != repr(self._checked.program):
            raise LarsparkError(Problem("L407", "the saved state belongs to another program"))
        if saved["settings"] != list(self._settings):
            raise LarsparkError(Problem("L407", "the saved state was made with other settings"))
        self._elements = [_from_json(row) for row in saved["elements"]]
        self._latest = saved["latest"]
        self._answered = saved["answered"]
        self._oracle = None
        if saved["start"] is not None:
            oracle = self._begin(saved["start"])
            oracle.remembered = [_from_json(row) for row in saved["remembered"]]
            oracle.previous = frozenset(_from_json(row).atom for row in saved["previous"])

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


def _to_json(element: Element) -> list[Any]:
    return [element.t, element.atom.predicate, *element.atom.args]


def _from_json(row: list[Any]) -> Element:
    t, predicate, *args = row
    return Element(t, Atom(predicate, tuple(map(constant, args))))


def _checked_payload(state: bytes) -> dict[str, Any]:
    checksum, payload = state[len(_MAGIC) : len(_MAGIC) + 4], state[len(_MAGIC) + 4 :]
    if not state.startswith(_MAGIC):
        message = "this is no state that the oracle of this version has saved"
        raise LarsparkError(Problem("L407", message))
    if zlib.crc32(payload).to_bytes(4, "big") != checksum:
        raise LarsparkError(Problem("L407", "the saved state is damaged"))
    saved: dict[str, Any] = json.loads(payload)
    return saved

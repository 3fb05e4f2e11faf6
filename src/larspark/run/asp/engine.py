"""The engine for answer sets over streams."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Self

from larspark.base.atoms import Atom, Element, atom_text
from larspark.meaning.checked import Checked
from larspark.run.asp.formula import FormulaEvaluator
from larspark.run.asp.solving import Solvable, TimeLimitError, in_order
from larspark.run.asp.stepping import Derived, SteppingEngine
from larspark.run.asp.views import View
from larspark.run.protocol import Settings

SEVERAL = (
    "the program can have several answer streams: "
    "this run follows one of them, as close to its output before as it can"
)


class AspEngine(SteppingEngine):
    """Answer streams of any program through an answer set solver.

    Without a `time_limit` (in seconds, per evaluation) the solver takes the time it needs; with
    one, an evaluation that does not end in time leaves the previous answer standing.
    """

    def __init__(
        self,
        checked: Checked,
        background: Iterable[Atom],
        settings: Settings,
        *,
        time_limit: float | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(checked, background, settings, note)
        self._time_limit = time_limit
        self._evaluator = FormulaEvaluator(checked, self._background, self._elements)
        self._now: tuple[int, View] | None = None
        self._standing: Derived = frozenset()

    def count(self, at: int) -> int:
        """How many answer streams there are at a time point."""
        return sum(1 for _ in self._twin(at)._solvable().models())

    def cautious(self, at: int) -> frozenset[Atom]:
        """What is output at a time point in every answer stream."""
        return self._output(self._twin(at)._solvable().certain(), at)

    def brave(self, at: int) -> frozenset[Atom]:
        """What is output at a time point in at least one answer stream."""
        return self._output(self._twin(at)._solvable().imaginable(), at)

    def _begin(self, t: int, timeline: View) -> None:
        self._now = (t, timeline)

    def _take(self, element: Element, *, counted: bool) -> None:
        self._elements.add(element.t, element.atom, counted=counted)

    def _answer(self) -> Derived | None:
        assert self._now is not None
        t, _ = self._now
        try:
            solvable = self._solvable()
            answer = self._follow(solvable, t)
        except TimeLimitError:
            self._tell(
                f"an evaluation took longer than {self._time_limit} seconds: "
                "the answer before it stands"
            )
            return frozenset(Element(t, atom) for atom in self._previous)
        return answer

    def _follow(self, solvable: Solvable, t: int) -> Derived | None:
        if not self._checked.several_models:
            return solvable.first()
        self._tell(SEVERAL)
        shown = self._checked.shown
        output = [e for e in solvable.literals if e.t == t and e.atom.signature in shown]
        return solvable.closest(output, self._previous)

    def _answers(self) -> Iterator[Derived]:
        return in_order(self._solvable().models(), self._text)

    def _solvable(self) -> Solvable:
        assert self._now is not None
        t, timeline = self._now
        deadline = None if self._time_limit is None else time.monotonic() + self._time_limit
        return self._evaluator.evaluate(t, timeline, deadline)

    def _text(self, answer: Derived) -> list[tuple[int, list[str]]]:
        stream = self._shown_stream(answer)
        return [(t, sorted(map(atom_text, atoms))) for t, atoms in stream.items()]

    def _copy(self) -> Self:
        return type(self)(
            self._checked,
            self._background,
            self._settings,
            time_limit=self._time_limit,
            note=self._note,
        )

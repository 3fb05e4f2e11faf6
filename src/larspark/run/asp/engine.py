"""The engine for answer sets over streams."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Self

from larspark.base.atoms import Atom, Element, atom_text
from larspark.meaning.checked import Checked
from larspark.run.asp.core import NotEncodableError, encode
from larspark.run.asp.formula import FormulaEvaluator
from larspark.run.asp.plain import plain_rules
from larspark.run.asp.solving import Solvable, TimeLimitError, in_order
from larspark.run.asp.static import StaticEvaluator
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
        self._evaluator = self._new_evaluator()
        self._t = 0

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
        self._t = t
        self._evaluator.begin(t, timeline)

    def _take(self, element: Element, *, counted: bool) -> None:
        arrival = self._elements.add(element.t, element.atom, counted=counted)
        if arrival is not None:
            self._evaluator.add(arrival)

    def _answer(self) -> Derived | None:
        try:
            return self._follow(self._solvable())
        except TimeLimitError:
            self._tell(
                f"an evaluation took longer than {self._time_limit} seconds: "
                "the answer before it stands"
            )
            return frozenset(Element(self._t, atom) for atom in self._previous)

    def _follow(self, solvable: Solvable) -> Derived | None:
        if not self._checked.several_models:
            return solvable.first()
        self._tell(SEVERAL)
        shown = self._checked.shown
        output = [e for e in solvable.literals if e.t == self._t and e.atom.signature in shown]
        return solvable.closest(output, self._previous)

    def _answers(self) -> Iterator[Derived]:
        return in_order(self._solvable().models(), self._text)

    def _solvable(self) -> Solvable:
        deadline = None if self._time_limit is None else time.monotonic() + self._time_limit
        return self._evaluator.evaluate(deadline)

    def _new_evaluator(self) -> StaticEvaluator | FormulaEvaluator:
        rules = plain_rules(self._checked.rules)
        if rules is None:
            return FormulaEvaluator(self._checked, self._background, self._elements)
        try:
            core = encode(self._checked, rules, self._background)
        except NotEncodableError:
            return FormulaEvaluator(self._checked, self._background, self._elements)
        return StaticEvaluator(core, self._background, self._elements, self._followed)

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

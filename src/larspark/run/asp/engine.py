"""The engine for answer sets over streams."""

from collections.abc import Callable, Iterable
from typing import Literal, Self

from larspark.base.atoms import Atom
from larspark.meaning.checked import Checked
from larspark.run.asp.evaluators import Evaluator, incremental, one_shot
from larspark.run.asp.stepping import SteppingEngine
from larspark.run.asp.task import Task
from larspark.run.protocol import Settings


class AspEngine(SteppingEngine):
    """Answer streams of any program, through an answer set solver.

    The mode says whether every evaluation grounds and solves anew, or grounding and solver are kept
    and changed. With a `time_limit` (in seconds, per evaluation) an evaluation that does not end in
    time leaves the output before it standing.
    """

    def __init__(
        self,
        checked: Checked,
        background: Iterable[Atom],
        settings: Settings,
        *,
        mode: Literal["one-shot", "incremental"] = "one-shot",
        time_limit: float | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self._mode = mode
        super().__init__(checked, background, settings, time_limit=time_limit, note=note)

    def _new_evaluator(self, task: Task) -> Evaluator:
        return incremental(task) if self._mode == "incremental" else one_shot(task)

    def _copy(self) -> Self:
        return type(self)(
            self._checked,
            self._background,
            self._settings,
            mode=self._mode,
            time_limit=self._time_limit,
            note=self._note,
        )

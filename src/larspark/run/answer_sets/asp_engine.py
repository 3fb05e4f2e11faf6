"""The engine for answer sets over streams."""

from larspark.run.answer_sets.evaluators import Evaluator, incremental, one_shot
from larspark.run.answer_sets.stepping import SteppingEngine
from larspark.run.answer_sets.task import Task


class AspEngine(SteppingEngine):
    """Answer streams of any program, through an answer set solver.

    Every evaluation grounds and solves anew, or grounding and solver are kept and changed, as the
    settings say.
    """

    def _new_evaluator(self, task: Task) -> Evaluator:
        return incremental(task) if self._settings.incremental else one_shot(task)

"""The engine that keeps an answer stream up to date by truth maintenance."""

from larspark.run.answer_sets.evaluators import Evaluator, one_shot
from larspark.run.answer_sets.stepping import SteppingEngine
from larspark.run.answer_sets.task import Task
from larspark.run.answer_sets.truth_maintenance import TmsEvaluator, obstacle


class TmsEngine(SteppingEngine):
    """Keeps one answer stream of a plain program; other programs are left to the solver."""

    def _new_evaluator(self, task: Task) -> Evaluator:
        core = task.core()
        reason = obstacle(core)
        if core is None or reason is not None:
            self._tell(f"the program is left to the solver: {reason}")
            return one_shot(task)
        return TmsEvaluator(task, core)

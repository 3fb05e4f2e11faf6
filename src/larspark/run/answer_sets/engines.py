"""The engines `asp` and `tms`: answer streams by a solver, and by truth maintenance."""

from larspark.run.answer_sets.evaluators import Evaluator, incremental, one_shot
from larspark.run.answer_sets.stepping import SteppingEngine
from larspark.run.answer_sets.task import Task
from larspark.run.answer_sets.truth_maintenance import TmsEvaluator, obstacle


class AspEngine(SteppingEngine):
    """Answer streams of any program, through an answer set solver.

    Every evaluation grounds and solves anew, or grounding and solver are kept and changed, as the
    settings say.
    """

    def _new_evaluator(self, task: Task) -> Evaluator:
        return incremental(task) if self._settings.incremental else one_shot(task)


class TmsEngine(SteppingEngine):
    """Keeps one answer stream of a plain program; other programs are left to the solver."""

    def _new_evaluator(self, task: Task) -> Evaluator:
        core = task.core()
        reason = obstacle(core)
        if core is None or reason is not None:
            self._add_note(f"the program is left to the solver: {reason}")
            return one_shot(task)
        return TmsEvaluator(task, core)

"""The engine for answer sets over streams."""

from larspark.run.asp.evaluators import Evaluator, Task, one_shot
from larspark.run.asp.stepping import SteppingEngine


class AspEngine(SteppingEngine):
    """Answer streams of any program, through an answer set solver."""

    def _new_evaluator(self, task: Task) -> Evaluator:
        return one_shot(task)
